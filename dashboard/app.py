"""The dashboard's page and its server. It listens on this machine only, and takes nothing from the network."""

from __future__ import annotations

import html as html_text
import importlib.util
import socket
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from analyzer.core.errors import MissingExtraError, UnreadableFileError, UsageError
from analyzer.reporting.plain_text import plain

if TYPE_CHECKING:
    import dash

LOOPBACK: Final = "127.0.0.1"
ALLOWED_HOSTS: Final = frozenset({LOOPBACK, "localhost"})
"""A page of another site can make a browser call 127.0.0.1 under that site's name (DNS rebinding); it is refused."""

_THREADS: Final = 4
_PAGE: Final = {"fontFamily": "system-ui, sans-serif", "margin": "24px", "maxWidth": "1600px"}


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is bound to its port and not yet running. `run` blocks until Ctrl-C, or `close`."""

    url: str
    run: Callable[[], None]
    close: Callable[[], None]


def make_app(run: Path) -> dash.Dash:
    """The page of a run folder, read now. A folder that is missing, empty or partial gives a page that says so.

    Raises MissingExtraError where Dash is not installed.
    """
    _require_dash()
    import dash  # 0.7 s, and optional in an installation without dependencies
    from dash import html

    from dashboard.panels.panel_list import PANELS
    from dashboard.run_folder import read_run

    data = read_run(run)
    app = dash.Dash(
        "graphbound_dashboard",
        serve_locally=True,
        include_assets_files=False,
        title=html_text.escape(f"Graphbound: {plain(run.name, 60)}"),
        update_title="",
    )
    # Without it a page with developer tools would ask plotly.com for the newest version.
    app.enable_dev_tools(debug=False, dev_tools_disable_version_check=True)
    sections = [html.Section([html.H2(panel.title), *panel.build(data)], id=panel.id) for panel in PANELS]
    app.layout = html.Div([html.H1("Graphbound"), *sections], style=_PAGE)
    _refuse_other_hosts(app.server)
    return app


def make_server(app: dash.Dash, port: int | None) -> Server:
    """Bind to `port` of the loopback address, a free one for None. Raises UsageError where the port is taken."""
    listener = _listener(port)
    url = f"http://{LOOPBACK}:{listener.getsockname()[1]}/"
    if importlib.util.find_spec("waitress") is not None:
        import waitress  # optional: what comes with Dash serves too

        server = waitress.create_server(app.server, sockets=[listener], threads=_THREADS)
        return Server(url=url, run=server.run, close=server.close)
    from werkzeug.serving import make_server as make_werkzeug_server  # slow, and only without waitress

    simple = make_werkzeug_server(LOOPBACK, listener.getsockname()[1], app.server, threaded=True, fd=listener.detach())
    return Server(url=url, run=simple.serve_forever, close=simple.shutdown)


def serve(run: Path, port: int | None, open_browser: bool) -> None:
    """Serve a run folder until Ctrl-C; the address goes to stderr.

    Raises UnreadableFileError where there is no such folder, UsageError where the port is taken, MissingExtraError.
    """
    if not run.is_dir():
        raise UnreadableFileError(f"{run}: there is no such run folder", hint="`analyze model.py` writes one")
    server = make_server(make_app(run), port)
    print(f"dashboard: {server.url} (Ctrl-C to stop)", file=sys.stderr, flush=True)
    if open_browser:
        webbrowser.open(server.url)
    try:
        server.run()
    finally:
        server.close()


def _require_dash() -> None:
    if importlib.util.find_spec("dash") is None:
        raise MissingExtraError("the dashboard needs dash, which is not installed", hint="pip install dash waitress")


def _listener(port: int | None) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":
        # A port that a server has just left may be used again; on Windows this would share one in use.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((LOOPBACK, port or 0))
        listener.listen()
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise UsageError(f"cannot listen on port {port}: {reason}", hint="leave --port out for a free one") from error
    return listener


def _refuse_other_hosts(flask_app: Any) -> None:
    from flask import abort, request  # comes with Dash

    @flask_app.before_request  # type: ignore[untyped-decorator]
    def _check_host() -> None:
        if request.host.rpartition(":")[0] not in ALLOWED_HOSTS and request.host not in ALLOWED_HOSTS:
            abort(403)
