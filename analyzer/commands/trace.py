"""`analyze PATH` of a recorded trace, a folder, archive or glob of ranks: the report, without the model and torch."""

from __future__ import annotations

import argparse
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.commands.argument_types import positive
from analyzer.commands.command import Command, add_formats
from analyzer.commands.output import DRAWN, print_report
from analyzer.core.errors import ExitCode, UsageError
from analyzer.run_listing import holds_runs, what_to_type

if TYPE_CHECKING:
    from analyzer.core.report import Report
    from analyzer.reporting.shown_step import ShownStep
    from analyzer.trace_analysis import Analyzed

_ENDINGS: Final = re.compile(
    r".*\.(?:json(?:\.gz|\.gzip|\.zst|\.zstd|\.bz2|\.xz)?|tar(?:\.gz|\.bz2|\.xz|\.zst)?|tgz|tzst|zip)",
    re.IGNORECASE | re.DOTALL,
)
_GLOB: Final = re.compile(r"[*?\[]")
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://.*", re.IGNORECASE | re.DOTALL)


_STDIN: Final = "-"

_PACKED: Final = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"BZh", b"\xfd7zXZ\0")
"""How a gzip, zstd, bzip2 and xz begin."""
_SIGNS: Final = (b'"traceEvents"', b'"ph"')
_HEAD_BYTES: Final = 64 << 10
"""What a trace says of its device comes before its rows, and takes some kilobytes."""


def is_trace(target: str) -> bool:
    """Whether a target means recorded traces: by its name, by being a folder that is no run folder and no model, or,
    called anything, by what is in it.
    """
    if target.endswith(".py"):
        return False
    if target == _STDIN or _URL.fullmatch(target) or _ENDINGS.fullmatch(target):
        return True
    if _GLOB.search(target):
        return True
    path = Path(target)
    try:
        if path.is_dir():
            return not (path / "report.json").is_file()
        if path.is_fifo():
            return True  # `<(zcat …)`: reading it says what to do instead
        return path.is_file() and _looks_like_one(path)
    except (OSError, ValueError):
        return False


def _looks_like_one(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return head.startswith(_PACKED) or (head.lstrip()[:1] in (b"{", b"[") and any(sign in head for sign in _SIGNS))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="PATH", help="a trace; a folder, archive, glob or URL of the traces of ranks")
    parser.add_argument("--out", metavar="DIR", help="also write report.json and report.html there")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    add_formats(parser)
    add_reading(parser)


def add_reading(parser: argparse._ActionsContainer) -> None:
    """The flags that only recorded traces take."""
    parser.add_argument("--workers", type=positive, default=1, metavar="N", help="processes that read ranks")
    parser.add_argument("--no-cache", dest="cache", action="store_false", help="keep nothing for the next look")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler whose workers read the ranks")


def run(arguments: argparse.Namespace) -> ExitCode:
    if arguments.target == _STDIN:
        raise UsageError("a trace is read from a file, not from standard input", hint="write it to a file first")
    folder = Path(arguments.target)
    if holds_runs(folder):
        raise UsageError(f"{arguments.target} is a folder of runs, and no trace", hint=what_to_type(folder))
    # numpy and msgspec: `analyze --help` does without.
    from analyzer.rank_analysis import TraceSettings, analyze_path
    from analyzer.trace_cache import reading_settings

    def heard(text: str) -> None:
        if not arguments.quiet and sys.stderr is not None:
            print(text, file=sys.stderr)

    # The workers of a cluster have homes of their own, which are not this command's to fill.
    keeps = arguments.cache and arguments.cluster is None
    settings = TraceSettings(arguments.workers, arguments.cluster, reading_settings(keeps=keeps))
    judged: list[Analyzed] = []
    # Kept for a picture alone: a long trace is gigabytes.
    is_drawn = arguments.out is not None or any(each.format == DRAWN for each in arguments.format or ())
    report = analyze_path(arguments.target, settings, heard, judged.append if is_drawn else lambda _: None)

    @cache
    def steps() -> tuple[ShownStep, ...]:
        from dashboard.report_timeline import steps_of_analyzed  # what draws, for those who asked for a picture

        return tuple(step for one in judged for step in steps_of_analyzed(one))

    if arguments.out is not None:
        _keep(report, Path(arguments.out), steps())
    print_report(report, arguments.format, steps=steps)
    return ExitCode.OK


def _keep(report: Report, folder: Path, steps: tuple[ShownStep, ...]) -> None:
    # What writes pages, for those who asked for one.
    from analyzer.reporting.json import REPORT_FILE, write_report
    from analyzer.run_folder import PAGE_FILE, write_page

    folder.mkdir(parents=True, exist_ok=True)
    write_report(report, folder / REPORT_FILE)
    write_page(report, folder / PAGE_FILE, steps)


COMMAND: Final = Command(
    name="trace", summary="what bounds a recorded trace, or the ranks of a folder", add_arguments=add_arguments, run=run
)
