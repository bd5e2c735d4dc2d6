"""A question to git, in a repository of the user's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

OF_A_HOOK: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE")
"""What git tells its hooks of their own repository (`git rev-parse --local-env-vars`). Handed on, a question about
another folder is answered for that one, and `git worktree add` writes the base over the index that is being committed.
"""


def asked_git(
    folder: Path, *words: str, limit_s: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What git says in `folder`, and how it ended: also of a command that git itself started, as a hook. Raises OSError
    where it is not there, TimeoutExpired.
    """
    given = os.environ if environment is None else environment
    return subprocess.run(
        ["git", "-C", str(folder), *words],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=limit_s,
        stdin=subprocess.DEVNULL,
        env={name: value for name, value in given.items() if name not in OF_A_HOOK},
        check=False,
    )
