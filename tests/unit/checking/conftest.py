"""A repository for a check to stand in."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two models, in which one stands."""
    (tmp_path / ".git").mkdir()
    for name in ("gptlite.py", "other.py"):
        (tmp_path / name).write_text("\n".join(f"line {n}" for n in range(1, 100)) + "\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    return tmp_path
