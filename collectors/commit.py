"""The commit of the user's repository, asked of git. Changes nothing there, and needs no torch."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

from analyzer.core.origin import Commit
from collectors.asked_git import asked_git

LIMIT_S: Final = 5.0
"""For each of two questions. `git status` of a checkout with 100,000 files takes about a second from a warm disk."""

_HASH: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def commit_at(folder: Path) -> Commit | None:
    """The commit that is checked out in the repository of `folder`; None where there is none, or git does not say."""
    said = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    if said is None or _HASH.fullmatch(said) is None:
        return None
    changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    return Commit(said, None if changed is None else bool(changed))


def _git(folder: Path, *words: str) -> str | None:
    """What git prints; None where it is not there, fails or takes too long."""
    # Asking must not wait for a lock, nor write the index anew: another git of the user's may be at work.
    surroundings = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        # Without the monitor of a repository's own settings, which is a program that git would start.
        done = asked_git(folder, "-c", "core.fsmonitor=false", *words, limit_s=LIMIT_S, environment=surroundings)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
