"""What a sub-command is. Importing a command must stay light: what is slow is imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from analyzer.core.errors import ExitCode, UsageError

FORMATS: Final = ("terminal", "json")
"""The formats a command prints. Named here, because the list of renderers imports what `--help` must not."""


@dataclass(frozen=True, slots=True)
class Command:
    """`run` returns the exit code, and raises GraphboundError for whatever a user can mend."""

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], ExitCode | int]


class CommandParser(argparse.ArgumentParser):
    """An argument parser whose errors are shown like every other error of the command."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint=f"`{self.prog} --help` lists what it takes")


def add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=FORMATS, default=FORMATS[0], help="how to print the report (default: %(default)s)"
    )


def add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port_number, metavar="N", help="port on 127.0.0.1 (default: a free one)")


def port_number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 1 and 65535")
    return int(text)
