"""The folder of a run: made before anything is measured, and never a mixture of two runs."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from pathlib import Path

import pytest

from analyzer.core.errors import ExitCode, UsageError
from analyzer.reporting.json import read_report
from analyzer.run_folder import RunFolder, write_page
from optimizers.plan import read_plan
from tests.reports import a_report, an_empty_report
from tests.shown_steps import a_step
from tests.unit.optimizers.test_plan import PLAN


def test_a_folder_without_a_name_is_named_after_the_model_and_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create("my model/v2:α", None)
    assert re.fullmatch(r"my-model-v2-\d{8}-\d{6}", folder.path.name)
    assert folder.path.parent == tmp_path / "runs"
    assert RunFolder.create("../..", None).path.parent == tmp_path / "runs"


def test_it_is_found_after_the_program_changed_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = RunFolder.create("net", "out/run")
    assert str(folder.shown) == "out/run"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    folder.save_report(a_report())
    assert read_report(tmp_path / "out" / "run" / "report.json") == a_report()


def test_what_is_saved_can_be_read(tmp_path: Path) -> None:
    folder = RunFolder.create("net", str(tmp_path))
    folder.save_report(a_report())
    folder.save_plan(PLAN)
    assert read_report(folder.report) == a_report()
    assert read_plan(folder.plan) == PLAN


def test_the_report_is_saved_as_a_page_too_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder.create("net", str(tmp_path))
    folder.save_report(an_empty_report(), (a_step("before"),))
    first = folder.page.read_text(encoding="utf-8")
    assert folder.page.name == "report.html"
    assert "Partial report: interrupted by Ctrl-C" in first
    assert "before: step 2 of 3" in first
    monkeypatch.setattr(Path, "replace", _full)
    with pytest.raises(OSError, match="no space"):
        write_page(a_report(), folder.page)
    assert folder.page.read_text(encoding="utf-8") == first
    assert {path.name for path in tmp_path.iterdir()} == {"report.json", "report.html"}


def _full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "no space")


def test_an_earlier_run_is_cleared_and_nothing_else_is(tmp_path: Path) -> None:
    folder = RunFolder.create("net", str(tmp_path))
    for path in (folder.report, folder.page, folder.plan, folder.before_trace, folder.after_trace, folder.program_log):
        path.write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    folder.clear()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_second_run_is_refused_and_told_the_process_of_the_first(tmp_path: Path) -> None:
    first, second = (RunFolder.create("net", str(tmp_path)) for _ in range(2))
    with first.claimed(), pytest.raises(UsageError, match=rf"process {os.getpid()}\)") as caught, second.claimed():
        pass
    assert "--out" in str(caught.value.hint)
    with second.claimed():  # free again
        pass
    with pytest.raises(KeyboardInterrupt), first.claimed():
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".running").write_text("999999999")
    with RunFolder.create("net", str(tmp_path)).claimed():
        assert (tmp_path / ".running").read_text() == str(os.getpid())
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks_runs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    ran = []
    with RunFolder.create("net", str(tmp_path)).claimed():
        ran.append(True)
    assert ran


def test_two_runs_of_one_second_get_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(time, "strftime", lambda _: "now")
    assert [RunFolder.create("net", None).path.name for _ in range(3)] == ["net-now", "net-now-2", "net-now-3"]


def test_making_it_leaves_no_trace_of_the_try(tmp_path: Path) -> None:
    RunFolder.create("net", str(tmp_path / "a" / "b"))
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_where_it_cannot_be_written_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match=re.escape(str(out))) as caught:
            RunFolder.create("net", str(out))
        assert caught.value.exit_code is ExitCode.USAGE
        assert "--out" in str(caught.value.hint)
