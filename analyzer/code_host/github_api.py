"""Requests to GitHub's REST API with the token of a job. The token is sent to that host alone, and never shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

API: Final = "https://api.github.com"
LIMIT_S: Final = 20.0
"""Of one request. GitHub itself gives up on one after 10 s (REST API, troubleshooting, timeouts)."""

VERSION: Final = "2022-11-28"
"""Of the REST API (X-GitHub-Api-Version)."""

MOST_WAIT_S: Final = 60.0
"""What is waited for a limit of requests to pass. A check is not worth holding a runner for longer."""

_REASON_LIMIT: Final = 200
"""Characters of GitHub's own message."""


class ApiError(Exception):
    """A request that failed. `status` is None where there was no answer. `is_passing` where the same request may do
    later, `wait_s` after which time, None where the host does not say.
    """

    def __init__(self, reason: str, status: int | None, *, is_passing: bool, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.is_passing = is_passing
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True)
class GithubApi:
    """`repository` is `owner/name`, `url` where the API is, without a slash at the end."""

    repository: str
    token: str = field(repr=False)
    url: str = API

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> GithubApi | str:
        """As a runner says, or what is missing."""
        repository, token = environment.get("GITHUB_REPOSITORY", ""), environment.get("GITHUB_TOKEN", "")
        url = environment.get("GITHUB_API_URL", "").rstrip("/") or API
        if not repository:
            return "GITHUB_REPOSITORY does not say which repository this is"
        if not token:
            return "there is no GITHUB_TOKEN in the environment"
        if urlsplit(url).scheme not in ("http", "https"):
            return "GITHUB_API_URL is no web address"
        return cls(repository, token, url)

    def ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Any:
        """What the API answers to `/repos/OWNER/NAME/PATH`, decoded. Raises ApiError."""
        request = Request(
            f"{self.url}/repos/{self.repository}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "graphbound",
                "X-GitHub-Api-Version": VERSION,
            },
        )
        try:
            with build_opener(_NoRedirect()).open(request, timeout=LIMIT_S) as answer:
                return json.loads(answer.read())
        except HTTPError as error:
            raise _refused(error) from None
        except (URLError, OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise ApiError(f"no answer from GitHub: {reason}", None, is_passing=True) from None
        except ValueError:
            raise ApiError("GitHub's answer is no JSON", None, is_passing=True) from None


class _NoRedirect(HTTPRedirectHandler):
    """urllib would send the token along to wherever it is sent."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _refused(error: HTTPError) -> ApiError:
    wait_s = _wait_s(error)
    is_limited = error.code == 429 or (error.code == 403 and wait_s is not None)
    with error:
        reason = f"{error.code} {_message(error)}".strip()
    return ApiError(reason, error.code, is_passing=is_limited or error.code >= 500, wait_s=wait_s)


def _wait_s(error: HTTPError) -> float | None:
    """What GitHub asks to wait for (REST API, rate limits); None where it asks nothing."""
    said = error.headers.get("Retry-After", "") if error.headers else ""
    return min(float(said), MOST_WAIT_S) if said.isdecimal() else None


def _message(error: HTTPError) -> str:
    try:
        said = json.loads(error.read()).get("message", "")
    except (OSError, HTTPException, ValueError, AttributeError):
        said = ""
    return str(said or error.reason)[:_REASON_LIMIT]
