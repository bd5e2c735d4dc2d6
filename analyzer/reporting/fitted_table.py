"""A table as wide as the page, whose figures and words are whole: only the names in its first column are cut.

Imports rich: only the modules of the terminal report import this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from analyzer.reporting.plain_text import ELLIPSIS

Cell = str | Text

LEAST_NAME: Final = 12
"""Cells of a name: `model.py:1234` in its shortened form still shows the line. Below, the table is wider than asked."""


@dataclass(frozen=True, slots=True)
class Column:
    """`cells` is the least width, so that tables of one report stand under each other, where no name of the first
    column is cut for it: that takes what the others leave. A name longer than `most` cells is cut in its middle; None:
    whole.
    """

    title: str
    cells: int = 0
    is_number: bool = False
    most: int | None = None


def fitted_table(columns: Sequence[Column], lines: Sequence[Sequence[Cell]], width: int) -> Table:
    """A table of `width` cells: every column but the first is as wide as its longest cell."""
    lines = [[_within(cell, column.most) for cell, column in zip(line, columns, strict=True)] for line in lines]
    widths = [_width(column, [line[index] for line in lines]) for index, column in enumerate(columns)]
    tight = [_width(replace(column, cells=0), [line[index] for line in lines]) for index, column in enumerate(columns)]
    wanted = max(tight[0], LEAST_NAME)
    if _left(width, widths) < wanted:
        widths = tight
    name_cells = max(_left(width, widths), LEAST_NAME)
    table = bare_table(has_titles=True)
    for column, size in zip(columns, (name_cells, *widths[1:]), strict=True):
        table.add_column(column.title, width=size, justify="right" if column.is_number else "left", no_wrap=True)
    for name, *others in lines:
        table.add_row(_within(name, name_cells), *others)
    return table


def bare_table(*, has_titles: bool = False) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=has_titles, header_style="dim")


def shortened(label: str, cells: int) -> str:
    """The label in at most so many cells. It is cut in its middle: the line number stands at the end."""
    if cell_len(label) <= cells:
        return label
    tail_cells = cells * 3 // 5
    tail = label[-tail_cells:]
    while cell_len(tail) > tail_cells:
        tail = tail[1:]
    head = label[: cells - 1]
    while cell_len(head) + 1 + cell_len(tail) > cells:
        head = head[:-1]
    return f"{head}{ELLIPSIS}{tail}"


def _within(cell: Cell, most: int | None) -> Cell:
    return cell if most is None or isinstance(cell, Text) else shortened(cell, most)


def _left(width: int, widths: Sequence[int]) -> int:
    """Cells that the columns behind the first leave it, each with a blank before it."""
    return width - sum(size + 1 for size in widths[1:])


def _width(column: Column, cells: Sequence[Cell]) -> int:
    lengths = [cell.cell_len if isinstance(cell, Text) else cell_len(cell) for cell in cells]
    return max(column.cells, cell_len(column.title), *lengths)
