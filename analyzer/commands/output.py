"""Puts a rendered report on stdout: finds out what the other end can show, and says nothing else there."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from analyzer.core.report import Report
    from analyzer.reporting.renderer import Page

MAX_WIDTH: Final = 120
"""Columns: longer lines of text are hard to follow."""

NEEDED_CHARACTERS: Final = "→×µ–…·"


def print_report(report: Report, format_id: str) -> None:
    """Render and print. Raises BrokenPipeError where the reader has gone."""
    if sys.stdout is None:  # closed by whoever started us (`>&-`, a service): nobody reads
        return
    # The formats import msgspec and numpy, which `analyze --help` does without.
    from analyzer.reporting.renderers import renderer

    text = renderer(format_id).render(report, page_of(sys.stdout))
    if format_id == "json" and hasattr(sys.stdout, "buffer"):
        # JSON is UTF-8 whatever the terminal's encoding is.
        sys.stdout.buffer.write(text.encode())
    else:
        print_text(text)
    sys.stdout.flush()


def print_text(text: str) -> None:
    """Print text that ends in its newline; a character that the stream cannot take becomes `?`."""
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, errors="replace").decode(encoding))
    sys.stdout.flush()


def page_of(stream: TextIO) -> Page:
    from analyzer.reporting.renderer import PAGE_WIDTH, Page

    if not stream.isatty():
        return Page(is_ascii=_is_ascii(stream))
    width = min(shutil.get_terminal_size((PAGE_WIDTH, 24)).columns, MAX_WIDTH)
    # https://no-color.org: any value that is not empty.
    has_colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Page(width=max(width, PAGE_WIDTH), has_colour=has_colour, is_ascii=_is_ascii(stream))


def _is_ascii(stream: TextIO) -> bool:
    try:
        NEEDED_CHARACTERS.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return True
    return False
