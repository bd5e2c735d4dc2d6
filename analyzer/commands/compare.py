"""`analyze compare A B`: what got faster, slower, appeared or vanished between two traces or run folders."""

from __future__ import annotations

import argparse
from typing import Final

from analyzer.commands.command import Command, add_format
from analyzer.commands.output import print_text
from analyzer.core.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="A", help="a trace or a run folder")
    parser.add_argument(
        "after", metavar="B", nargs="?", help="another one; without it A is a run folder, before and after its plan"
    )
    parser.add_argument("--no-cache", dest="cache", action="store_false", help="keep nothing for the next look")
    add_format(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    # numpy and msgspec: `analyze --help` does without.
    from analyzer.comparing import compare_paths
    from analyzer.reporting.compared_text import compared_json, compared_text
    from analyzer.trace_cache import reading_settings

    compared = compare_paths(arguments.before, arguments.after, reading_settings(keeps=arguments.cache))
    print_text(compared_json(compared) if arguments.format == "json" else compared_text(compared))
    return ExitCode.OK


COMMAND: Final = Command(
    name="compare", summary="lay two traces or run folders beside each other", add_arguments=add_arguments, run=run
)
