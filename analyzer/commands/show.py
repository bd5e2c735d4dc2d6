"""`analyze show RUN`: prints a saved report again. Needs neither torch nor a GPU."""

from __future__ import annotations

import argparse
from typing import Final

from analyzer.commands.command import Command, add_formats
from analyzer.commands.output import print_report
from analyzer.core.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder, or its report.json")
    add_formats(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    # msgspec and numpy: `analyze --help` does without.
    from analyzer.reporting.json import read_report

    print_report(read_report(arguments.run), arguments.format)
    return ExitCode.OK


COMMAND: Final = Command(
    name="show", summary="print the report of a run folder again", add_arguments=add_arguments, run=run
)
