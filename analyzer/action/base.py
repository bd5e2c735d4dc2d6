"""Which commit a change is held against, and that it is there: actions/checkout fetches one commit alone."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from analyzer.code_host.event import Change, event_name
from analyzer.code_host.pull_request import PullRequest
from analyzer.core.errors import UsageError
from collectors.asked_git import asked_git

PULL_REQUEST: Final = "pull request"
OF_THE_BASE: Final = ("pull_request_target", "workflow_run")
"""Events whose job is given a commit of the base branch (events that trigger workflows, GITHUB_SHA)."""

GIT_LIMIT_S: Final = 300.0
"""A fetch from a large repository."""


def base_of(request: PullRequest, root: Path) -> str | None:
    """The commit that the checkout at `root` adds its changes to, fetched where it was not there; None where the event
    does not name it. Raises UsageError where it cannot be had.

    GitHub checks out the merge of base and head, whose first parent is the base as it was merged. Of any other
    checkout it is the commit where head left the base, as far as the history is there.
    """
    parents = _parents(root)
    if len(parents) == 2 and request.head in (None, parents[1]):
        return _fetched(parents[0], root, PULL_REQUEST)
    if request.base is None:
        return None
    base = _fetched(request.base, root, PULL_REQUEST)
    return _git(root, "merge-base", base, "HEAD") or base


def base_of_change(change: Change, root: Path) -> str | None:
    """The commit before a push, or the one that a merge queue merges into, fetched where it was not there; None where
    there was none. Raises UsageError where it cannot be had, as after a push that wrote history anew.
    """
    return None if change.base is None else _fetched(change.base, root, change.what)


def require_the_change(base: str, root: Path, environment: Mapping[str, str]) -> None:
    """Raises UsageError where the checkout at `root` is of the base's side, and the change is not in it: it would be
    held against itself, and pass.
    """
    here = _git(root, "rev-parse", "HEAD")
    is_base = event_name(environment) in OF_THE_BASE and here == environment.get("GITHUB_SHA")
    if here is None or not (here == base or is_base):
        return
    raise UsageError(
        f"this checkout is {here[:12]}, which the change is held against: nothing of the change is in it",
        hint="give actions/checkout the commit of the change as its ref: "
        "${{ github.event.pull_request.head.sha }} of a pull request",
    )


def _parents(root: Path) -> tuple[str, ...]:
    """As the commit itself names them: of a shallow checkout `HEAD^1` is not there, and its name is."""
    head = (_git(root, "cat-file", "commit", "HEAD") or "").partition("\n\n")[0]
    return tuple(line.removeprefix("parent ") for line in head.splitlines() if line.startswith("parent "))


def _fetched(commit: str, root: Path, what: str) -> str:
    if _git(root, "cat-file", "-e", f"{commit}^{{commit}}") is not None:
        return commit
    # A depth would cut a whole history off where it is fetched.
    depth = ("--depth=1",) if _git(root, "rev-parse", "--is-shallow-repository") == "true" else ()
    done = _run(root, "fetch", "--quiet", "--no-tags", *depth, "origin", commit)
    if done is None or done.returncode:
        said = [] if done is None else done.stderr.strip().splitlines()
        why = f": {said[0].removeprefix('fatal: ')}" if said else ""
        raise UsageError(
            f"the base of the {what}, {commit[:12]}, is not in this checkout and cannot be fetched{why}",
            hint="actions/checkout with fetch-depth: 0 brings it; or name another commit with against:, or a file of "
            "values with baseline:",
        )
    return commit


def _git(root: Path, *words: str) -> str | None:
    """What git says; None where it fails."""
    done = _run(root, *words)
    return done.stdout.strip() if done is not None and done.returncode == 0 else None


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str] | None:
    """How git ended; None where it could not be asked."""
    try:
        return asked_git(root, *words, limit_s=GIT_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
