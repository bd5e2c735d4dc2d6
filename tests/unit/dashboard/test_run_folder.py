"""What a run folder holds, and what is said of what it lacks."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from analyzer.reporting.json import write_report
from dashboard.run_folder import AFTER_FILE, BEFORE_FILE, NO_STEP, read_run
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
    assert data.report == a_report()
    assert data.before.view is not None
    assert data.before.view == data.after.view
    assert [bar.name for bar in data.before.view.bars if bar.region == a_key(1)][-1] == "gemm"
    assert (data.missing, data.before.missing, data.after.missing) == (None, None, None)


def test_no_folder_and_an_empty_folder_say_what_makes_one(tmp_path: Path) -> None:
    assert "`analyze model.py` writes one" in str(read_run(tmp_path / "nowhere").missing)
    data = read_run(tmp_path)
    assert f"Run `analyze model.py --out {tmp_path}`" in str(data.missing)
    assert BEFORE_FILE in str(data.before.missing)
    assert "--no-optimize" in str(data.after.missing)


def test_a_damaged_part_costs_only_itself(whole_run: Path) -> None:
    whole = (whole_run / BEFORE_FILE).read_bytes()
    (whole_run / BEFORE_FILE).write_bytes(whole[: len(whole) // 2])
    data = read_run(whole_run)
    assert data.before.view is None
    assert BEFORE_FILE in str(data.before.missing)
    assert data.after.view is not None
    assert data.report is not None


def test_a_damaged_report_leaves_the_timelines(whole_run: Path) -> None:
    (whole_run / "report.json").write_text('{"schema": 999}')
    data = read_run(whole_run)
    assert data.report is None
    assert "schema 999" in str(data.missing)
    assert data.before.view is not None


def test_a_trace_without_steps_is_not_an_empty_timeline(whole_run: Path) -> None:
    (whole_run / AFTER_FILE).write_bytes(gzip.compress(b'{"traceEvents": []}'))
    assert read_run(whole_run).after.missing == NO_STEP
