"""What a sub-command is. Importing a command must stay light: what is slow is imported when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from analyzer.core.errors import ExitCode, UsageError
from analyzer.core.spelling import did_you_mean

FORMATS: Final = ("terminal", "json", "github", "markdown", "sarif", "gitlab", "junit", "html")
"""The formats of a report. Named here, because the list of renderers imports what `--help` must not."""

TWO_FORMATS: Final = FORMATS[:2]
"""Of what is no report."""


@dataclass(frozen=True, slots=True)
class Output:
    """One thing asked for by `--format`; `file` None is stdout."""

    format: str
    file: str | None = None


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
    """For what is printed as text or as JSON."""
    parser.add_argument(
        "--format", choices=TWO_FORMATS, default=TWO_FORMATS[0], help="how to print it (default: %(default)s)"
    )


def add_formats(parser: argparse.ArgumentParser) -> None:
    """For a report: `arguments.format` is a list of `Output`, None where nothing was asked for."""
    parser.add_argument(
        "--format",
        action="extend",
        type=outputs,
        metavar="FORMAT[:FILE],...",
        help=f"how to write the report, each to a file or to stdout: {', '.join(FORMATS)} (default: {FORMATS[0]})",
    )


def outputs(text: str) -> tuple[Output, ...]:
    """`github,markdown:comment.md` as what it asks for."""
    found = []
    for asked in text.split(","):
        name, colon, file = asked.partition(":")
        if name not in FORMATS:
            raise argparse.ArgumentTypeError(
                f"there is no format {name!r}: choose of {', '.join(FORMATS)}{_near(name)}"
            )
        if colon and not file:
            raise argparse.ArgumentTypeError(f"{asked!r} names no file after the colon")
        found.append(Output(name, file or None))
    return tuple(found)


def _near(name: str) -> str:
    meant = did_you_mean(name, FORMATS)
    return f" ({meant})" if meant else ""


def add_port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=port_number, metavar="N", help="port on 127.0.0.1 (default: a free one)")


def port_number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 1 and 65535")
    return int(text)
