"""`analyze demo`: prints the report of a run on an H200 that comes with the package. Needs neither torch nor a GPU."""

from __future__ import annotations

import argparse
from importlib import resources
from typing import Final

from analyzer.commands.command import Command, add_formats
from analyzer.commands.output import print_report
from analyzer.core.errors import ExitCode, InternalError

DEMO_REPORT: Final = "demo/report.json"
"""Within the package `analyzer`."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_formats(parser)


def run(arguments: argparse.Namespace) -> ExitCode:
    from analyzer.reporting.json import decode_report  # msgspec and numpy: `analyze --help` does without

    print_report(decode_report(_bundled(), DEMO_REPORT), arguments.format, is_announced=False)
    return ExitCode.OK


def _bundled() -> bytes:
    try:
        return resources.files("analyzer").joinpath(DEMO_REPORT).read_bytes()
    except OSError as error:
        raise InternalError(
            "the recorded run of the demo is missing from this installation",
            hint="Install again: pip install --force-reinstall --no-deps graphbound",
        ) from error


COMMAND: Final = Command(
    name="demo", summary="print the report of a recorded H200 run", add_arguments=add_arguments, run=run
)
