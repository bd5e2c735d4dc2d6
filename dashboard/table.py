"""One table for every page: sorts, filters, is reached by keyboard, gives its rows as CSV. Numbers sort as numbers and
are shown as the text of `core/quantities.py`; names are text, whatever they hold. Knows no report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import Any, Final, assert_never

from dash import html
from dash.dcc import Input

from analyzer.core import quantities
from analyzer.reporting.plain_text import WHOLE_NAME, plain
from dashboard.long_name import name_parts

try:
    import dash_ag_grid
except ImportError:  # optional in an installation without dependencies: a table of HTML stands in for it
    dash_ag_grid = None

Component = Any
Cell = str | int | float | None
"""None is unknown, and is shown as that word; in a column of text it is an empty cell."""

MOST_ROWS: Final = 5_000
"""Rows that go to the browser, about 1 MB; the rest are counted."""
MOST_PLAIN_ROWS: Final = 300
"""Rows of a table of HTML, all of which the browser draws."""
AUTO_HEIGHT_ROWS: Final = 10
"""Up to here a table is as high as its rows, and scrolls beyond."""
SCROLLED_PX: Final = 380
SCROLLBAR_PX: Final = 10
"""As `assets/gb_table.css` draws it."""
CELL_LIMIT: Final = 400
"""Characters of a cell: kernel names pass 2,000."""
_FEW_ROWS: Final = 8
"""Up to here there is nothing to search for."""


class Kind(Enum):
    """What a column holds, which says how it is shown, sorted and filtered. Sizes are in base units: ns, bytes, 1."""

    TEXT = "text"
    NUMBER = "number"
    DURATION = "duration"
    BYTES = "bytes"
    SHARE = "share"
    RATIO = "ratio"
    DECIMAL = "decimal"
    """A measure that is no count, to three digits."""


@dataclass(frozen=True, slots=True)
class Column:
    """`width_px` is the least, None for that of its kind; what is left is given to columns by their widths. `tip` is
    said when one points at the title. `is_wrapped`: sentences, which make their row higher, where a name would be cut.
    """

    title: str
    kind: Kind = Kind.TEXT
    width_px: int | None = None
    tip: str | None = None
    is_wrapped: bool = False


def table(
    table_id: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    file_name: str,
    row_keys: Sequence[str] | None = None,
) -> Component:
    """The rows, in their own order until one sorts them. `file_name` is that of the CSV, without its ending.

    With `row_keys`, one a row and no two equal, rows can be chosen by click and by Enter: the page then hears a
    `gb-row` event with `table` and `key` (`assets/gb_table.js`). Raises ValueError where a row or the keys do not fit.
    """
    _require_cells(table_id, columns, rows)
    if row_keys is not None and (len(row_keys) != len(rows) or len(set(row_keys)) != len(rows)):
        raise ValueError(f"{table_id} needs a key of its own for each row")
    keys = tuple(row_keys) if row_keys is not None else tuple(str(number) for number in range(len(rows)))
    shown = _Table(table_id, tuple(columns), tuple(tuple(row) for row in rows), keys, row_keys is not None)
    if dash_ag_grid is None:
        return html.Div([_html_table(shown, ()), _bar(shown, file_name, is_grid=False)], className="gb-table-box")
    return html.Div([_bar(shown, file_name, is_grid=True), _grid(shown)], className="gb-table-box")


def static_table(
    table_id: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    *,
    file_name: str,
    marks: Sequence[Component] = (),
) -> Component:
    """A few rows whose order says something: not sorted, and drawn at once. `marks` stand before the text of the first
    cells, no more of them than rows.
    """
    _require_cells(table_id, columns, rows)
    keys = tuple(str(number) for number in range(len(rows)))
    shown = _Table(table_id, tuple(columns), tuple(tuple(row) for row in rows), keys, False)
    return html.Div([_html_table(shown, marks), _bar(shown, file_name, is_grid=False)], className="gb-table-box")


def attributes(given: Mapping[str, str | int]) -> dict[str, Any]:
    """Attributes whose names are none of Python, as `data-…` and `aria-…`, for a component of Dash."""
    return dict(given)


def known_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> tuple[list[Column], list[tuple[Cell, ...]]]:
    """Without the columns of which nothing is known in any row, as memory on a CPU."""
    kept = [at for at, _ in enumerate(columns) if any(row[at] not in (None, "") for row in rows)]
    return [columns[at] for at in kept], [tuple(row[at] for at in kept) for row in rows]


def shown_text(cell: Cell, kind: Kind) -> str:
    """A cell as it is read; raises TypeError for text in a column of numbers."""
    if kind is Kind.TEXT:
        return "" if cell is None else plain(str(cell), CELL_LIMIT)
    if isinstance(cell, str):
        raise TypeError(f"{cell[:40]!r} stands in a column of numbers")
    match kind:
        case Kind.NUMBER:
            return quantities.count(cell)
        case Kind.DURATION:
            return quantities.duration(cell)
        case Kind.BYTES:
            return quantities.byte_count(cell)
        case Kind.SHARE:
            return quantities.share(cell)
        case Kind.RATIO:
            return quantities.ratio(cell)
        case Kind.DECIMAL:
            return quantities.decimal(cell)
        case _:
            assert_never(kind)


def _require_cells(table_id: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    if any(len(row) != len(columns) for row in rows):
        raise ValueError(f"every row of {table_id} needs {len(columns)} cells")


@dataclass(frozen=True, slots=True)
class _Table:
    id: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    keys: tuple[str, ...]
    is_chosen_from: bool


def _bar(shown: _Table, file_name: str, *, is_grid: bool) -> Component:
    """The buttons find their table by `data-gb-table`: no callback goes to the server."""
    count, most = len(shown.rows), MOST_ROWS if is_grid else MOST_PLAIN_ROWS
    more = f", the first {most:,} are here" if count > most else ""
    search = Input(
        type="search",
        placeholder="filter",
        id=f"{shown.id}-filter",
        className="gb-table-filter",
        debounce=False,
        persistence=False,
    )
    button = html.Button(
        "CSV",
        type="button",
        title="download these rows",
        className="gb-table-csv",
        **attributes({"data-gb-table": shown.id, "data-gb-file": file_name}),
    )
    said = html.Span(f"{count:,} row{'' if count == 1 else 's'}{more}", className="gb-quiet")
    told = attributes({"aria-label": f"filter {file_name}", "data-gb-table": shown.id})
    finder = [html.Label(search, **told)] if is_grid and count > _FEW_ROWS else []
    return html.Div([*finder, button, said] if is_grid else [button], className="gb-bar")


def _grid(shown: _Table) -> Component:
    is_low = len(shown.rows) <= AUTO_HEIGHT_ROWS
    options: dict[str, Any] = {
        "domLayout": "autoHeight" if is_low else "normal",
        "theme": {"function": "gbTheme(themeQuartz)"},
        "rowHeight": 30,
        "headerHeight": 34,
        "enableCellTextSelection": True,
        "ensureDomOrder": True,
        "suppressColumnVirtualisation": True,
        "tooltipShowDelay": 400,
        "animateRows": False,
        "suppressDragLeaveHidesColumns": True,
        # One stop of the Tab key for the whole table, as everywhere else; the arrow keys move in it.
        "tabToNextCell": {"function": "gbLeave(params)"},
        "tabToNextHeader": {"function": "gbLeave(params)"},
        # Where the system's bars lie over the page and hide, nothing else would tell of the columns beyond the edge.
        "scrollbarWidth": SCROLLBAR_PX,
    }
    if shown.is_chosen_from:
        options["rowSelection"] = {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True}
    grid = dash_ag_grid.AgGrid(
        id=shown.id,
        columnDefs=[_column(number, column) for number, column in enumerate(shown.columns)],
        rowData=[_row(shown, number) for number in range(min(len(shown.rows), MOST_ROWS))],
        getRowId="params.data.key",
        defaultColDef={"sortable": True, "resizable": True, "suppressMovable": True, "wrapHeaderText": True},
        dashGridOptions=options,
        className="gb-grid gb-grid-chosen" if shown.is_chosen_from else "gb-grid",
        style={"height": None if is_low else f"{SCROLLED_PX}px", "width": "100%"},
    )
    return grid


def _column(number: int, column: Column) -> dict[str, Any]:
    field = f"c{number}"
    width = column.width_px or (150 if column.kind is Kind.TEXT else 96)
    given: dict[str, Any] = {
        "field": field,
        "headerName": column.title,
        "minWidth": width,
        "flex": width,
        "context": {"unit": _csv_unit(column.kind)},
    }
    if column.tip is not None:
        given["headerTooltip"] = column.tip
    if column.is_wrapped:
        given |= {"wrapText": True, "autoHeight": True, "cellClass": "gb-wrapped"}
    if column.kind is Kind.TEXT:
        # Without it ag-grid guesses: a column that begins with a date would show dates alone.
        return given | {"filter": "agTextColumnFilter", "tooltipField": field, "cellDataType": "text"}
    return given | {
        "type": "rightAligned",
        "filter": "agNumberColumnFilter",
        "filterParams": _number_filter(column.kind),
        "valueFormatter": {"function": "gbText(params)"},
        # The quick filter looks for what is read, not for the number behind it.
        "getQuickFilterText": {"function": "gbText(params)"},
        "comparator": {"function": "gbCompare"},
        "cellClassRules": {"gb-unknown": "params.value == null"},
    }


def _number_filter(kind: Kind) -> dict[str, Any]:
    """Times are typed with their unit: `2 ms`, `300 us`; a bare number is milliseconds."""
    if kind is not Kind.DURATION:
        return {}
    return {"allowedCharPattern": "\\d\\.\\smnuµs", "numberParser": {"function": "gbNanoseconds(params)"}}


def _csv_unit(kind: Kind) -> str:
    match kind:
        case Kind.DURATION:
            return "ns"
        case Kind.BYTES:
            return "bytes"
        case Kind.TEXT | Kind.NUMBER | Kind.SHARE | Kind.RATIO | Kind.DECIMAL:
            return ""
        case _:
            assert_never(kind)


def _row(shown: _Table, number: int) -> dict[str, Any]:
    """`c…` is what is sorted, `t…` what is read where that is another thing."""
    row: dict[str, Any] = {"key": shown.keys[number]}
    for at, (cell, column) in enumerate(zip(shown.rows[number], shown.columns, strict=True)):
        text = shown_text(cell, column.kind)
        if column.kind is Kind.TEXT:
            row[f"c{at}"] = text
        else:
            row[f"c{at}"] = _json_number(cell)
            row[f"t{at}"] = text
    return row


def _json_number(cell: Cell) -> int | float | None:
    """JSON has no infinity."""
    return cell if isinstance(cell, int | float) and math.isfinite(cell) else None


def _html_table(shown: _Table, marks: Sequence[Component]) -> Component:
    """`data-value` is what its CSV holds of a cell."""
    head = html.Tr([html.Th(c.title, scope="col", title=c.tip or "", **_head_data(c)) for c in shown.columns])
    kept = zip_longest(shown.rows[:MOST_PLAIN_ROWS], shown.keys[:MOST_PLAIN_ROWS], marks)
    body = [_html_row(shown, row, key, mark) for row, key, mark in kept]
    left = len(shown.rows) - MOST_PLAIN_ROWS
    more = [html.P(f"and {left:,} more", className="gb-quiet")] if left > 0 else []
    drawn = html.Table([html.Thead(head), html.Tbody(body)], className="gb-table")
    return html.Div([drawn, *more], id=shown.id, className="gb-wide gb-grid")


def _html_row(shown: _Table, row: tuple[Cell, ...], key: str, mark: Component) -> Component:
    cells = [_html_cell(cell, column) for cell, column in zip(row, shown.columns, strict=True)]
    if mark is not None:
        # Its CSV leaves the mark out.
        cells[0] = html.Td([mark, *_parts(row[0], shown.columns[0])], **_value(row[0], shown.columns[0]))
    chosen = attributes({"data-row-id": key, "tabIndex": 0}) if shown.is_chosen_from else {}
    return html.Tr(cells, **chosen)


def _html_cell(cell: Cell, column: Column) -> Component:
    side = None if column.kind is Kind.TEXT else "gb-number"
    return html.Td(_parts(cell, column), className=side, **_value(cell, column))


def _parts(cell: Cell, column: Column) -> list[Component]:
    if column.kind is Kind.TEXT and not column.is_wrapped and cell is not None:
        return name_parts(str(cell))
    return [shown_text(cell, column.kind)]


def _value(cell: Cell, column: Column) -> dict[str, Any]:
    """What its CSV holds: a text without its fold, a number without its unit."""
    if column.kind is Kind.TEXT:
        return attributes({"data-value": "" if cell is None else plain(str(cell), WHOLE_NAME)})
    known = _json_number(cell)
    return attributes({"data-value": "" if known is None else str(known)})


def _head_data(column: Column) -> dict[str, Any]:
    is_number = column.kind is not Kind.TEXT
    return {"data-unit": _csv_unit(column.kind), "className": "gb-number" if is_number else ""}
