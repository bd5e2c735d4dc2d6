"""One run folder, one trace or the traces of ranks behind a server, whose page can be loaded anew."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dashboard.open_pages import OpenPage, OpenPages
from dashboard.page_answers import PageAnswers
from dashboard.run_folder import RunData, events_of, problem_of, read_run, read_target, run_folder_of
from dashboard.runs import RUN_PREFIX, among
from dashboard.since import Since, since
from dashboard.stamp import run_goes_on, run_stamp, traces_stamp

if TYPE_CHECKING:
    import flask

RUN: Final = "This run"
TRACE: Final = "This trace"
TRACES: Final = "This folder of traces"
_ONLY: Final = ""
"""The name of the one page."""

MakeApp = Callable[[RunData, str | None], Any]
"""The WSGI application of what was read, whose stamp is the second argument."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is shown for as long as the server runs; `folder` is the run folder that it means, None for traces."""

    path: Path
    folder: Path | None

    @staticmethod
    def at(path: Path) -> Target:
        """What is not there is taken for a run folder to come."""
        return Target(path, run_folder_of(path) if path.exists() else path)

    @property
    def subject(self) -> str:
        if self.folder is not None:
            return RUN
        return TRACES if self.path.is_dir() else TRACE

    def stamp(self) -> str | None:
        return traces_stamp(self.path) if self.folder is None else run_stamp(self.folder)

    def read(self) -> RunData:
        """What is there now. Raises as `read_target`."""
        if self.folder is None:
            return read_target(self.path)
        return read_run(self.folder, among(self.folder) if self.folder.is_dir() else None)

    def since(self, read: str | None) -> Since:
        goes_on = self.folder is not None and run_goes_on(self.folder)
        return since(self.subject, read, self.stamp(), goes_on=goes_on)


def single_server(path: Path, make: MakeApp, require: Callable[[RunData], None] = lambda _: None) -> flask.Flask:
    """The page is read now. Raises as `read_target`, and what `require` raises of what was read."""
    import flask  # comes with Dash

    target = Target.at(path)

    def page_of(stamp: str | None, data: RunData) -> OpenPage:
        return OpenPage(make(data, stamp), events_of(data), problem_of(data))

    pages = OpenPages(lambda _: target.stamp(), lambda _, stamp: page_of(stamp, target.read()), is_kept_when_gone=True)
    stamp, data = target.stamp(), target.read()
    require(data)
    pages.put(_ONLY, stamp, page_of(stamp, data))
    answers = PageAnswers(pages, lambda _, read: target.since(read), target.subject)
    server = flask.Flask("graphbound_single", static_folder=None)

    # A link into a server of several runs, of which this may be one: the browser keeps what stands behind # in it.
    @server.get(f"{RUN_PREFIX}<name>/")
    def _one_of_several(name: str) -> Any:
        if name == path.absolute().name:
            return flask.redirect("/")
        return flask.Response(f"This server shows {path} alone.\n", 404, mimetype="text/plain")

    @server.route("/", defaults={"rest": ""}, methods=["GET", "POST"])
    @server.route("/<path:rest>", methods=["GET", "POST"])
    def _page(rest: str) -> Any:
        return answers.answer(_ONLY, path.name, rest, lambda: dict(flask.request.environ)) or flask.abort(404)

    return server
