"""A file that lacks rows carries no verdict: a kernel that is missing looks like a device that waits for its host."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from analyzer.comparing import compare_analyzed
from analyzer.core.errors import UnreadableFileError
from analyzer.core.ranks import LostRank
from analyzer.core.report import Report
from analyzer.core.trace_facts import MOST_LOST
from analyzer.core.verdict import Bound
from analyzer.derive.attribution import CUT_OFF
from analyzer.rank_analysis import analyze_path
from analyzer.reporting.compared_text import totals_text
from analyzer.trace_analysis import Analyzed, analyze_trace
from analyzer.workers import NoTrace, RankTask, summarize_file
from collectors.readers.kineto import read_trace
from collectors.readers.sources import source_of
from tests.rank_files import a_rank
from tests.traces import Recording


def _starved() -> Recording:
    """CPU-bound, whatever the profiler cost."""
    run = Recording(device_name="NVIDIA H100 80GB HBM3")
    for _ in range(4):
        with run.step():
            for number in range(30):
                run.host(400)
                with run.op("aten::add", ((64, 64), (64, 64)), ("float", "float")):
                    run.launch(f"add {number}", us=10)
            run.synchronize()
    return run


@pytest.fixture(scope="module")
def text() -> bytes:
    """With the rows of the device behind all others, as kineto writes them."""
    file = _starved().kineto()
    rows = sorted(file["traceEvents"], key=lambda row: row["cat"] == "kernel")
    return json.dumps({**file, "traceEvents": rows, "trailer": {"last": "words"}}).encode()


def _analyzed(tmp_path: Path, content: bytes) -> Analyzed:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    return analyze_trace(read_trace(path), str(path))


def _bounds(report: Report) -> set[Bound]:
    return {graph.verdict.bound for graph in report.graphs}


def test_the_whole_file_has_a_verdict_that_is_sure(tmp_path: Path, text: bytes) -> None:
    report = _analyzed(tmp_path, text).report
    assert report.headline.startswith("CPU-bound")
    assert Bound.CPU in _bounds(report)


@pytest.mark.parametrize("share", [0.95, 0.85, 0.75, 0.5])
def test_a_file_that_is_cut_within_its_rows_has_none(tmp_path: Path, text: bytes, share: float) -> None:
    report = _analyzed(tmp_path, text[: int(len(text) * share)]).report
    assert report.headline.startswith("Undecided")
    assert CUT_OFF in report.headline
    assert _bounds(report) <= {Bound.UNDECIDED}
    assert report.findings == ()
    assert report.honesty[0].startswith("only what comes before byte")
    assert report.critical_path is not None
    assert report.critical_path.missing == CUT_OFF


def test_one_that_is_cut_before_its_device_rows_is_not_taken_for_one_of_a_cpu(tmp_path: Path, text: bytes) -> None:
    file = json.loads(text)
    ops = [row for row in file["traceEvents"] if row["cat"] == "cpu_op"]
    cut = json.dumps({"traceEvents": ops}).encode()[:-20]
    found = _analyzed(tmp_path, cut)
    assert not found.attribution.is_host
    assert found.budget is None
    assert found.report.step_budget is None


def test_what_is_cut_behind_the_rows_takes_no_verdict_away(tmp_path: Path, text: bytes) -> None:
    cut = text[: text.index(b'"trailer"') + 14]
    found = _analyzed(tmp_path, cut)
    damage = found.attribution.trace.facts.damage
    assert damage is not None
    assert damage.is_after_rows
    assert found.report.headline == _analyzed(tmp_path, text).report.headline


@pytest.mark.parametrize("filling", [b"\0", b"x"])
def test_a_hole_in_the_middle_is_as_good_as_a_cut(tmp_path: Path, text: bytes, filling: bytes) -> None:
    begin, end = len(text) * 6 // 10, len(text) * 8 // 10
    found = _analyzed(tmp_path, text[:begin] + filling * (end - begin) + text[end:])
    assert found.attribution.trace.facts.lost_share > 0.15
    assert found.report.headline.startswith("Undecided")
    assert _bounds(found.report) <= {Bound.UNDECIDED}
    assert "of the file could not be read" in found.report.honesty[0]


def test_a_hole_between_two_rows_counts_too(tmp_path: Path, text: bytes) -> None:
    at = text.index(b"}, {", len(text) // 2) + 2
    found = _analyzed(tmp_path, text[:at] + bytes(len(text)) + text[at:])
    assert found.attribution.trace.facts.lost_share > 0.4
    assert found.report.headline.startswith("Undecided")


def test_some_broken_rows_among_many_take_no_verdict_away(tmp_path: Path, text: bytes) -> None:
    file = json.loads(text)
    broken = json.dumps(file).encode().replace(b'"ph": "X"', b'"ph": X"', 1)
    found = _analyzed(tmp_path, broken)
    assert 0 <= found.attribution.trace.facts.lost_share < MOST_LOST
    assert found.report.headline.startswith("CPU-bound")


def test_rows_without_times_are_missing_rows(tmp_path: Path, text: bytes) -> None:
    file = json.loads(text)
    for number, row in enumerate(file["traceEvents"]):
        if number % 7 == 0:
            row["ts"] = 10**19  # nanoseconds since 1970, where microseconds belong
    found = _analyzed(tmp_path, json.dumps(file).encode())
    assert found.attribution.trace.facts.lacks_rows
    assert found.report.headline.startswith("Undecided")


@pytest.mark.parametrize("odd", [{"args": [1]}, {"name": None}, {"cat": 7}])
def test_rows_of_kernels_with_a_field_of_another_type_are_missing_rows(
    tmp_path: Path, text: bytes, odd: dict[str, object]
) -> None:
    file = json.loads(text)
    kernels = [row for row in file["traceEvents"] if row["cat"] == "kernel"]
    for row in kernels[::2]:
        row.update(odd)
    found = _analyzed(tmp_path, json.dumps(file).encode())
    assert found.attribution.trace.facts.lacks_rows
    assert found.report.headline.startswith("Undecided")
    assert _bounds(found.report) <= {Bound.UNDECIDED}


def test_kernels_that_the_profiler_lost_leave_no_verdict_and_no_path(tmp_path: Path, text: bytes) -> None:
    file = json.loads(text)
    kernels = [row for row in file["traceEvents"] if row["cat"] == "kernel"]
    file["traceEvents"] = [row for row in file["traceEvents"] if row not in kernels[::2]]
    report = _analyzed(tmp_path, json.dumps(file).encode()).report
    assert "kernel launches have no device row" in report.honesty[0]
    assert report.headline.startswith("Undecided")
    assert _bounds(report) <= {Bound.UNDECIDED}
    assert report.critical_path is not None
    assert report.critical_path.missing is not None
    assert report.findings == ()


def test_a_file_that_lacks_rows_is_not_called_faster_for_it(tmp_path: Path, text: bytes) -> None:
    whole, cut = _analyzed(tmp_path, text), _analyzed(tmp_path, text[: len(text) * 95 // 100])
    assert "as fast" in totals_text(compare_analyzed(whole, whole))
    assert "as fast" not in totals_text(compare_analyzed(whole, cut))


def test_a_cut_file_is_a_lost_rank(tmp_path: Path) -> None:
    for rank in range(3):
        a_rank(50.0 + rank, 4.0 - rank, steps=40).save(tmp_path / f"rank{rank}.json.gz")
    whole = gzip.decompress((tmp_path / "rank2.json.gz").read_bytes())
    (tmp_path / "rank2.json.gz").write_bytes(gzip.compress(whole[: len(whole) * 2 // 3]))
    lost = summarize_file(RankTask(source_of(tmp_path / "rank2.json.gz"), 2))
    assert isinstance(lost, LostRank)
    assert lost.reason.startswith("only what comes before byte")
    report = analyze_path(str(tmp_path))
    assert report.ranks is not None
    assert [one.source for one in report.ranks.lost] == [lost.source]
    assert [rank.rank for rank in report.ranks.ranks] == [0, 1]


def test_a_comparison_with_one_says_that_rows_are_missing(tmp_path: Path, text: bytes) -> None:
    whole, cut = (_analyzed(tmp_path, content) for content in (text, text[: len(text) * 9 // 10]))
    assert not any("missing" in clause for clause in compare_analyzed(whole, whole).unlike)
    assert "rows are missing from the file after" in compare_analyzed(whole, cut).unlike


def test_settings_that_lie_beside_a_trace_are_no_rank_and_are_named(tmp_path: Path) -> None:
    a_rank(50.0, 4.0).save(tmp_path / "run.json.gz")
    (tmp_path / "config.json").write_text('{"lr": 1}')
    found = summarize_file(RankTask(source_of(tmp_path / "config.json"), 0))
    assert isinstance(found, NoTrace)
    report = analyze_path(str(tmp_path))
    assert report.ranks is None
    assert any("config.json was left out: JSON, but not a trace" in note for note in report.notes)


def test_a_folder_of_settings_alone_says_what_they_are(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text('{"lr": 1}')
    with pytest.raises(UnreadableFileError, match=r"none of 2 traces could be read: .*JSON, but not a trace"):
        analyze_path(str(tmp_path))


def test_times_in_nanoseconds_are_called_what_they_look_like(tmp_path: Path, text: bytes) -> None:
    file = json.loads(text)
    for row in file["traceEvents"]:
        row["ts"], row["dur"] = 1_700_000_000_000_000_000 + int(row["ts"] * 1000), int(row["dur"] * 1000)
    report = _analyzed(tmp_path, json.dumps(file).encode()).report
    assert report.headline.startswith("Undecided")
    assert any("nanoseconds where the format has microseconds" in text for text in report.honesty)
