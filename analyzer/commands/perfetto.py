"""`analyze perfetto PATH FILE`: recordings with their verdicts and gaps as one file that ui.perfetto.dev opens."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from analyzer.commands.command import Command
from analyzer.core.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path",
        metavar="PATH",
        help="a run folder that `analyze model.py` wrote, a trace, or the traces of ranks",
    )
    parser.add_argument("file", metavar="FILE", help="where to write it; packed where its name ends in .gz")


def run(arguments: argparse.Namespace) -> ExitCode:
    # numpy and msgspec: `analyze --help` does without.
    from analyzer.reporting.plain_text import plain
    from dashboard.perfetto_file import write_perfetto

    written = write_perfetto(Path(arguments.path), Path(arguments.file))
    if sys.stderr is not None:
        told = f"{written.events:,} events ({written.sides}) written to {plain(arguments.file)}"
        for note in written.notes:
            print(f"note: {plain(note)}", file=sys.stderr)
        print(f"{told}: open it at ui.perfetto.dev", file=sys.stderr)
    return ExitCode.OK


COMMAND: Final = Command(
    name="perfetto",
    summary="write the recordings for Perfetto, with verdicts and gaps as tracks",
    add_arguments=add_arguments,
    run=run,
)
