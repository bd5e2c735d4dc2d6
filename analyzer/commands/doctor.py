"""`analyze doctor`: says what on this machine works, and what is missing for the rest."""

from __future__ import annotations

import argparse
from typing import Final

from analyzer.commands.command import Command
from analyzer.commands.output import print_text
from analyzer.core.errors import ExitCode
from analyzer.progress import make_progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--renew", action="store_true", help="measure this machine again, though it is known")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")


def run(arguments: argparse.Namespace) -> ExitCode:
    from analyzer.doctor import run_doctor  # it asks torch

    progress = make_progress(quiet=arguments.quiet)
    try:
        text = run_doctor(progress, renew=arguments.renew)
    finally:
        progress.close()
    print_text(text.rstrip("\n") + "\n")
    return ExitCode.OK


COMMAND: Final = Command(
    name="doctor", summary="check what this machine can measure and compile", add_arguments=add_arguments, run=run
)
