"""A stand-in for the part of GitHub's REST API that keeps the comments of pull requests, on this machine only."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

REPOSITORY: Final = "ada/nets"
TOKEN: Final = "a-token-that-must-not-be-shown"
MOST_BODY: Final = 65_536
"""Characters that GitHub takes."""

_LISTED: Final = re.compile(rf"/repos/{REPOSITORY}/issues/(?P<number>\d+)/comments")
_ONE: Final = re.compile(rf"/repos/{REPOSITORY}/issues/comments/(?P<comment>\d+)")


@dataclass(slots=True)
class Comments:
    """All comments, and the requests that came. `faults` are answered first, one status a request. `is_read_only`: the
    token may look alone, as that of a pull request from a fork. `lost` is how many new comments are kept and answered
    with a fault.
    """

    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    is_read_only: bool = False
    lost: int = 0
    kept: list[dict[str, Any]] = field(default_factory=list)

    def add(self, number: int, body: str, user: str = "Bot") -> int:
        comment = len(self.kept) + 1
        url = f"https://github.com/{REPOSITORY}/pull/{number}#issuecomment-{comment}"
        one = {"id": comment, "number": number, "body": body, "user": {"type": user}, "html_url": url, "edits": 0}
        self.kept.append(one)
        return comment

    def of(self, number: int) -> list[dict[str, Any]]:
        return [one for one in self.kept if one["number"] == number]


@contextmanager
def serving() -> Iterator[Comments]:
    comments = Comments()

    class Handler(_Handler):
        kept = comments

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    comments.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield comments
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    kept: Comments

    def do_GET(self) -> None:
        listed = _LISTED.fullmatch(urlsplit(self.path).path)
        if self._is_refused():
            return
        if listed is None:
            return self._answer(404, {"message": "Not Found"})
        query = parse_qs(urlsplit(self.path).query)
        page, size = int(query.get("page", ["1"])[0]), min(int(query.get("per_page", ["30"])[0]), 100)
        found = self.kept.of(int(listed["number"]))
        self._answer(200, found[(page - 1) * size : page * size])

    def do_POST(self) -> None:
        listed = _LISTED.fullmatch(self.path)
        body = self._body()
        if self._is_refused(writes=True):
            return
        if listed is None or len(body) > MOST_BODY:
            return self._answer(404 if listed is None else 422, {"message": "Body is too long"})
        number = self.kept.add(int(listed["number"]), body)
        if self.kept.lost:
            self.kept.lost -= 1
            return self._answer(502, {"message": "a fault"})
        self._answer(201, self.kept.kept[number - 1])

    def do_PATCH(self) -> None:
        one = _ONE.fullmatch(self.path)
        body = self._body()
        if self._is_refused(writes=True):
            return
        known = next((c for c in self.kept.kept if one is not None and c["id"] == int(one["comment"])), None)
        if known is None:
            return self._answer(404, {"message": "Not Found"})
        known.update(body=body, edits=known["edits"] + 1)
        self._answer(200, known)

    def _is_refused(self, *, writes: bool = False) -> bool:
        self.kept.requests.append((self.command, self.path))
        if self.kept.faults:
            self._answer(self.kept.faults.pop(0), {"message": "a fault"})
            return True
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"message": "Bad credentials"})
            return True
        if writes and self.kept.is_read_only:
            self._answer(403, {"message": "Resource not accessible by integration"})
            return True
        return False

    def _body(self) -> str:
        text = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        return str(json.loads(text)["body"])

    def _answer(self, status: int, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what was asked is in `requests`."""
