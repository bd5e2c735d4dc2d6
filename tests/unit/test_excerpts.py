"""The source that a report keeps of each finding: bounded, of what ran, and the same when the report is read again."""

from __future__ import annotations

import linecache
import os
from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.core.finding import EXCERPT_WIDTH, Excerpt
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.excerpts import MOST_SOURCE_BYTES, excerpt, with_excerpts
from analyzer.reporting.json import decode_report, encode_report
from tests.reports import a_finding, a_report


def _report(where: SourceLine | None) -> Report:
    return a_report(findings=(a_finding(where=where),))


def _kept(file: Path | str, line: int, folder: Path, began_s: int | None = None) -> Excerpt | None:
    return with_excerpts(_report(SourceLine(str(file), line)), folder, began_s).findings[0].excerpt


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "model.py"
    file.write_text("\n".join(f"    line_{number}()" for number in range(1, 11)))
    return file


def test_two_lines_on_either_side_are_kept(source: Path, tmp_path: Path) -> None:
    assert _kept(source, 5, tmp_path) == Excerpt(3, ("line_3()", "line_4()", "line_5()", "line_6()", "line_7()"))
    assert _kept("model.py", 1, tmp_path) == Excerpt(1, ("line_1()", "line_2()", "line_3()"))
    assert _kept(source, 10, tmp_path) == Excerpt(8, ("line_8()", "line_9()", "line_10()"))


@pytest.mark.parametrize("line", [0, -3, 11])
def test_a_line_that_is_not_there_has_none(source: Path, tmp_path: Path, line: int) -> None:
    assert _kept(source, line, tmp_path) is None


@pytest.mark.parametrize("file", ["gone.py", "<string>", "", "a\0b.py", "."])
def test_what_is_no_file_has_none(tmp_path: Path, file: str) -> None:
    assert _kept(file, 1, tmp_path) is None


def test_a_finding_without_a_place_has_none(tmp_path: Path) -> None:
    assert with_excerpts(_report(None), tmp_path).findings[0].excerpt is None


def test_what_was_written_after_the_run_began_is_not_what_ran(source: Path, tmp_path: Path) -> None:
    os.utime(source, (1_000, 1_000))
    assert _kept(source, 5, tmp_path, began_s=1_000) is not None
    assert _kept(source, 5, tmp_path, began_s=999) is None


def test_a_file_that_nobody_wrote_by_hand_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "data.py"
    file.write_bytes(b"x\n" * (MOST_SOURCE_BYTES // 2 + 1))
    assert _kept(file, 1, tmp_path) is None


def test_lines_are_bounded_and_nothing_in_them_is_hidden() -> None:
    kept = excerpt(("\tx = 1", "y" * 1_000_000, "\u202eevil\x1b[0m\r"), SourceLine("m.py", 2))
    assert kept is not None
    assert kept.lines[0] == "    x = 1"
    assert len(kept.lines[1]) == EXCERPT_WIDTH
    assert kept.lines[1].endswith("…")
    assert kept.lines[2] == "\\u202eevil\\x1b[0m"


def test_the_indentation_of_the_lines_to_each_other_stays() -> None:
    kept = excerpt(("        if x:", "", "            y()"), SourceLine("m.py", 1))
    assert kept == Excerpt(1, ("if x:", "", "    y()"))


def test_a_cell_of_a_notebook_is_read_where_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<ipython-input-1>", (4, None, ["a()\n", "b()\n"], "<ipython-input-1>"))
    assert _kept("<ipython-input-1>", 2, tmp_path) == Excerpt(1, ("a()", "b()"))


def test_a_report_keeps_it_through_its_json_and_an_older_one_has_none() -> None:
    kept = Excerpt(3, ("a", "b"))
    report = a_report(findings=(a_finding(excerpt=kept),))
    assert decode_report(encode_report(report), "r").findings[0].excerpt == kept
    older = encode_report(replace(report, findings=(a_finding(),))).replace(b'"excerpt": null', b'"other": null')
    assert b'"excerpt"' not in older
    assert decode_report(older, "r").findings[0].excerpt is None
