"""A question to git, in a repository of the user's."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path


def asked_git(
    folder: Path, *words: str, limit_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What git says in `folder`, and how it ended. Raises OSError where it is not there, TimeoutExpired."""
    return subprocess.run(
        ["git", "-C", str(folder), *words],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        stdin=subprocess.DEVNULL,
        env=environment,
        check=False,
    )
