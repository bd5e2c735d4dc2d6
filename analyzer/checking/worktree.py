"""The repository as it was at another commit, in a folder of its own beside the user's checkout."""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from analyzer.core.errors import UsageError
from analyzer.core.graphs import SourceLine
from analyzer.core.shell import shell_command
from analyzer.interrupts import undisturbed
from collectors.asked_git import asked_git

GIT_LIMIT_S: Final = 300.0
"""A checkout of a large repository from a slow disk."""

ALONE: Final = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
"""git without the programs of the user's that it would start: a hook for checkouts is not for a worktree of ours, and
one that fails would end the check. git knows this path on Windows too.
"""

IN_A_WORKTREE: Final = "the base is checked out beside, for which .git must be writable; --baseline FILE needs no git"

SUBMODULE: Final = "160000 commit "
"""How `git ls-tree` begins the line of one."""

_HUNK: Final = re.compile(r"@@ -\S+ \+(?P<first>\d+)(?:,(?P<count>\d+))? @@")


@contextmanager
def worktree_at(reference: str, root: Path) -> Iterator[Path]:
    """A detached worktree of `reference`, removed at the end. Raises UsageError where there is no such commit."""
    commit = commit_of(reference, root)
    with TemporaryDirectory(prefix="graphbound-base-") as scratch:
        folder = (Path(scratch) / "base").resolve()
        added = [(root, folder)]
        try:
            _git(root, "worktree", "add", "--detach", "--quiet", str(folder), commit)
            added += _with_submodules(root, commit, folder)
            yield folder
        finally:
            # A second Ctrl-C would leave the repository with a worktree that is not there.
            with undisturbed():
                for each, beside in reversed(added):
                    _remove(each, beside)


def _remove(root: Path, folder: Path) -> None:
    """Take this worktree away, and no other: `git worktree prune` would take those of the user's with it that this
    machine does not see, as those of the host of a container.
    """
    words = ("worktree", "remove", "--force", str(folder))  # the run left caches in it
    if _run(root, *words).returncode:  # what git no longer takes for one, it takes away where the folder is gone
        shutil.rmtree(folder, ignore_errors=True)
        _git(root, *words, is_needed=False)


def _with_submodules(root: Path, commit: str, folder: Path) -> list[tuple[Path, Path]]:
    """Worktrees of the submodules that the checkout at `root` has, in its worktree at `folder`, which git leaves empty:
    each checkout with its worktree. Nothing is fetched: a commit that is not there stays out.
    """
    added: list[tuple[Path, Path]] = []
    for line in _git(root, "ls-tree", "-r", "-z", commit, is_needed=False).split("\0"):
        kind, _, name = line.partition("\t")
        if not kind.startswith(SUBMODULE) or not (root / name / ".git").exists():
            continue
        own, beside, pinned = root / name, folder / name, kind.split()[2]
        done = _run(own, "worktree", "add", "--detach", "--quiet", str(beside), pinned)
        if done.returncode == 0:
            added += [(own, beside), *_with_submodules(own, pinned, beside)]
    return added


def commit_of(reference: str, root: Path) -> str:
    """The commit's hash. Raises UsageError."""
    if not reference:
        raise UsageError("--against was given no commit", hint="is it a variable that is not set in this job?")
    # Without --end-of-options a reference that begins with a dash would be an option.
    said = _git(
        root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", is_needed=False
    )
    if not said:
        raise _no_commit(reference, root)
    return said


def is_unchanged(reference: str, root: Path) -> bool:
    """Whether no file that git knows differs between the checkout at `root` and `reference`. Raises UsageError."""
    return _run(root, "diff", "--quiet", "--no-ext-diff", commit_of(reference, root)).returncode == 0


@dataclass(frozen=True, slots=True)
class Rename:
    """Paths from the root of the repository, as git writes them."""

    old: str
    new: str


def renames(reference: str, root: Path) -> tuple[Rename, ...]:
    """The files of `reference` that have another name in the checkout at `root`. Raises UsageError."""
    commit = commit_of(reference, root)
    names = ("--name-status", "-z", "--find-renames", "--diff-filter=R")
    words = _git(root, "diff", "--no-ext-diff", *names, commit, is_needed=False).split("\0")
    return tuple(Rename(old, new) for old, new in zip(words[1::3], words[2::3], strict=False))


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


def _no_commit(reference: str, root: Path) -> UsageError:
    """Why there is none, which git says in one way whatever it is."""
    text = f"there is no commit {reference!r} here"
    asked = _run(root, "rev-parse", "--is-shallow-repository")
    if asked.returncode:
        why = (asked.stderr.strip().splitlines() or [""])[0].removeprefix("fatal: ")
        # The checkout of a job in a container belongs to another user.
        is_strange = "safe.directory" in asked.stderr
        trust = shell_command("git", "config", "--global", "--add", "safe.directory", str(root))
        return UsageError(f"{text}: {why}", hint=trust if is_strange else "--against needs a checkout of git")
    if asked.stdout.strip() == "true":
        return UsageError(
            text, hint="this checkout is shallow and has none but its own: fetch it (actions/checkout: fetch-depth: 0)"
        )
    known = _git(root, "for-each-ref", "--format=%(refname:short)", is_needed=False).split()
    remote = [name for name in known if name.endswith(f"/{reference}")]
    near = (remote or difflib.get_close_matches(reference, known, n=1))[:1]
    return UsageError(text, hint=f"did you mean {near[0]}?" if near else "`git fetch` brings what the remote has")


def _git(root: Path, *words: str, is_needed: bool = True) -> str:
    done = _run(root, *words)
    if done.returncode and is_needed:
        hint = IN_A_WORKTREE if words[0] == "worktree" else None
        raise UsageError(f"git {words[0]} failed: {done.stderr.strip() or done.returncode}", hint=hint)
    return done.stdout.strip() if done.returncode == 0 else ""


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What git said, and how it ended. Raises UsageError where it cannot be asked."""
    try:
        return asked_git(root, *ALONE, *words, limit_s=GIT_LIMIT_S)
    except FileNotFoundError:
        raise UsageError("git is not there, which --against needs") from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git {words[0]} took longer than {GIT_LIMIT_S:.0f} s") from None
