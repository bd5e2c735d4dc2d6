"""Several runs behind one server, each under its own address. A run is read when it is first asked for; the ones asked
for last stay in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import GraphboundError
from analyzer.run_listing import ListedRun, RunListing, list_runs
from dashboard.run_folder import RunData, newest_readable, read_run
from dashboard.runs import RUN_PREFIX, Among, address_of
from dashboard.waiting import READY, waiting_page

if TYPE_CHECKING:
    import flask

MOST_OPEN: Final = 4
"""Runs in memory at most."""
MOST_EVENTS: Final = 4_000_000
"""Of the timelines of all runs in memory, some 300 B each; the run asked for last stays, however large."""

MakeApp = Callable[[RunData, str], Any]
"""The WSGI application of one run, whose own address is the second argument."""


@dataclass(frozen=True, slots=True)
class _Open:
    run: ListedRun
    application: Any
    events: int


class OpenRuns:
    """The runs of a folder that are in memory, by name."""

    def __init__(self, folder: Path, make: MakeApp) -> None:
        self._folder = folder
        self._make = make
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._reading: dict[str, threading.Lock] = {}

    def holds(self, run: ListedRun) -> bool:
        """Whether this run is in memory as it is now, so that its page need not be waited for."""
        with self._lock:
            known = self._open.get(run.name)
            return known is not None and known.run == run

    def application(self, name: str) -> Any | None:
        """Of this run; None where the folder holds none of this name. Raises nothing for what cannot be read of it."""
        listing = list_runs(self._folder)
        run = listing.run(name)
        if run is None:
            return None
        # One that is being read is waited for, not read twice; the others are served meanwhile.
        with self._lock:
            reading = self._reading.setdefault(name, threading.Lock())
        with reading:
            with self._lock:
                known = self._open.get(name)
                if known is not None and known.run == run:
                    self._open.move_to_end(name)
                    return known.application
            opened = self._read(run, listing)
            if list_runs(self._folder).run(name) is None:
                return None  # it went while it was read: what was found of it is not what it was
            with self._lock:
                self._open[name] = opened
                self._open.move_to_end(name)
                self._forget()
            return opened.application

    def _read(self, run: ListedRun, listing: RunListing) -> _Open:
        data = read_run(self._folder / run.name, Among(listing, run.name, can_open=True))
        events = sum(len(side.recording.trace) for side in data.sides if side.recording is not None)
        return _Open(run, self._make(data, address_of(run.name)), events)

    def _forget(self) -> None:
        while len(self._open) > 1 and (
            len(self._open) > MOST_OPEN or sum(one.events for one in self._open.values()) > MOST_EVENTS
        ):
            self._open.popitem(last=False)


def runs_server(folder: Path, opened: OpenRuns) -> flask.Flask:
    """`/` leads to the newest run, `/?run=NAME` to that one, and `/run/NAME/` is its page; a browser is shown another
    one while that is read.
    """
    import flask  # comes with Dash
    from werkzeug.wrappers import Response

    server = flask.Flask("graphbound_runs", static_folder=None)

    def _no_run() -> flask.Response:
        return flask.Response(f"There is no such run in {folder} (any more).\n", 404, mimetype="text/plain")

    @server.get("/")
    def _first() -> Any:
        asked = flask.request.args.get("run")
        if asked is not None and list_runs(folder).run(asked) is None:
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
        if not rest and _is_shown(flask.request.headers.get("Sec-Fetch-Dest")):
            run = list_runs(folder).run(name)
            if run is not None and not opened.holds(run):
                return _waiting(name)
        application = opened.application(name)
        if application is None:
            return _no_run()
        if rest == READY:
            return flask.Response(status=204)
        surroundings = dict(flask.request.environ)
        own = surroundings["PATH_INFO"]
        cut = own.index("/", len(RUN_PREFIX))
        surroundings["SCRIPT_NAME"] = surroundings.get("SCRIPT_NAME", "") + own[:cut]
        surroundings["PATH_INFO"] = own[cut:]
        return Response.from_app(application, surroundings)

    def _waiting(name: str) -> flask.Response:
        found = flask.Response(waiting_page(name), mimetype="text/html")
        found.headers["Cache-Control"] = "no-store"
        return found

    return server


def _is_shown(destination: str | None) -> bool:
    """Whether the answer will be a page that somebody looks at. A browser says so of an address that it takes for
    secure, as any of this machine's, in Sec-Fetch-Dest; from another one it waits.
    """
    return destination in ("document", "iframe")
