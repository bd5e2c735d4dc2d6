"""The `analyze` command: picks the sub-command, and turns whatever goes wrong into a message and an exit code."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Final

from analyzer.commands import analyze
from analyzer.commands.command import Command, CommandParser
from analyzer.commands.command_list import COMMANDS
from analyzer.core.errors import ExitCode, GraphboundError
from analyzer.interrupts import exit_code_of, what_ended
from analyzer.reporting.plain_text import plain_lines

PROGRAM: Final = "analyze"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
DEBUG_VARIABLE: Final = "GRAPHBOUND_DEBUG"
"""Set to 1, it shows the traceback of every error."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line, of this process by default, and return its exit code. Raises nothing."""
    try:
        return int(_dispatch(list(sys.argv[1:] if argv is None else argv)))
    except GraphboundError as error:
        return report_error(error)
    except BrokenPipeError:
        return _leave_closed_pipe()
    except OSError as error:
        return _report_full_disk(error) if error.errno in _FULL else _report_fault(error)
    except KeyboardInterrupt as ended:
        _say(what_ended(ended))
        return exit_code_of(ended)
    except Exception as error:
        return _report_fault(error)


def _dispatch(words: list[str]) -> ExitCode | int:
    # A word without a separator or `.py` is a command, whatever lies in this folder: `analyze ./demo` is a path.
    command = next((c for c in COMMANDS if words and words[0] == c.name), None)
    if command is not None:
        return _run(command, _parser(command), words[1:])
    return _run(analyze.COMMAND, _main_parser(), words)


def _run(command: Command, parser: CommandParser, words: list[str]) -> ExitCode | int:
    try:
        arguments = parser.parse_args(words, argparse.Namespace(words=tuple(words)))
    except SystemExit as done:
        # argparse ends the process after --help and --version.
        return int(done.code or 0)
    return command.run(arguments)


def _parser(command: Command) -> CommandParser:
    parser = CommandParser(prog=f"{PROGRAM} {command.name}", description=_sentence(command.summary), allow_abbrev=False)
    command.add_arguments(parser)
    return parser


def _main_parser() -> CommandParser:
    others = "\n".join(f"  {PROGRAM} {c.name:<12} {c.summary}" for c in COMMANDS)
    parser = CommandParser(
        prog=PROGRAM,
        description=_sentence(analyze.COMMAND.summary),
        epilog=f"other commands:\n{others}\n\nexit codes: 0 fine, 1 the gate failed, 2 usage, "
        "3 your program failed, 4 our own fault",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_PrintVersion, help="show the version and exit")
    analyze.COMMAND.add_arguments(parser)
    return parser


class _PrintVersion(argparse.Action):
    """argparse's own wants the version when the parser is built; reading it takes longer than `--help` may."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from analyzer.version import VERSION

        print(f"graphbound {VERSION}")
        parser.exit()


def report_error(error: GraphboundError) -> int:
    """Say it on stderr, and beside the change where a runner of GitHub reads it; the exit code that it ends with."""
    _say(f"error: {error.message}")
    if error.hint is not None:
        _say(f"hint: {error.hint}")
    if _is_on_runner():
        from analyzer.reporting.github import error_command  # numpy: a mistyped command does without elsewhere

        _write(error_command(error.message, error.hint))
    if _is_debugging():
        traceback.print_exception(error)
    return int(error.exit_code)


def _report_fault(error: Exception) -> int:
    """An exception that nobody foresaw is our fault, until it is shown not to be."""
    _say(f"error: Graphbound itself failed: {type(error).__name__}: {error}")
    if _is_debugging():
        traceback.print_exception(error)
    else:
        _say(f"hint: {_where_to_report(error)}")
    return int(ExitCode.INTERNAL)


def _where_to_report(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="graphbound-error-", suffix=".txt", delete=False, encoding="utf-8", errors="replace"
        ) as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return f"please report it, with what {DEBUG_VARIABLE}=1 shows"
    return f"please report it, with the file {file.name}; {DEBUG_VARIABLE}=1 shows what is in it"


def _leave_closed_pipe() -> int:
    # The reader (`| head`) has what it wanted.
    _drop_stdout()
    return int(ExitCode.OK)


def _report_full_disk(error: OSError) -> int:
    where = error.filename or "the output"
    _say(f"error: cannot write {where}: {error.strerror}")
    _drop_stdout()
    return int(ExitCode.USAGE)


def _drop_stdout() -> None:
    """What is still buffered cannot be written: Python would complain once more when it flushes at exit."""
    with contextlib.suppress(OSError, AttributeError):  # no stdout, or one that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(text: str) -> None:
    shown = plain_lines(text)
    if _is_on_runner():
        from analyzer.reporting.github import log_lines  # as above

        shown = log_lines(shown)  # a name in it may have a line that begins like one of the runner's commands
    _write(shown)


def _is_on_runner() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def _write(line: str) -> None:
    if sys.stderr is None:  # closed by whoever started us
        return
    encoding = sys.stderr.encoding or "utf-8"
    print(line.encode(encoding, errors="replace").decode(encoding), file=sys.stderr)


def _is_debugging() -> bool:
    return os.environ.get(DEBUG_VARIABLE) == "1"


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


if __name__ == "__main__":
    sys.exit(main())
