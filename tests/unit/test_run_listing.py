"""Run folders are found by name and time, and a folder of them is told apart from one of traces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from analyzer import run_listing
from analyzer.run_listing import find_run, holds_runs, list_runs, what_to_type


def a_run(folder: Path, name: str, seconds: int, file: str = "report.json") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / file).write_text("{}")
    os.utime(folder / name / file, (seconds, seconds))


def test_the_newest_run_comes_first_whatever_it_is_called(tmp_path: Path) -> None:
    for name, seconds in (("a", 30), ("b", 10), ("c", 20)):
        a_run(tmp_path, name, seconds)
    found = list_runs(tmp_path)
    assert [run.name for run in found.runs] == ["a", "c", "b"]
    assert [run.written_ns for run in found.runs] == [30 * 10**9, 20 * 10**9, 10 * 10**9]


def test_what_is_no_run_is_none(tmp_path: Path) -> None:
    a_run(tmp_path, "run", 1)
    a_run(tmp_path, ".hidden", 1)
    a_run(tmp_path, "trace", 2, "before.trace.json.gz")
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("")
    found = list_runs(tmp_path)
    assert {run.name: run.has_report for run in found.runs} == {"run": True, "trace": False}
    assert found.run("empty") is None
    assert list_runs(tmp_path / "nowhere").runs == ()
    assert list_runs(tmp_path / "notes.txt").runs == ()


def test_a_folder_of_runs_is_not_one_of_ranks(tmp_path: Path) -> None:
    runs, ranks, one, mixed = (tmp_path / name for name in ("runs", "ranks", "one", "mixed"))
    a_run(runs, "first", 1)
    a_run(ranks, "node0", 1, "rank0.json.gz")
    a_run(one.parent, "one", 1)
    a_run(mixed, "first", 1)
    (mixed / "rank0.json.gz").write_text("")
    assert holds_runs(runs)
    assert not any(holds_runs(folder) for folder in (ranks, one, mixed, tmp_path / "nowhere"))


def test_a_run_without_a_report_alone_makes_no_folder_of_runs(tmp_path: Path) -> None:
    a_run(tmp_path, "trace", 2, "before.trace.json.gz")
    assert not holds_runs(tmp_path)


def test_too_many_entries_and_names_that_are_no_text_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        a_run(tmp_path, f"run{number}", number + 1)
    monkeypatch.setattr(run_listing, "MOST_ENTRIES", 4)
    found = list_runs(tmp_path)
    assert (len(found.runs), found.left_out) == (4, 2)
    monkeypatch.undo()
    try:
        (tmp_path / os.fsdecode(b"\xff\xfe")).mkdir()
    except OSError:
        pytest.skip("the file system takes no such name")
    found = list_runs(tmp_path)
    assert (len(found.runs), found.left_out) == (6, 1)


def test_what_to_type_names_the_newest_run_and_can_be_pasted(tmp_path: Path) -> None:
    folder = tmp_path / "my runs"
    a_run(folder, "old", 1)
    a_run(folder, "-new one", 2)
    text = what_to_type(folder)
    assert f"`analyze dashboard '{folder}'`" in text
    assert f"`analyze show '{folder}/-new one'`" in text


def test_one_run_is_found_as_the_list_has_it_and_nothing_outside_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for name in ("run", "a b", "a  b", "%2e%2e", "x\ny"):
        a_run(folder, name, 1)
    a_run(folder, ".hidden", 1)
    a_run(folder, "traced", 2, "before.trace.json.gz")
    a_run(tmp_path, "outside", 1)
    (folder / "bare").mkdir()
    listed = list_runs(folder)
    assert {run.name for run in listed.runs} == {"run", "a b", "a  b", "%2e%2e", "x\ny", "traced"}
    assert all(find_run(folder, run.name) == run for run in listed.runs)
    for name in ("", ".", "..", "../outside", "run/", "/", ".hidden", "bare", "no", "a\0b", "a\udc80", "x" * 5000):
        assert find_run(folder, name) is None, name
