"""Base and head: a real worktree, and turns with drivers that are not real."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from analyzer.checking.in_turn import PROCESSES, TURNS, Side, crowd_text, time_in_turn
from analyzer.checking.subjects import standing_in
from analyzer.checking.worktree import changed_lines, commit_of, worktree_at
from analyzer.core.errors import UsageError, UserProgramError
from analyzer.core.samples import Samples
from analyzer.core.settings import WorkloadSpec
from analyzer.core.timing import Crowd, Timing
from analyzer.progress import SilentProgress


def git(folder: Path, *words: str) -> str:
    identity = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "model.py").write_text("old\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    (tmp_path / "model.py").write_text("new\n")
    return tmp_path


def test_the_worktree_has_the_old_files_and_leaves_nothing_behind(repository: Path) -> None:
    with worktree_at("HEAD", repository) as folder:
        assert (folder / "model.py").read_text() == "old\n"
        (folder / "cache").write_text("left by the run")
    assert not folder.exists()
    assert (repository / "model.py").read_text() == "new\n"
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_it_is_removed_when_the_run_fails(repository: Path) -> None:
    def run() -> Iterator[None]:
        with worktree_at("HEAD", repository):
            yield
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run())
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("reference", ["nowhere", "--help", "-q", "HEAD~9", ""])
def test_what_is_no_commit_is_refused_with_a_hint(repository: Path, reference: str) -> None:
    with pytest.raises(UsageError, match="there is no commit") as caught:
        commit_of(reference, repository)
    assert "fetch" in (caught.value.hint or "")


def test_standing_in_a_folder_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "src").mkdir()
    before = Path.cwd()
    with standing_in(tmp_path, tmp_path):
        assert Path.cwd() == tmp_path
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(tmp_path), str(tmp_path / "src")]
    assert Path.cwd() == before
    assert "PYTHONPATH" not in os.environ


class FakeDriver:
    """Times steps of `step_ns`; anything else that is asked of it is not foreseen."""

    is_isolated = True

    def __init__(self, name: str, log: list[str], step_ns: int, crowd: Crowd | None = None) -> None:
        self._name, self._log, self._step_ns, self._crowd = name, log, step_ns, crowd

    def call(self, method: str, *arguments: Any, limit_s: float | None = None) -> Timing:
        assert (method, arguments) == ("time", ())
        assert limit_s is not None
        self._log.append(self._name)
        one = Samples((self._step_ns,) * 7)
        return Timing(one, one, (), (), True, crowd=self._crowd)

    def close(self) -> None:
        self._log.append(f"close {self._name}")


def side(name: str) -> Side:
    return Side(WorkloadSpec(target=name), Path(name), Path(name))


def test_both_are_timed_in_turn_in_fresh_processes_which_are_closed(tmp_path: Path) -> None:
    log: list[str] = []

    def start(which: Side, scratch: Path) -> Any:
        assert scratch == tmp_path
        log.append(f"start {which.spec.target}")
        return FakeDriver(which.spec.target, log, 100 if which.spec.target == "base" else 200)

    found = time_in_turn(side("base"), side("head"), tmp_path, SilentProgress(), start)
    assert found.in_turn.reason is None
    assert len(found.in_turn.base) == len(found.in_turn.head) == PROCESSES * TURNS
    assert {turn.median_ns for turn in found.in_turn.base} == {100}
    assert {turn.median_ns for turn in found.in_turn.head} == {200}
    assert log.count("start base") == log.count("close base") == PROCESSES
    pair = log[2 : 2 + 2 * TURNS]
    assert pair[:4] == ["base", "head", "head", "base"], "every second turn goes backwards"


def test_what_fails_is_the_reason_and_closes_what_was_open(tmp_path: Path) -> None:
    log: list[str] = []

    def start(which: Side, scratch: Path) -> Any:
        if which.spec.target == "head":
            raise UserProgramError("out of memory")
        return FakeDriver(which.spec.target, log, 100)

    found = time_in_turn(side("base"), side("head"), tmp_path, SilentProgress(), start)
    assert found.in_turn.reason == "out of memory"
    assert log == ["close base"]


def test_a_crowd_counts_where_it_was_there_most_of_the_time() -> None:
    busy, idle = Crowd(1.8, 2, 2), Crowd(0.0, 2, 2)
    assert crowd_text([]) is None
    assert crowd_text([idle, idle, busy]) is None
    assert crowd_text([busy, busy, idle]) == "other programs kept up to 1.8 of 2 cores busy meanwhile"


def test_changed_lines_are_those_of_the_checkout_that_differ(repository: Path) -> None:
    (repository / "net.py").write_text("one\ntwo\nthree\nfour\n")
    (repository / "gone.py").write_text("gone\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "more")
    (repository / "net.py").write_text("one\n2\nthree\nfour\nfive\nsix\n")
    (repository / "gone.py").unlink()
    (repository / "notes.txt").write_text("text\n")
    git(repository, "config", "diff.noprefix", "true")
    found = [(Path(line.file).name, line.line) for line in changed_lines("HEAD", repository)]
    assert found == [("net.py", 2), ("net.py", 5), ("net.py", 6)]
