"""The stamp of what is shown: another one whenever it is written, and none where it is not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard import stamp
from dashboard.stamp import run_goes_on, run_stamp, traces_stamp
from tests.reports import a_report
from tests.unit.dashboard.several_runs import FIRST_S, save_run


def test_of_a_run_it_is_that_of_the_report_and_of_its_traces_only_without_one(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "a", a_report(), 1, kernels=1)
    first = run_stamp(folder)
    assert first is not None
    (folder / "after.trace.json.gz").write_bytes(b"x")
    assert run_stamp(folder) == first
    (folder / "report.json").write_bytes(b"{}")
    os.utime(folder / "report.json", (FIRST_S, FIRST_S))
    second = run_stamp(folder)
    assert second not in (first, None)
    (folder / "report.json").unlink()
    third = run_stamp(folder)
    assert third not in (first, second, None)
    (folder / "after.trace.json.gz").unlink()
    assert run_stamp(folder) not in (third, None)


def test_what_has_the_old_time_and_another_size_is_another_version(tmp_path: Path) -> None:
    folder = save_run(tmp_path, "a", a_report(), 1)
    times = (FIRST_S, FIRST_S)
    os.utime(folder / "report.json", times)
    first = run_stamp(folder)
    (folder / "report.json").write_bytes(b"{}")
    os.utime(folder / "report.json", times)
    assert run_stamp(folder) not in (first, None)


def test_where_there_is_no_run_there_is_none_whatever_else_lies_there(tmp_path: Path) -> None:
    assert run_stamp(tmp_path) is None
    (tmp_path / "plan.json").write_text("{}")
    assert run_stamp(tmp_path) is None
    assert run_stamp(tmp_path / "nope") is None
    assert traces_stamp(tmp_path / "nope") is None
    assert traces_stamp(tmp_path / "no\0pe") is None


def test_of_a_folder_of_ranks_every_trace_counts_and_nothing_else(tmp_path: Path) -> None:
    assert traces_stamp(tmp_path) is None
    (tmp_path / "deep").mkdir()
    for name in ("rank0.json", "deep/rank1.json.gz"):
        (tmp_path / name).write_bytes(b"1")
    first = traces_stamp(tmp_path)
    assert first is not None
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".hidden.json").write_text("x")
    assert traces_stamp(tmp_path) == first
    (tmp_path / "deep" / "rank1.json.gz").write_bytes(b"22")
    second = traces_stamp(tmp_path)
    assert second not in (first, None)
    (tmp_path / "rank2.json").write_bytes(b"1")
    assert traces_stamp(tmp_path) not in (first, second, None)


def test_of_very_many_ranks_the_first_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamp, "MOST_FILES", 2)
    for number in range(4):
        (tmp_path / f"rank{number}.json").write_bytes(b"1")
    first = traces_stamp(tmp_path)
    (tmp_path / "rank3.json").write_bytes(b"22")
    assert traces_stamp(tmp_path) == first
    (tmp_path / "rank1.json").write_bytes(b"22")
    assert traces_stamp(tmp_path) != first


def test_a_run_goes_on_while_the_process_that_it_names_is_there(tmp_path: Path) -> None:
    assert not run_goes_on(tmp_path)
    lock = tmp_path / ".running"
    lock.write_text(str(os.getpid()))
    assert run_goes_on(tmp_path)
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    lock.write_bytes(ended.stdout.strip())
    assert not run_goes_on(tmp_path)


@pytest.mark.parametrize("text", ["", "0", "-1", "1 2", "x", "9" * 40, "99999999999999999999", "\u0661"])
def test_what_names_no_process_goes_on_for_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / ".running").write_text(text, encoding="utf-8")
    assert not run_goes_on(tmp_path)
