"""The event that started a job of GitHub Actions, as its runner tells it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NO_COMMIT: Final = frozenset("0")
"""The digits of `before` where a push begins a branch or a tag (webhook events and payloads, push)."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an event adds its commits to: `base` is a commit, None where the event names none. `what` is how it is said.
    `is_first`: a push that begins a branch or a tag, so that there can be none.
    """

    what: str
    base: str | None
    is_first: bool = False


def read_event(environment: Mapping[str, str]) -> dict[str, Any]:
    """Empty where there is none, or it cannot be read."""
    try:
        content = json.loads(Path(environment.get("GITHUB_EVENT_PATH", "")).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def event_name(environment: Mapping[str, str]) -> str:
    """`schedule`; empty where the runner does not say."""
    return environment.get("GITHUB_EVENT_NAME", "")


def pushed(environment: Mapping[str, str]) -> Change | None:
    """The change of a push or of a merge queue; None of any other event. A pull request is told by `pull_request`."""
    event = read_event(environment)
    match event_name(environment):
        case "push":
            before = event.get("before")
            is_first = isinstance(before, str) and bool(before) and commit_in(before) is None
            return Change("push", commit_in(before), is_first)
        case "merge_group":
            group = event.get("merge_group")
            return Change("merge group", commit_in(group.get("base_sha") if isinstance(group, dict) else None))
        case _:
            return None


def commit_in(value: Any) -> str | None:
    """A commit's hash; None of what is none, and of the zeros that stand for none."""
    return value if isinstance(value, str) and set(value) - NO_COMMIT else None
