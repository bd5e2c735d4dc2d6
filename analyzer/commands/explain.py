"""`analyze explain RULE`: what a finding means, how it is measured, and when it is wrong."""

from __future__ import annotations

import argparse
from typing import Final

from analyzer.commands.command import Command
from analyzer.commands.output import print_text
from analyzer.core.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", metavar="RULE", nargs="?", help="the id of a finding; without one, all are listed")


def run(arguments: argparse.Namespace) -> ExitCode:
    # The rules bring numpy: `analyze --help` does without.
    from analyzer.rules.explain import explain, list_rules

    print_text(list_rules() if arguments.rule is None else explain(arguments.rule))
    return ExitCode.OK


COMMAND: Final = Command(
    name="explain", summary="what a finding means and what to do about it", add_arguments=add_arguments, run=run
)
