"""`analyze show RUN`: prints a saved report again. Needs neither torch nor a GPU."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.commands.command import Command, add_formats
from analyzer.commands.output import print_report
from analyzer.core.errors import ExitCode

if TYPE_CHECKING:
    from analyzer.reporting.shown_step import ShownStep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder, or its report.json")
    add_formats(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    # msgspec and numpy: `analyze --help` does without.
    from analyzer.reporting.json import read_report

    def steps() -> tuple[ShownStep, ...]:
        from dashboard.report_timeline import steps_of_run  # what reads traces, for a format that draws them

        path = Path(arguments.run)
        return steps_of_run(path if path.is_dir() else path.parent)

    print_report(read_report(arguments.run), arguments.format, steps=steps)
    return ExitCode.OK


COMMAND: Final = Command(
    name="show", summary="print the report of a run folder again", add_arguments=add_arguments, run=run
)
