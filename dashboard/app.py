"""The dashboard's page and its server. It listens on this machine only; where it is told an address, with a token."""

from __future__ import annotations

import html as html_text
import importlib.util
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import MissingExtraError, UnreadableFileError, UsageError
from analyzer.reporting.plain_text import plain
from analyzer.run_listing import holds_runs

if TYPE_CHECKING:
    import dash

    from dashboard.run_folder import RunData

LOOPBACK: Final = "127.0.0.1"
_THREADS: Final = 8
"""A browser asks over six connections at once."""
ASSETS: Final = Path(__file__).resolve().parent / "assets"
ROOT: Final = "/"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is bound to its port and not yet running. `run` blocks until Ctrl-C, or `close`."""

    url: str
    run: Callable[[], None]
    close: Callable[[], None]


@dataclass(frozen=True, slots=True)
class ServedRuns:
    """The pages of several runs; `server` is their WSGI application, as it is of a `dash.Dash`. `prepare` reads the run
    of this name, so that its page need not be waited for.
    """

    server: Any
    prepare: Callable[[str], object]


def make_app(target: Path, token: str | None = None) -> dash.Dash | ServedRuns:
    """The page of a run folder, a trace or a folder of ranks, read now; of a folder of runs their pages, each read when
    it is asked for. A folder that is missing, empty or partial gives a page that says so. With a token, only who brings
    it is let in; without one, only this machine.

    Raises MissingExtraError where Dash is not installed, UnreadableFileError for a trace that cannot be read.
    """
    require_dash()
    from dashboard.run_folder import read_run, read_target  # numpy and msgspec, which looking for dash does without

    if holds_runs(target):
        return _runs_of(target, token)
    return app_of(read_target(target) if target.exists() else read_run(target), token)


def _runs_of(folder: Path, token: str | None) -> ServedRuns:
    from dashboard.entry import guard
    from dashboard.runs_app import OpenRuns, runs_server  # flask, and what reads runs

    opened = OpenRuns(folder, lambda data, prefix: app_of(data, prefix=prefix).server)
    server = runs_server(folder, opened)
    guard(server, token)
    return ServedRuns(server, opened.application)


def app_of(data: RunData, token: str | None = None, *, prefix: str = ROOT) -> dash.Dash:
    """The page of what was read. With another `prefix` than the root it lies there behind a server of several pages,
    which asks for the token.
    """
    import dash  # 0.7 s, and optional in an installation without dependencies

    from dashboard import compare_callbacks
    from dashboard.callbacks import add_callbacks
    from dashboard.code_route import add_code_route
    from dashboard.entry import guard
    from dashboard.first_paint import OUR_SCRIPTS, frame
    from dashboard.layout import layout_of
    from dashboard.report_route import add_report_route
    from dashboard.timeline.routes import add_routes
    from dashboard.timelines import timeline_page

    app = dash.Dash(
        "graphbound_dashboard",
        serve_locally=True,
        assets_folder=str(ASSETS),
        assets_ignore=OUR_SCRIPTS,
        title=html_text.escape(f"Graphbound: {plain(Path(data.folder).name, 60)}"),
        update_title="",
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
        routes_pathname_prefix=ROOT,
        requests_pathname_prefix=prefix,
    )
    # Without it a page with developer tools would ask plotly.com for the newest version.
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)
    app.index_string = frame(app, ASSETS)
    app.layout = layout_of(data)
    add_callbacks(app, data)
    compare_callbacks.register(app, data)
    timelines = timeline_page(data)
    add_routes(app.server, timelines)
    add_report_route(app.server, data.report, lambda: timelines, data.folder)
    add_code_route(app.server, data.report, Path(data.folder))
    if prefix == ROOT:
        guard(app.server, token)
    return app


def make_server(
    app: dash.Dash | ServedRuns, port: int | None, host: str | None = None, token: str | None = None
) -> Server:
    """Bind to `port` of the loopback address or of `host`, a free one for None. Raises UsageError where that fails."""
    listener = _listener(port, host or LOOPBACK)
    number = listener.getsockname()[1]
    shown = f"[{host}]" if host and ":" in host else host or LOOPBACK
    url = f"http://{shown}:{number}/" + (f"?token={token}" if token is not None else "")
    if importlib.util.find_spec("waitress") is not None:
        import waitress  # optional: what comes with Dash serves too

        server = waitress.create_server(app.server, sockets=[listener], threads=_THREADS)
        return Server(url=url, run=server.run, close=server.close)
    from werkzeug.serving import WSGIRequestHandler  # slow, and only without waitress
    from werkzeug.serving import make_server as make_werkzeug_server

    class Quiet(WSGIRequestHandler):
        """Its own writes a line for every request, between ours."""

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    simple = make_werkzeug_server(
        host or LOOPBACK, number, app.server, threaded=True, request_handler=Quiet, fd=listener.detach()
    )
    return Server(url=url, run=simple.serve_forever, close=simple.shutdown)


def serve(target: Path, port: int | None, open_browser: bool, host: str | None = None) -> None:
    """Serve a run folder, a folder of runs, a trace or a folder of ranks until Ctrl-C; the address goes to stderr. With
    a `host` it listens there, and the address carries a token without which nothing is answered.

    Raises UnreadableFileError where there is no such thing, or nothing in it that could be shown, UsageError where the
    port is taken, MissingExtraError.
    """
    if not target.exists():
        raise UnreadableFileError(
            f"{target}: there is no such run folder or trace", hint="`analyze model.py` writes one"
        )
    require_dash()
    from dashboard.entry import new_token
    from dashboard.run_folder import newest_readable, read_target, require_contents  # as above

    token = new_token() if host is not None else None
    app: dash.Dash | ServedRuns
    if holds_runs(target):
        newest = newest_readable(target)
        print(f"the newest run of {plain(str(target))} is {plain(newest)}", file=sys.stderr, flush=True)
        app = served = _runs_of(target, token)
        # It takes seconds, most of them Dash's own import; the browser is opened meanwhile.
        threading.Thread(target=served.prepare, args=(newest,), daemon=True).start()
    else:
        # A trace of a million events takes half a minute to be judged.
        print(f"reading {plain(str(target))}", file=sys.stderr, flush=True)
        data = read_target(target)
        require_contents(data)
        app = app_of(data, token)
    server = make_server(app, port, host, token)
    print(f"dashboard: {server.url} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    if open_browser:
        # The port is bound, so that whoever asks is answered; a browser of the terminal ends before the call does.
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        server.run()
    finally:
        server.close()


def require_dash() -> None:
    """Raises MissingExtraError where Dash is not installed; does not import it."""
    if importlib.util.find_spec("dash") is None:
        raise MissingExtraError("the dashboard needs dash, which is not installed", hint="pip install dash waitress")


def _listener(port: int | None, host: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port or 0, type=socket.SOCK_STREAM)[0][0]
    except OSError as error:
        raise UsageError(f"cannot listen on {host}: {error.strerror or error}", hint="leave --host out") from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        # A port that a server has just left may be used again; on Windows this would share one in use.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        where = f"port {port}" if host == LOOPBACK else f"port {port or 'of its choice'} of {host}"
        raise UsageError(f"cannot listen on {where}: {reason}", hint="leave --port out for a free one") from error
    return listener
