"""Several runs behind one server, each under its own address. A run is read when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import GraphboundError
from analyzer.run_listing import find_run, list_runs
from dashboard.open_pages import OpenPage, OpenPages
from dashboard.page_answers import PageAnswers
from dashboard.run_folder import RunData, events_of, newest_readable, problem_of, read_run
from dashboard.runs import RUN_PREFIX, Among, address_of
from dashboard.since import Since, since
from dashboard.stamp import run_goes_on, run_stamp

if TYPE_CHECKING:
    import flask

SUBJECT: Final = "This run"

MakeApp = Callable[[RunData, str, str | None], Any]
"""The WSGI application of one run, whose own address and stamp are the second and third argument."""


def open_runs(folder: Path, make: MakeApp) -> OpenPages:
    """The pages of the runs of a folder, by name."""

    def read(name: str, stamp: str | None) -> OpenPage:
        data = read_run(folder / name, Among(list_runs(folder), name, can_open=True))
        return OpenPage(make(data, address_of(name), stamp), events_of(data), problem_of(data))

    return OpenPages(lambda name: _stamp(folder, name), read)


def runs_server(folder: Path, pages: OpenPages) -> flask.Flask:
    """`/` leads to the newest run, `/?run=NAME` to that one, and `/run/NAME/` is its page."""
    import flask  # comes with Dash

    server = flask.Flask("graphbound_runs", static_folder=None)
    answers = PageAnswers(pages, lambda name, read: _since(folder, name, read), SUBJECT)

    def _no_run() -> flask.Response:
        return flask.Response(f"There is no such run in {folder} (any more).\n", 404, mimetype="text/plain")

    @server.get("/")
    def _first() -> Any:
        asked = flask.request.args.get("run")
        if asked is not None and find_run(folder, asked) is None:
            return _no_run()
        try:
            name = asked if asked is not None else newest_readable(folder)
        except GraphboundError as error:
            return flask.Response(f"{error.message}\n{error.hint or ''}\n", 404, mimetype="text/plain")
        # The browser keeps what stands behind # in the address.
        return flask.redirect(address_of(name))

    @server.route(f"{RUN_PREFIX}<name>/", defaults={"rest": ""}, methods=["GET", "POST"])
    @server.route(f"{RUN_PREFIX}<name>/<path:rest>", methods=["GET", "POST"])
    def _run(name: str, rest: str) -> Any:
        return answers.answer(name, name, rest, _surroundings) or _no_run()

    def _surroundings() -> dict[str, Any]:
        """Of the request, as the application of one run sees it."""
        found = dict(flask.request.environ)
        own = found["PATH_INFO"]
        cut = own.index("/", len(RUN_PREFIX))
        found["SCRIPT_NAME"] = found.get("SCRIPT_NAME", "") + own[:cut]
        found["PATH_INFO"] = own[cut:]
        return found

    return server


def _stamp(folder: Path, name: str) -> str | None:
    return run_stamp(folder / name) if find_run(folder, name) is not None else None


def _since(folder: Path, name: str, read: str | None) -> Since:
    return since(SUBJECT, read, _stamp(folder, name), goes_on=run_goes_on(folder / name))
