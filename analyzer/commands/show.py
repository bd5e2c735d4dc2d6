"""`analyze show RUN`: prints a saved report again, or the code it keeps of a graph. Needs neither torch nor a GPU."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.commands.command import Command, Output, add_formats
from analyzer.commands.output import print_report, print_text
from analyzer.core import quantities
from analyzer.core.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from analyzer.reporting.shown_step import ShownStep


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="a run folder, or its report.json")
    add_formats(parser)
    parser.add_argument(
        "--code",
        metavar="GRAPH[=CANDIDATE]",
        help="print the code that Inductor generated for this graph, by the beginning of its key, in place of the "
        "report: that of the candidate, else of the chosen one, else of torch.compile's default",
    )


def run(arguments: argparse.Namespace) -> ExitCode:
    # msgspec and numpy: `analyze --help` does without.
    from analyzer.reporting.json import report_at

    if arguments.code is not None:
        _print_code(Path(arguments.run), arguments.code, arguments.format)
        return ExitCode.OK

    def steps() -> tuple[ShownStep, ...]:
        from dashboard.report_timeline import steps_of_run  # what reads traces, for a format that draws them

        path = Path(arguments.run)
        return steps_of_run(path if path.is_dir() else path.parent)

    print_report(report_at(arguments.run), arguments.format, steps=steps)
    return ExitCode.OK


def _print_code(run: Path, asked: str, formats: Sequence[Output] | None) -> None:
    """Raises UsageError where the run keeps no such code, UnreadableFileError where its file cannot be read."""
    from analyzer.code_files import asked_code, read_code  # as above
    from analyzer.reporting.json import read_report
    from analyzer.reporting.plain_text import plain_code

    if formats:
        raise UsageError("--code prints code, which has no format", hint="leave --format out")
    folder = run if run.is_dir() else run.parent
    code = asked_code(read_report(run), asked)
    text = read_code(folder, code)
    # A terminal may obey what it is shown; a file or another program gets the code as it is.
    is_seen = sys.stdout is not None and sys.stdout.isatty()
    print_text(plain_code(text) if is_seen else text)
    if code.is_cut and sys.stderr is not None:
        kept, whole = quantities.byte_count(code.kept_bytes), quantities.byte_count(code.code_bytes)
        print(f"the first {kept} of {whole}: more was not kept", file=sys.stderr)


COMMAND: Final = Command(
    name="show", summary="print the report of a run folder again", add_arguments=add_arguments, run=run
)
