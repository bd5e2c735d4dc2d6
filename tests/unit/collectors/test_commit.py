"""The commit of a repository, as git says it; nothing where git cannot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from collectors import commit
from collectors.commit import commit_at


def git(folder: Path, *words: str) -> str:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    done = subprocess.run(
        ["git", "-C", str(folder), *words], env={**os.environ, **who}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a crowded machine git may take long, and is waited for."""
    monkeypatch.setattr(commit, "LIMIT_S", 120.0)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "model.py").write_text("x = 1\n")
    git(tmp_path, "add", "model.py")
    git(tmp_path, "commit", "-qm", "first")
    return tmp_path


def test_a_clean_checkout_has_its_commit(repository: Path) -> None:
    found = commit_at(repository)
    assert found is not None
    assert found.hash == git(repository, "rev-parse", "HEAD")
    assert found.is_dirty is False
    assert found.short == found.hash[:7]


def test_a_folder_below_belongs_to_the_repository(repository: Path) -> None:
    (repository / "models").mkdir()
    assert commit_at(repository / "models") == commit_at(repository)


def test_a_changed_file_is_dirty_and_a_new_one_is_not(repository: Path) -> None:
    (repository / "runs").mkdir()
    (repository / "runs" / "report.json").write_text("{}")
    found = commit_at(repository)
    assert found is not None
    assert found.is_dirty is False
    (repository / "model.py").write_text("x = 2\n")
    found = commit_at(repository)
    assert found is not None
    assert found.is_dirty is True
    assert found.short == f"{found.hash[:7]}+"


def test_asking_writes_nothing_into_the_repository(repository: Path) -> None:
    os.utime(repository / "model.py", (1, 1))  # so that the index would be worth refreshing
    before = (repository / ".git" / "index").read_bytes()
    commit_at(repository)
    assert (repository / ".git" / "index").read_bytes() == before


def test_no_repository_and_one_without_a_commit_are_none(tmp_path: Path) -> None:
    assert commit_at(tmp_path) is None
    assert commit_at(tmp_path / "nowhere") is None
    git(tmp_path, "init", "-q")
    assert commit_at(tmp_path) is None


def test_without_git_and_with_one_that_hangs_it_is_unknown(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = repository / "tools"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools))
    assert commit_at(repository) is None
    (tools / "git").write_text("#!/bin/sh\nexec /bin/sleep 300\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setattr(commit, "LIMIT_S", 0.2)
    assert commit_at(repository) is None


def test_a_status_that_fails_leaves_dirty_unknown(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = commit._git
    monkeypatch.setattr(commit, "_git", lambda folder, *words: None if "status" in words else real(folder, *words))
    found = commit_at(repository)
    assert found is not None
    assert found.is_dirty is None
    assert found.short == found.hash[:7]
