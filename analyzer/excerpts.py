"""Keeps the source around each finding in the report, which is read on other machines and once the file has changed."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path
from typing import Final

from analyzer.core.finding import EXCERPT_AROUND, EXCERPT_WIDTH, Excerpt
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain_command

MOST_SOURCE_BYTES: Final = 4 * 2**20
"""Of a file whose lines are read; a source that is longer was not written by hand."""
_TAB: Final = 4


def with_excerpts(report: Report, folder: Path, began_s: int | None = None) -> Report:
    """The report with the source around its findings, of those files that can be read here. Relative paths start from
    `folder`. A file that was written after `began_s`, in seconds since 1970, is not what ran, and is left out.
    """
    read: dict[str, tuple[str, ...]] = {}

    def lines(file: str) -> tuple[str, ...]:
        if file not in read:
            read[file] = _lines(file, folder, began_s)
        return read[file]

    findings = tuple(
        replace(finding, excerpt=excerpt(lines(finding.where.file), finding.where))
        if finding.where is not None and finding.excerpt is None
        else finding
        for finding in report.findings
    )
    return replace(report, findings=findings)


def excerpt(lines: tuple[str, ...], where: SourceLine) -> Excerpt | None:
    """The lines around a place, without their common indentation and with what cannot be seen escaped. None where the
    file has no such line.
    """
    if not 0 < where.line <= len(lines):
        return None
    first, last = max(1, where.line - EXCERPT_AROUND), min(len(lines), where.line + EXCERPT_AROUND)
    # Cut before anything else: a line of data can be a megabyte long.
    own = [line[: 4 * EXCERPT_WIDTH].rstrip("\r").expandtabs(_TAB).rstrip() for line in lines[first - 1 : last]]
    margin = min((len(line) - len(line.lstrip()) for line in own if line), default=0)
    return Excerpt(first, tuple(plain_command(line[margin:], EXCERPT_WIDTH) for line in own))


def _lines(file: str, folder: Path, began_s: int | None) -> tuple[str, ...]:
    try:
        path = folder / file
        if not path.is_file():
            # A cell of a notebook has its lines in this process alone. Of what is not there, linecache would look for a
            # file of that name in all of sys.path.
            return tuple(line.rstrip("\n") for line in linecache.getlines(file)) if file in linecache.cache else ()
        seen = path.stat()
        if seen.st_size > MOST_SOURCE_BYTES or (began_s is not None and int(seen.st_mtime) > began_s):
            return ()
        # By `\n` alone: Python's line numbers do not count a form feed or U+2028.
        return tuple(path.read_text(encoding="utf-8", errors="replace").split("\n"))
    except (OSError, ValueError):  # a path with a NUL
        return ()
