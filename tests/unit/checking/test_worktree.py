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
from analyzer.checking.worktree import Rename, changed_lines, commit_of, renames, worktree_at
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


def test_the_base_has_the_submodules_of_the_checkout_as_they_were(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    top = tmp_path_factory.mktemp("top")
    git(top, "init", "-q", "-b", "main")
    git(top, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository), "the lib")
    git(top, "commit", "-qm", "base")
    git(top / "the lib", "commit", "-q", "--allow-empty", "-m", "later")
    (top / "the lib" / "model.py").write_text("newer\n")
    with worktree_at("HEAD", top) as folder:
        assert (folder / "the lib" / "model.py").read_text() == "old\n"
    for checkout in (top, top / "the lib"):
        assert len(git(checkout, "worktree", "list").splitlines()) == 1
    assert (top / "the lib" / "model.py").read_text() == "newer\n"


def test_it_is_removed_when_the_run_fails(repository: Path) -> None:
    def run() -> Iterator[None]:
        with worktree_at("HEAD", repository):
            yield
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(run())
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_worktree_of_the_users_that_is_out_of_sight_stays_known(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "-b", "theirs", str(tmp_path / "theirs"))
    (tmp_path / "theirs").rename(tmp_path / "out of sight")
    with worktree_at("HEAD", repository):
        pass
    (tmp_path / "out of sight").rename(tmp_path / "theirs")
    assert git(tmp_path / "theirs", "branch", "--show-current") == "theirs"


def test_a_worktree_whose_mark_the_run_removed_is_forgotten_too(repository: Path) -> None:
    with worktree_at("HEAD", repository) as folder:
        (folder / ".git").unlink()
    assert not folder.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


@pytest.mark.parametrize("index", [".git/index", "{root}/.git/index"])
def test_a_check_that_a_hook_starts_leaves_what_is_being_committed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    git(repository, "add", ".")
    with monkeypatch.context() as hook:  # what `git commit` and `git commit --all` tell it, and one of a worktree
        hook.setenv("GIT_INDEX_FILE", index.format(root=repository))
        hook.setenv("GIT_DIR", str(repository / ".git"))
        with worktree_at("HEAD", repository) as folder:
            assert (folder / "model.py").read_text() == "old\n"
    assert git(repository, "diff", "--cached", "--name-only") == "model.py"
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_no_hook_of_the_repository_is_run_for_the_worktree(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{repository}/seen'\nexit 3\n")
    hook.chmod(0o755)
    with worktree_at("HEAD", repository) as folder:
        assert (folder / "model.py").read_text() == "old\n"
    assert not (repository / "seen").exists()


@pytest.mark.parametrize("reference", ["nowhere", "--help", "-q", "HEAD~9"])
def test_what_is_no_commit_is_refused_with_a_hint(repository: Path, reference: str) -> None:
    with pytest.raises(UsageError, match="there is no commit") as caught:
        commit_of(reference, repository)
    assert "fetch" in (caught.value.hint or "")


def test_an_empty_name_is_told_from_a_commit_that_is_not_there(repository: Path) -> None:
    with pytest.raises(UsageError, match="was given no commit") as caught:
        commit_of("", repository)
    assert "variable" in (caught.value.hint or "")


@pytest.mark.parametrize(("given", "meant"), [("mian", "main"), ("next", "origin/next")])
def test_a_branch_of_nearly_that_name_is_named(repository: Path, given: str, meant: str) -> None:
    git(repository, "update-ref", "refs/remotes/origin/next", "HEAD")
    with pytest.raises(UsageError) as caught:
        commit_of(given, repository)
    assert caught.value.hint == f"did you mean {meant}?"


def test_only_a_shallow_checkout_is_called_one(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git(repository, "commit", "-qam", "more")
    shallow = tmp_path_factory.mktemp("shallow")
    git(shallow, "clone", "-q", "--depth=1", f"file://{repository}", ".")
    with pytest.raises(UsageError) as caught:
        commit_of("HEAD~1", shallow)
    assert "shallow" in (caught.value.hint or "")
    with pytest.raises(UsageError) as caught:
        commit_of("HEAD~9", repository)
    assert "shallow" not in (caught.value.hint or "")


def test_where_git_reads_no_repository_its_own_reason_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a git repository") as caught:
        commit_of("HEAD", tmp_path)
    assert caught.value.hint == "--against needs a checkout of git"


def test_a_checkout_of_another_user_is_told_how_to_be_trusted(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")  # what git's own tests set
    with pytest.raises(UsageError, match="ownership") as caught:
        commit_of("HEAD", repository)
    assert (caught.value.hint or "").startswith("git config --global --add safe.directory ")


def test_a_renamed_file_is_found_under_its_old_name(repository: Path) -> None:
    (repository / "of all").mkdir()
    git(repository, "checkout", "-q", "model.py")
    git(repository, "mv", "model.py", "of all/né.py")
    assert renames("HEAD", repository) == (Rename("model.py", "of all/né.py"),)


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
    assert found.reason is None
    assert len(found.base) == len(found.head) == PROCESSES * TURNS
    assert {turn.median_ns for turn in found.base} == {100}
    assert {turn.median_ns for turn in found.head} == {200}
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
    assert found.reason == "out of memory"
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
