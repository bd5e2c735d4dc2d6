"""Where a checkout begins. Imports the standard library alone."""

from __future__ import annotations

from pathlib import Path


def root_above(folder: Path) -> Path | None:
    """The folder that holds `.git`, this absolute one or one above it; None outside a checkout."""
    # A file in a worktree and in a submodule, else a folder.
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)
