"""`analyzer.dashboard(…)`: the page in a notebook's cell. It is served by a thread of this process, to this machine
alone, and ends with it.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.core.errors import UnreadableFileError
from analyzer.core.report import Report
from analyzer.reporting.json import DASHBOARD_COMMAND, REPORT_FILE, encode_report, report_at
from dashboard.app import LOOPBACK, ServedPages, Server, app_of, make_app, make_server, require_dash
from dashboard.run_folder import AFTER_FILE, BEFORE_FILE, RunData, Side

if TYPE_CHECKING:
    import dash

HEIGHT_PX: Final = 820
NO_TRACE: Final = (
    "A report holds no trace. Give the run folder to see its timelines: "
    'analyzer.analyze(model, inputs, out="runs/mine"), then analyzer.dashboard("runs/mine").'
)


@dataclass(frozen=True, slots=True)
class InlineDashboard:
    """A running dashboard. As the value of a notebook's cell it shows itself. `close` stops its server."""

    url: str
    height_px: int
    close: Callable[[], None]

    def _repr_html_(self) -> str:
        """A frame, and a link for where frames are not shown. The browser has to be on this machine."""
        address = escape(self.url)
        style = f"width:100%;height:{self.height_px}px;border:1px solid #c9ccd1"
        link = f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'
        return (
            f'<iframe src="{address}" title="Graphbound dashboard" style="{style}"></iframe>'
            f'<p style="font-size:12px;margin:4px 0">{link} · {_elsewhere(self.url)}</p>'
        )

    def __repr__(self) -> str:
        return f"Graphbound dashboard at {self.url}; .close() stops it"


def show(shown: Report | str | Path, *, height_px: int = HEIGHT_PX) -> InlineDashboard:
    """The dashboard of a report, a run folder, a folder of such, a trace or a folder of ranks. A second call for the
    same one, unchanged, shows the server that runs already. A report whose run folder is still there is shown with its
    timelines.

    Raises MissingExtraError where Dash is not installed, UnreadableFileError where there is nothing to show.
    """
    require_dash()
    target = shown if isinstance(shown, Report) else Path(shown)
    if isinstance(target, Path) and not target.exists():
        raise UnreadableFileError(
            f"{target}: there is no such run folder or trace", hint='analyzer.analyze(model, inputs, out="runs/mine")'
        )
    server = _RUNNING.of(_identity(target), lambda: _app(target))
    return InlineDashboard(server.url, height_px, lambda: _RUNNING.close(server))


@dataclass(slots=True)
class _Running:
    """The servers of this process: what must outlive a call, or a cell that is run again would start another."""

    servers: dict[str, Server] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, identity: str, make: Callable[[], dash.Dash | ServedPages]) -> Server:
        with self.lock:
            if identity not in self.servers:
                server = make_server(make(), None)
                # A daemon ends with the kernel.
                threading.Thread(target=_serve, args=(server,), name="graphbound-dashboard", daemon=True).start()
                self.servers[identity] = server
            return self.servers[identity]

    def close(self, server: Server) -> None:
        """Closing twice is the same as once."""
        with self.lock:
            known = [identity for identity, running in self.servers.items() if running is server]
            for identity in known:
                del self.servers[identity]
        if known:
            server.close()


_RUNNING: Final = _Running()


def _serve(server: Server) -> None:
    # waitress leaves its loop when its sockets are closed under it.
    with suppress(OSError):
        server.run()


def _app(target: Report | Path) -> dash.Dash | ServedPages:
    if isinstance(target, Report):
        folder = folder_of(target)
        return make_app(folder) if folder is not None else app_of(_without_trace(target))
    return make_app(target, is_strict=True)


def folder_of(report: Report) -> Path | None:
    """The run folder that a report's last line names, if the report in it is this one still."""
    if not report.next_command.startswith(DASHBOARD_COMMAND):
        return None
    with suppress(UnreadableFileError, ValueError):
        (name,) = shlex.split(report.next_command)[2:]
        folder = Path(name)
        if (folder / REPORT_FILE).is_file() and encode_report(report_at(folder)) == encode_report(report):
            return folder
    return None


def _without_trace(report: Report) -> RunData:
    return RunData(report.workload.name, report, None, (Side("before", None, NO_TRACE),))


def _identity(target: Report | Path) -> str:
    """Of what is shown: of a report all of it, of files their place and when they were written."""
    if isinstance(target, Report):
        folder = folder_of(target)
        if folder is None:
            return f"report {hashlib.sha256(encode_report(target)).hexdigest()}"
        target = folder
    own = [target / name for name in (REPORT_FILE, BEFORE_FILE, AFTER_FILE)] if target.is_dir() else []
    written = [path.stat().st_mtime_ns for path in (target, *own) if path.exists()]
    return f"{target.resolve()} {written}"


def _elsewhere(url: str) -> str:
    """What to do where the browser is on another machine than this process."""
    port = url.rstrip("/").rpartition(":")[2]
    if "google.colab" in sys.modules:
        call = f"from google.colab import output; output.serve_kernel_port_as_iframe({port}, height={HEIGHT_PX})"
        return f"in Colab run <code>{escape(call)}</code>"
    forward = escape(f"ssh -L {port}:{LOOPBACK}:{port} HOST")
    return f"on another machine than the browser: <code>{forward}</code>, then the link"
