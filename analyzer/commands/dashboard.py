"""`analyze dashboard RUN`: serves a run folder to a browser on this machine."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from analyzer.commands.command import Command, add_port
from analyzer.core.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder that `analyze model.py` wrote")
    add_port(parser)
    parser.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="open it in a browser (default: yes)",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    serve_until_interrupted(Path(arguments.run), arguments.port, open_browser=arguments.open)
    return ExitCode.OK


def serve_until_interrupted(run_folder: Path, port: int | None, *, open_browser: bool) -> None:
    """Serve until Ctrl-C, which is how it ends and no error. Raises GraphboundError where it cannot begin."""
    from dashboard.app import serve  # dash takes 0.7 s to import

    try:
        serve(run_folder, port, open_browser)
    except KeyboardInterrupt:
        return


COMMAND: Final = Command(
    name="dashboard", summary="look at a run folder in a browser", add_arguments=add_arguments, run=run
)
