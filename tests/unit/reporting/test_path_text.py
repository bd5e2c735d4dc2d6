"""What is said of a critical path, in a terminal, a comment and the report's own file."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.critical_path import CriticalPath, PathKind, PathPart, PathRow
from analyzer.reporting import markdown, terminal
from analyzer.reporting.json import decode_report, encode_report
from analyzer.reporting.path_text import path_lines
from analyzer.reporting.renderer import Page
from tests.reports import a_report

PATH = CriticalPath(
    elapsed_ns=10_000_000,
    steps=2,
    segments=7,
    parts=(
        PathPart(PathKind.HOST, 6_100_000),
        PathPart(PathKind.COMPUTE, 3_000_000),
        PathPart(PathKind.LAUNCH, 900_000),
    ),
    rows=(
        PathRow("aten::mm", PathKind.HOST, 4_000_000, 12),
        PathRow("gemm", PathKind.COMPUTE, 3_000_000, 1),
        PathRow("cudaLaunchKernel", PathKind.LAUNCH, 900_000, 3),
        PathRow("aten::add", PathKind.HOST, 800_000, 3),
    ),
)
LOST = CriticalPath(0, 0, 0, (), (), "nothing was recorded")


def test_it_says_the_parts_and_the_three_rows_with_the_most_time() -> None:
    assert path_lines(PATH) == [
        "host 61 %, kernels 30 %, launch delay 9 % of 10.0 ms (2 steps)",
        "4.00 ms in 12: aten::mm",
        "3.00 ms: gemm",
        "0.90 ms in 3: cudaLaunchKernel (launch delay)",
    ]


def test_it_says_of_how_many_rows_the_wait_is_guessed() -> None:
    (first, *_) = path_lines(replace(PATH, guessed=2))
    assert first == (
        "host 61 %, kernels 30 %, launch delay 9 % of 10.0 ms (2 steps); the recording has no launch call of 2 device "
        "rows on it, and what was waited for is guessed"
    )


def test_the_guessed_waits_survive_the_reports_own_file() -> None:
    report = replace(a_report(), critical_path=replace(PATH, guessed=2))
    assert decode_report(encode_report(report), "report.json").critical_path == report.critical_path


def test_an_unknown_path_says_why_and_a_report_without_one_says_nothing() -> None:
    assert path_lines(LOST) == ["not known: nothing was recorded"]
    assert path_lines(None) == []


def test_terminal_and_comment_show_it_where_there_is_one() -> None:
    report = a_report()
    for render in (terminal.render, markdown.render):
        shown = render(replace(report, critical_path=PATH), Page())
        assert "critical path" in shown.lower()
        assert "host 61 %" in shown
        assert "critical path" not in render(report, Page()).lower()


def test_it_survives_the_reports_file_and_a_report_without_it_is_read() -> None:
    for path in (PATH, LOST, None):
        assert decode_report(encode_report(replace(a_report(), critical_path=path)), "r").critical_path == path
