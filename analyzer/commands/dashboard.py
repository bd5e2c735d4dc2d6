"""`analyze dashboard PATH`: serves a run folder, all runs of a folder, a trace or the traces of ranks to a browser on
this machine.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Final

from analyzer.commands.command import Command, add_port
from analyzer.core.errors import ExitCode, UnreadableFileError, UsageError

RUNS: Final = "runs"
"""Where `analyze model.py` puts run folders that are given no other place."""
_ADDRESS: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="PATH",
        nargs="?",
        default=RUNS,
        help="a run folder that `analyze model.py` wrote, a folder of such (default: %(default)s), a trace, or the "
        "traces of ranks",
    )
    add_port(parser)
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="listen on this address of the machine, for whoever has the token in the printed link (default: for this "
        "machine alone)",
    )
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="open it in a browser (default: yes)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    if not arguments.run:
        raise UsageError("the path is empty", hint=f"`analyze dashboard` alone shows {RUNS}/")
    if _ADDRESS.match(arguments.run):
        raise UsageError(
            f"{arguments.run} is an address, and the dashboard shows what lies on this machine",
            hint="`curl -LO` it, and give the file",
        )
    target = Path(arguments.run)
    if arguments.run == RUNS and _holds_nothing(target):
        raise UnreadableFileError(f"there is no run in {RUNS}/ here", hint="`analyze model.py` writes one")
    serve_until_interrupted(target, arguments.port, open_browser=arguments.open, host=arguments.host)
    return ExitCode.OK


def _holds_nothing(folder: Path) -> bool:
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))


def serve_until_interrupted(target: Path, port: int | None, *, open_browser: bool, host: str | None = None) -> None:
    """Serve until Ctrl-C, which is how it ends and no error. Raises GraphboundError where it cannot begin."""
    from dashboard.app import serve  # dash takes 0.7 s to import

    try:
        serve(target, port, open_browser, host)
    except KeyboardInterrupt:
        return


COMMAND: Final = Command(
    name="dashboard", summary="look at a run folder or a trace in a browser", add_arguments=add_arguments, run=run
)
