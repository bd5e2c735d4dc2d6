"""The repository as it was at another commit, in a folder of its own beside the user's checkout."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from analyzer.core.errors import UsageError
from analyzer.core.graphs import SourceLine

GIT_LIMIT_S: Final = 300.0
"""A checkout of a large repository from a slow disk."""

_HUNK: Final = re.compile(r"@@ -\S+ \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")


@contextmanager
def worktree_at(reference: str, root: Path) -> Iterator[Path]:
    """A detached worktree of `reference`, removed at the end. Raises UsageError where there is no such commit."""
    commit = commit_of(reference, root)
    with TemporaryDirectory(prefix="graphbound-base-") as scratch:
        folder = (Path(scratch) / "base").resolve()
        _git(root, "worktree", "add", "--detach", "--quiet", str(folder), commit)
        try:
            yield folder
        finally:
            # --force: the run left caches in it.
            _git(root, "worktree", "remove", "--force", str(folder), is_needed=False)
            _git(root, "worktree", "prune", is_needed=False)


def commit_of(reference: str, root: Path) -> str:
    """The commit's hash. Raises UsageError."""
    # Without --end-of-options a reference that begins with a dash would be an option.
    said = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", is_needed=False
    )
    if not said:
        raise UsageError(
            f"there is no commit {reference!r} here",
            hint="a shallow checkout has none but its own: fetch it first (actions/checkout: fetch-depth: 0)",
        )
    return said


def changed_lines(reference: str, root: Path) -> tuple[SourceLine, ...]:
    """The lines of the checkout at `root` that differ from `reference`, with absolute paths. Raises UsageError."""
    commit = commit_of(reference, root)
    # Without a driver or a text conversion of the user's, and with names as they are.
    plain = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--dst-prefix=b/")
    diff = _git(root, "-c", "core.quotePath=false", "diff", *plain, commit, "--", "*.py")
    found: list[SourceLine] = []
    file: str | None = None
    for line in diff.splitlines():
        if line.startswith("+++ "):
            file = str(root / line[6:].rstrip("\t")) if line.startswith("+++ b/") else None
        elif file is not None and (hunk := _HUNK.match(line)) is not None:
            first, count = int(hunk["first"]), int(hunk["count"] or 1)
            found += [SourceLine(file, number) for number in range(first, first + count)]
    return tuple(found)


def _git(root: Path, *words: str, is_needed: bool = True) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_LIMIT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not there, which --against needs") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]} took longer than {GIT_LIMIT_S:.0f} s") from None
    if done.returncode and is_needed:
        raise UsageError(f"git {words[0]} failed: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip() if done.returncode == 0 else ""
