"""The dashboard's page and its server. It listens on this machine only; where it is told an address, with a token."""

from __future__ import annotations

import errno
import html as html_text
import importlib.util
import logging
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
class ServedPages:
    """Pages of what is in files, each read again where it has changed; `server` is their WSGI application, as it is of
    a `dash.Dash`. `prepare` reads the run of this name, so that its page need not be waited for.
    """

    server: Any
    prepare: Callable[[str], object]


def make_app(target: Path, token: str | None = None, *, is_strict: bool = False) -> ServedPages:
    """The page of a run folder, a trace or a folder of ranks, read now; of a folder of runs their pages, each read when
    it is asked for. A folder that is missing, empty or partial gives a page that says so, with `is_strict` an error
    where nothing at all could be shown. With a token, only who brings it is let in; without one, only this machine.

    Raises MissingExtraError where Dash is not installed, UnreadableFileError for a trace that cannot be read.
    """
    require_dash()
    return _runs_of(target, token) if holds_runs(target) else _single(target, token, is_strict=is_strict)


def _runs_of(folder: Path, token: str | None) -> ServedPages:
    from dashboard.entry import guard
    from dashboard.runs_app import open_runs, runs_server  # flask, and what reads runs

    pages = open_runs(folder, lambda data, prefix, stamp: _behind(data, prefix, stamp))
    server = runs_server(folder, pages)
    guard(server, token)
    return ServedPages(server, pages.newest)


def _single(target: Path, token: str | None, *, is_strict: bool) -> ServedPages:
    from dashboard.entry import guard
    from dashboard.run_folder import require_contents
    from dashboard.single_app import single_server  # flask, numpy and what reads traces

    require = require_contents if is_strict else lambda _: None
    server = single_server(target, lambda data, stamp: _behind(data, ROOT, stamp), require)
    guard(server, token)
    return ServedPages(server, lambda _: None)


def app_of(data: RunData, token: str | None = None) -> dash.Dash:
    """The page of what was read, by itself: it never learns what became of it."""
    from dashboard.entry import guard

    app = _page_of(data, ROOT, None)
    guard(app.server, token)
    return app


def _behind(data: RunData, prefix: str, stamp: str | None) -> Any:
    """The WSGI application of a page that lies at `prefix` behind a server, which asks for the token."""
    return _page_of(data, prefix, stamp or "").server


def _page_of(data: RunData, prefix: str, stamp: str | None) -> dash.Dash:
    """`stamp` is what its page tells the server, which knows by it what was read; None where there is no such."""
    import dash  # 0.7 s, and optional in an installation without dependencies

    from dashboard import compare_callbacks
    from dashboard.callbacks import add_callbacks
    from dashboard.code_route import add_code_route
    from dashboard.first_paint import OUR_SCRIPTS, frame, metas
    from dashboard.layout import layout_of, shown_name
    from dashboard.report_route import add_report_route
    from dashboard.timeline.routes import add_routes
    from dashboard.timelines import timeline_page

    app = dash.Dash(
        "graphbound_dashboard",
        serve_locally=True,
        assets_folder=str(ASSETS),
        assets_ignore=OUR_SCRIPTS,
        title=html_text.escape(f"Graphbound: {shown_name(data)}"),
        update_title="",
        meta_tags=metas(stamp),
        routes_pathname_prefix=ROOT,
        requests_pathname_prefix=prefix,
    )
    # Without it a page with developer tools would ask plotly.com for the newest version.
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)
    app.index_string = frame(app, ASSETS)
    app.layout = layout_of(data)
    has_changed = _has_changed(Path(data.folder), stamp)
    add_callbacks(app, data, has_changed)
    compare_callbacks.register(app, data)
    timelines = timeline_page(data)
    add_routes(app.server, timelines)
    add_report_route(app.server, data.report, lambda: timelines, data.folder)
    add_code_route(app.server, data.report, Path(data.folder), has_changed)
    return app


def _has_changed(folder: Path, stamp: str | None) -> Callable[[], bool]:
    """Whether the run folder holds another run by now than the one that was read."""
    from dashboard.stamp import run_stamp

    return lambda: bool(stamp) and run_stamp(folder) not in (stamp, None)


def make_server(
    app: dash.Dash | ServedPages,
    port: int | None,
    host: str | None = None,
    token: str | None = None,
    listener: socket.socket | None = None,
) -> Server:
    """Bind to `port` of the loopback address or of `host`, a free one for None, where that is not done: `listener` is
    what `listen` gave for them. Raises UsageError where that fails.
    """
    listener = listener if listener is not None else listen(port, host)
    number = listener.getsockname()[1]
    shown = f"[{host}]" if host and ":" in host else host or LOOPBACK
    url = f"http://{shown}:{number}/" + (f"?token={token}" if token is not None else "")
    if importlib.util.find_spec("waitress") is not None:
        import waitress  # optional: what comes with Dash serves too

        # It warns of every request that waits a moment for a thread, between ours.
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
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

    token = new_token() if host is not None else None
    # First, as reading a trace takes up to minutes.
    listener = listen(port, host)
    try:
        app = _read_to_be_served(target, token)
    except BaseException:
        listener.close()
        raise
    server = make_server(app, port, host, token, listener)
    print(f"dashboard: {server.url} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    if open_browser:
        # The port is bound, so that whoever asks is answered; a browser of the terminal ends before the call does.
        threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
    try:
        server.run()
    finally:
        server.close()


def _read_to_be_served(target: Path, token: str | None) -> ServedPages:
    from dashboard.run_folder import newest_readable  # numpy and msgspec

    if holds_runs(target):
        newest = newest_readable(target)
        print(f"the newest run of {plain(str(target))} is {plain(newest)}", file=sys.stderr, flush=True)
        app = _runs_of(target, token)
        # It takes seconds, most of them Dash's own import; the browser is opened meanwhile.
        threading.Thread(target=app.prepare, args=(newest,), daemon=True).start()
        return app
    # A trace of a million events takes half a minute to be judged.
    print(f"reading {plain(str(target))}", file=sys.stderr, flush=True)
    return _single(target, token, is_strict=True)


def require_dash() -> None:
    """Raises MissingExtraError where Dash is not installed; does not import it."""
    if importlib.util.find_spec("dash") is None:
        raise MissingExtraError("the dashboard needs dash, which is not installed", hint="pip install dash waitress")


def listen(port: int | None, host: str | None) -> socket.socket:
    """A socket that listens on `port` of `host`, None for a free one and for the loopback address. Raises UsageError
    where that cannot be.
    """
    address = host or LOOPBACK
    try:
        family = socket.getaddrinfo(address, port or 0, type=socket.SOCK_STREAM)[0][0]
    except (OSError, UnicodeError) as error:  # a name that is none is refused by the codec of names
        reason = error.strerror or error if isinstance(error, OSError) else "it is no name of a machine"
        raise UsageError(f"cannot listen on {address}: {reason}", hint="leave --host out") from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        # A port that a server has just left may be used again; on Windows this would share one in use.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        raise _cannot_listen(port, host, error) from error
    return listener


def _cannot_listen(port: int | None, host: str | None, error: OSError) -> UsageError:
    reason = error.strerror or str(error)
    if error.errno == errno.EADDRNOTAVAIL or port is None:
        return UsageError(
            f"cannot listen on {host or LOOPBACK}: {reason}", hint="--host takes an address of this machine"
        )
    where = f"port {port}" if host is None else f"port {port} of {host}"
    return UsageError(f"cannot listen on {where}: {reason}", hint="leave --port out for a free one")
