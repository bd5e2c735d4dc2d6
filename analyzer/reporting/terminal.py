"""The report for a terminal: one headline, what bounds the model, what the plan did, and the next command last.

Lays out and words; every figure is a field of the report. rich does the columns and is imported when a page is made.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.core.shell import ascii_command
from analyzer.reporting.plain_text import COMMAND_LIMIT, plain_command
from analyzer.reporting.renderer import PAGE_WIDTH, Page, Renderer
from analyzer.reporting.runs_text import runs_text

if TYPE_CHECKING:
    from rich.console import RenderableType

_ASCII: Final = str.maketrans(
    {"→": ">", "×": "x", "µ": "u", "–": "-", "…": "~", "·": "-", "“": '"', "”": '"', "’": "'", "±": "~"}
)
"""One character each, so that columns stay where they are."""


def render(report: Report, page: Page) -> str:
    """The whole report as text of at most `page.width` columns (80 at least), the last line the next command."""
    # rich takes 80 ms to import: `analyze --help` must not pay for it.
    from rich.console import Console

    out = io.StringIO()
    console = Console(
        file=out,
        width=max(page.width, PAGE_WIDTH),
        color_system="standard" if page.has_colour else None,
        force_terminal=page.has_colour,
        force_jupyter=False,
        no_color=not page.has_colour,
        legacy_windows=False,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for block in _blocks(report, console.width):
        console.print(block)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    text = "\n".join([*lines, "", ""])
    command = plain_command(report.next_command, COMMAND_LIMIT)
    # A command in which a character became `?` is another command.
    return f"{_in_ascii(text)}{ascii_command(command)}\n" if page.is_ascii else f"{text}{command}\n"


def render_runs(runs: ModelRuns, page: Page) -> str:
    """A line a model, as wide as it must be: a path that is cut is none."""
    text = runs_text(runs)
    return _in_ascii(text) if page.is_ascii else text


def _blocks(report: Report, width: int) -> Iterator[RenderableType]:
    # The sections import rich at their top, so that they may be written with it plainly.
    from analyzer.reporting.terminal_sections import SECTIONS

    for index, section in enumerate(SECTIONS):
        blocks = section(report, width)
        if blocks and index:
            yield ""
        yield from blocks


def _in_ascii(text: str) -> str:
    return "".join(c if c.isascii() else _ascii_cells(c) for c in text.translate(_ASCII))


def _ascii_cells(character: str) -> str:
    """As many cells of `?` as the character has, so that columns stay where they are."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return ""
    return "??" if unicodedata.east_asian_width(character) in "WF" else "?"


RENDERER: Final = Renderer(
    id="terminal", summary="tables and text of 80 columns", render=render, render_runs=render_runs
)
