"""Which pull request a job of GitHub Actions runs for, as the runner tells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analyzer.code_host.event import commit_in, read_event


@dataclass(frozen=True, slots=True)
class PullRequest:
    """`base` and `head` are commits; None where the event does not name them."""

    number: int
    base: str | None = None
    head: str | None = None


def pull_request(environment: Mapping[str, str]) -> PullRequest | None:
    """The pull request of the event that started the job; None where it was another one, or it cannot be read.

    A comment on a pull request (`issue_comment`) and a run after another workflow (`workflow_run`) name one too.
    """
    event = read_event(environment)
    for found in (event.get("pull_request"), _commented(event.get("issue")), _of_run(event.get("workflow_run"))):
        number = found.get("number") if isinstance(found, dict) else None
        if isinstance(found, dict) and isinstance(number, int) and number > 0:
            return PullRequest(number, _commit(found.get("base")), _commit(found.get("head")))
    return None


def _commented(issue: Any) -> Any:
    return issue if isinstance(issue, dict) and issue.get("pull_request") else None


def _of_run(run: Any) -> Any:
    """The only pull request of a run; of several none can be chosen."""
    found = run.get("pull_requests") if isinstance(run, dict) else None
    return found[0] if isinstance(found, list) and len(found) == 1 else None


def _commit(side: Any) -> str | None:
    return commit_in(side.get("sha")) if isinstance(side, dict) else None
