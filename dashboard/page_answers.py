"""What a server of pages that can change answers: a page, what it asks for while it is open, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import GraphboundError
from dashboard.open_pages import OpenPage, OpenPages
from dashboard.since import CANNOT_READ, GONE, NOT_KEPT, Since
from dashboard.waiting import READY, waiting_page

if TYPE_CHECKING:
    import flask

STAMP_HEADER: Final = "X-Graphbound-Read"
STAMP_WORD: Final = "read"
"""What a page adds to what it asks for, and to the address of a download: which version it was made of
(`assets/gb_0_gone.js`)."""
SINCE: Final = "_since"
"""Beside a page: what became of what it shows."""
LOAD: Final = "_load"
"""Beside a page: reads what is there now, and says whether it can be shown."""
_PLAIN: Final = "text/plain"

SinceOf = Callable[[str, str | None], Since]
"""Of the run of this name, after it was read under this stamp."""


class PageAnswers:
    """`subject` begins a sentence on what is shown: `This run`."""

    def __init__(self, pages: OpenPages, since_of: SinceOf, subject: str) -> None:
        self._pages = pages
        self._since_of = since_of
        self._subject = subject

    def answer(self, name: str, shown_name: str, rest: str, surroundings: Callable[[], dict[str, Any]]) -> Any:
        """To the present request, for `rest` below the page of the run `name`; None where there is no such run. A page
        that somebody looks at is first shown another one while it is read.
        """
        import flask  # comes with Dash

        asked = flask.request
        if rest == SINCE:
            told = self._since_of(name, asked.headers.get(STAMP_HEADER) or None)
            return _unkept(flask.jsonify({"state": told.state.value, "text": told.text, "now": told.now or ""}))
        if rest == LOAD:
            return _unkept(flask.jsonify({"problem": self._problem_of_newest(name)}))
        if not rest and _is_shown(asked.headers.get("Sec-Fetch-Dest")) and self._pages.must_read(name):
            return _unkept(flask.Response(waiting_page(shown_name), mimetype="text/html"))
        try:
            page = self._page(name, rest, asked.headers.get(STAMP_HEADER, asked.args.get(STAMP_WORD)))
        except GraphboundError as error:
            return flask.Response(_said(error), 404, mimetype=_PLAIN)
        if page is None:
            return None
        if isinstance(page, str):
            return flask.Response(page, 410, mimetype=_PLAIN)
        if rest == READY:
            return flask.Response(status=204)
        return _answered(page, surroundings())

    def _page(self, name: str, rest: str, stamp: str | None) -> OpenPage | str | None:
        if not rest or rest == READY:
            return self._pages.newest(name)
        if stamp is None:
            return self._pages.any_of(name)
        page = self._pages.as_read(name, stamp or None)
        if page is not None:
            return page
        # A page of a run that is gone, and one of a version that has been forgotten, are two things to say.
        return None if self._pages.is_gone(name) else NOT_KEPT.format(subject=self._subject)

    def _problem_of_newest(self, name: str) -> str | None:
        try:
            page = self._pages.newest(name)
            problem = page.problem if page is not None else None
        except GraphboundError as error:
            page, problem = None, _said(error)
        if problem is not None:
            return CANNOT_READ.format(subject=self._subject, problem=problem)
        return GONE.format(subject=self._subject) if page is None or self._pages.is_gone(name) else None


def _answered(page: OpenPage, surroundings: dict[str, Any]) -> Any:
    from werkzeug.wrappers import Response  # comes with Dash

    return Response.from_app(page.application, surroundings)


def _unkept(response: flask.Response) -> flask.Response:
    response.headers["Cache-Control"] = "no-store"
    return response


def _said(error: GraphboundError) -> str:
    return error.message if error.hint is None else f"{error.message}. {error.hint}"


def _is_shown(destination: str | None) -> bool:
    """Whether the answer will be a page that somebody looks at. A browser says so of an address that it takes for
    secure, as any of this machine's, in Sec-Fetch-Dest; from another one it waits.
    """
    return destination in ("document", "iframe")
