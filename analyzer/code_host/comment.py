"""One comment on a pull request that is written over, found again by a marker that nobody sees."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from analyzer.code_host.github_api import ApiError, GithubApi
from analyzer.code_host.pull_request import pull_request

TRIES: Final = 4
WAITS_S: Final = (1.0, 3.0, 9.0)
"""After each try but the last, where the host does not say how long: a short fault of the host passes in it."""

PER_PAGE: Final = 100
MOST_PAGES: Final = 50
"""5,000 comments: a pull request with more of them has other worries."""

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._/ ]+")

Sleep = Callable[[float], None]


class Outcome(Enum):
    CREATED = "written"
    UPDATED = "written over the last one"
    UNCHANGED = "already there"
    NOT_NEEDED = "not needed"
    NOT_POSTED = "not written"


@dataclass(frozen=True, slots=True)
class Posted:
    """`reason` is why it was not written, None where it was; `url` is where it can be read, None where not known."""

    outcome: Outcome
    reason: str | None = None
    url: str | None = None


def marker(name: str, environment: Mapping[str, str]) -> str:
    """What marks the comment of this job. `name` tells apart the jobs of a matrix, which are one job to GitHub."""
    job = f"{environment.get('GITHUB_WORKFLOW', '')}/{environment.get('GITHUB_JOB', '')}"
    # Two dashes would end an HTML comment.
    return f"<!-- graphbound comment: {_UNSAFE.sub('_', f'{job}/{name}' if name else job)} -->"


def post_comment(
    body: str, mark: str, environment: Mapping[str, str], *, is_news: bool, sleep: Sleep = time.sleep
) -> Posted:
    """Write `body`, which holds `mark`, over the last comment with that mark; else as a new one, if `is_news`.

    Never raises for what the host does: a comment is a courtesy, and no check fails for want of one.
    """
    request = pull_request(environment)
    if request is None:
        return Posted(Outcome.NOT_POSTED, "this job is for no pull request")
    api = GithubApi.of(environment)
    if isinstance(api, str):
        return Posted(Outcome.NOT_POSTED, api)
    for number in range(TRIES):
        try:
            # Looked for anew each time: an answer that was lost may have been that of a comment which was written.
            return _write(api, request.number, body, mark, is_news=is_news)
        except ApiError as error:
            if not error.is_passing or number == TRIES - 1:
                return Posted(Outcome.NOT_POSTED, _explained(error))
            sleep(error.wait_s if error.wait_s is not None else WAITS_S[number])
    raise AssertionError("the last try returns")


def _write(api: GithubApi, number: int, body: str, mark: str, *, is_news: bool) -> Posted:
    for known in _marked(api, number, mark):
        if _same(str(known.get("body", "")), body):
            return Posted(Outcome.UNCHANGED, url=_url(known))
        try:
            return Posted(Outcome.UPDATED, url=_url(api.ask("PATCH", f"issues/comments/{known['id']}", {"body": body})))
        except ApiError as error:
            # Someone else's, who wrote the mark too; or it was deleted meanwhile.
            if error.status not in (403, 404) or error.is_passing:
                raise
    if not is_news:
        return Posted(Outcome.NOT_NEEDED)
    return Posted(Outcome.CREATED, url=_url(api.ask("POST", f"issues/{number}/comments", {"body": body})))


def _marked(api: GithubApi, number: int, mark: str) -> list[dict[str, Any]]:
    """The comments with the mark, the oldest first, and those that a program wrote before those of people."""
    found: list[dict[str, Any]] = []
    for page in range(1, MOST_PAGES + 1):
        comments = api.ask("GET", f"issues/{number}/comments?per_page={PER_PAGE}&page={page}")
        if not isinstance(comments, list):
            raise ApiError("GitHub's answer is no list of comments", None, is_passing=False)
        found += [one for one in comments if isinstance(one, dict) and "id" in one and mark in str(one.get("body", ""))]
        if len(comments) < PER_PAGE:
            break
    return sorted(found, key=lambda one: not _is_program(one.get("user")))


def _is_program(user: Any) -> bool:
    return isinstance(user, dict) and user.get("type") == "Bot"


def _same(one: str, other: str) -> bool:
    # GitHub may give line ends back in another form than it got them.
    return one.split() == other.split()


def _url(comment: Any) -> str | None:
    url = comment.get("html_url") if isinstance(comment, dict) else None
    return url if isinstance(url, str) else None


def _explained(error: ApiError) -> str:
    if error.status in (401, 403, 404):
        return (
            f"this job may not comment ({error.reason}): it needs `permissions: pull-requests: write`, "
            "which a pull request from a fork does not get"
        )
    return error.reason
