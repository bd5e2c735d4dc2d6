"""What a run folder holds, and what is said of what it lacks."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pytest

from analyzer.core.errors import UnreadableFileError
from analyzer.reporting.json import write_report
from dashboard.run_folder import (
    AFTER_FILE,
    BEFORE_FILE,
    NO_AFTER,
    NO_BEFORE,
    NO_EVENTS,
    NOT_BESIDE_IT,
    RECORDED_ELSEWHERE,
    read_run,
    read_target,
)
from tests.rank_files import a_rank
from tests.reports import a_key, a_report
from tests.traces import Recording


@pytest.fixture
def whole_run(tmp_path: Path) -> Path:
    run = Recording()
    with run.step():
        with run.graph(str(a_key(1))):
            run.launch("gemm", us=5)
        run.synchronize()
    run.save(tmp_path / BEFORE_FILE)
    run.save(tmp_path / AFTER_FILE)
    write_report(a_report(), tmp_path / "report.json")
    return tmp_path


def test_a_whole_run_is_read_whole(whole_run: Path) -> None:
    data = read_run(whole_run)
    assert data.report == a_report(next_command=f"analyze dashboard {whole_run}")
    assert [side.name for side in data.sides] == ["before", "after"]
    for side in data.sides:
        assert side.recording is not None
        assert len(side.recording.steps) == 1
        assert [region.key for region in side.recording.regions] == [a_key(1)]
    assert (data.missing, *(side.missing for side in data.sides)) == (None, None, None)


def test_no_folder_and_an_empty_folder_say_what_makes_one(tmp_path: Path) -> None:
    assert "`analyze model.py` writes one" in str(read_run(tmp_path / "nowhere").missing)
    data = read_run(tmp_path)
    assert f"Run `analyze model.py --out {tmp_path}`" in str(data.missing)
    assert BEFORE_FILE in str(data.sides[0].missing)
    assert "--no-optimize" in str(data.sides[1].missing)


def test_the_report_of_a_recorded_trace_sends_to_the_trace_and_to_no_model(tmp_path: Path) -> None:
    write_report(a_report(is_recorded=True), tmp_path / "report.json")
    assert read_run(tmp_path).sides[0].missing == RECORDED_ELSEWHERE


def test_a_report_without_the_traces_it_was_made_with_says_that_they_are_not_here(tmp_path: Path) -> None:
    write_report(a_report(), tmp_path / "report.json")
    before, after = (side.missing for side in read_run(tmp_path).sides)
    assert before == NOT_BESIDE_IT.format(file=BEFORE_FILE)
    assert after == NOT_BESIDE_IT.format(file=AFTER_FILE)
    write_report(a_report(step_budget=None, step_budget_after=None), tmp_path / "report.json")
    assert [side.missing for side in read_run(tmp_path).sides] == [NO_BEFORE, NO_AFTER]


def test_the_command_that_makes_one_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "my  run's $HOME"
    folder.mkdir()
    assert f"--out {shlex.quote(str(folder))}`" in str(read_run(folder).missing)


def test_a_damaged_part_costs_only_itself(whole_run: Path) -> None:
    whole = (whole_run / BEFORE_FILE).read_bytes()
    (whole_run / BEFORE_FILE).write_bytes(whole[: len(whole) // 2])
    data = read_run(whole_run)
    assert data.sides[0].recording is None
    assert BEFORE_FILE in str(data.sides[0].missing)
    assert data.sides[1].recording is not None
    assert data.report is not None


def test_a_damaged_report_leaves_the_timelines(whole_run: Path) -> None:
    (whole_run / "report.json").write_text('{"schema": 999}')
    data = read_run(whole_run)
    assert data.report is None
    assert "schema 999" in str(data.missing)
    assert data.sides[0].recording is not None


def test_a_trace_without_events_is_not_an_empty_timeline(whole_run: Path) -> None:
    (whole_run / AFTER_FILE).write_bytes(gzip.compress(b'{"traceEvents": []}'))
    assert read_run(whole_run).sides[1].missing == NO_EVENTS


def test_a_run_folder_is_meant_by_its_folder_and_by_its_report(whole_run: Path) -> None:
    assert len(read_target(whole_run).sides) == 2
    assert read_target(whole_run / "report.json").folder == str(whole_run)


def test_a_trace_alone_is_judged_and_shown(whole_run: Path) -> None:
    data = read_target(whole_run / BEFORE_FILE)
    assert data.report is not None
    assert data.report.is_recorded
    (side,) = data.sides
    assert side.recording is not None


def test_of_several_ranks_two_are_shown_above_each_other(tmp_path: Path) -> None:
    for rank, own_us in enumerate((50, 20, 90)):
        a_rank(own_us, 90 - own_us).save(tmp_path / f"rank{rank}.json.gz")
    data = read_target(tmp_path)
    assert data.report is not None
    assert data.report.ranks is not None
    assert [side.name for side in data.sides] == [
        "rank 2, which waits least for the others",
        "rank 1, which waits most for the others",
    ]
    assert all(side.recording is not None for side in data.sides)


def test_a_file_that_is_no_trace_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("no json at all")
    with pytest.raises(UnreadableFileError):
        read_target(tmp_path / "x.json")
