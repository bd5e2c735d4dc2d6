"""The shared table: what is sorted, what is read, and what a name may hold."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from plotly.utils import PlotlyJSONEncoder

from analyzer.reporting.plain_text import WHOLE_NAME
from dashboard import table as table_module
from dashboard.long_name import FOLDED, short_name
from dashboard.table import (
    AUTO_HEIGHT_ROWS,
    CELL_LIMIT,
    MOST_PLAIN_ROWS,
    MOST_ROWS,
    Column,
    Kind,
    known_columns,
    shown_text,
    static_table,
    table,
)

HOSTILE = "<img src=x onerror=alert(1)>"
COLUMNS = (Column("name"), Column("time", Kind.DURATION), Column("calls", Kind.NUMBER))


def _grid(made: Any) -> Any:
    return made.children[1]


def _text(made: Any) -> str:
    return json.dumps(made, cls=PlotlyJSONEncoder, ensure_ascii=False)


@pytest.fixture
def without_ag_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "dash_ag_grid", None)


def test_a_number_is_sorted_by_itself_and_read_as_text_with_its_unit() -> None:
    grid = _grid(table("t", COLUMNS, [("a", 31_800_000, 12), ("b", 900, None)], file_name="f"))
    assert grid.rowData == [
        {"key": "0", "c0": "a", "c1": 31_800_000, "t1": "31.8 ms", "c2": 12, "t2": "12"},
        {"key": "1", "c0": "b", "c1": 900, "t1": "900 ns", "c2": None, "t2": "unknown"},
    ]
    assert [column["filter"] for column in grid.columnDefs] == [
        "agTextColumnFilter",
        "agNumberColumnFilter",
        "agNumberColumnFilter",
    ]
    assert [column["headerName"] for column in grid.columnDefs] == ["name", "time", "calls"]


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (None, Kind.TEXT, ""),
        (None, Kind.NUMBER, "unknown"),
        (0, Kind.DURATION, "0 ns"),
        (1_610_612_736, Kind.BYTES, "1.50 GiB"),
        (0.004, Kind.SHARE, "<1 %"),
        (2.77, Kind.RATIO, "2.8×"),
        ("a\x1b[31m\nb", Kind.TEXT, "a\\x1b[31m b"),
    ],
)
def test_every_kind_is_shown_as_the_quantities_make_it(cell: str | int | float | None, kind: Kind, text: str) -> None:
    assert shown_text(cell, kind) == text


def test_what_json_cannot_hold_is_an_empty_value_with_its_text() -> None:
    grid = _grid(table("t", [Column("speed", Kind.RATIO)], [(math.inf,), (math.nan,)], file_name="f"))
    assert [row["c0"] for row in grid.rowData] == [None, None]
    assert [row["t0"] for row in grid.rowData] == ["inf×", "nan×"]
    json.loads(_text(grid.rowData), parse_constant=pytest.fail)


def test_a_megabyte_of_a_name_is_cut_with_a_mark() -> None:
    grid = _grid(table("t", [Column("name")], [("x" * 1_000_000,)], file_name="f"))
    (row,) = grid.rowData
    assert len(row["c0"]) == CELL_LIMIT
    assert row["c0"].endswith("…")


def test_no_cell_is_html_and_no_code_is_run() -> None:
    grid = _grid(table("t", [Column(HOSTILE)], [(HOSTILE,)], file_name="f"))
    assert grid.rowData[0]["c0"] == HOSTILE
    assert not getattr(grid, "dangerously_allow_code", False)
    assert "cellRenderer" not in _text(grid)
    assert "markdown" not in _text(grid.columnDefs)


def test_few_rows_are_as_high_as_they_are_and_many_scroll() -> None:
    few, many = ([(str(n),) for n in range(count)] for count in (AUTO_HEIGHT_ROWS, AUTO_HEIGHT_ROWS + 1))
    assert _grid(table("t", [Column("n")], few, file_name="f")).dashGridOptions["domLayout"] == "autoHeight"
    tall = _grid(table("t", [Column("n")], many, file_name="f"))
    assert tall.dashGridOptions["domLayout"] == "normal"
    assert tall.style["height"]


def test_beyond_the_most_rows_the_rest_is_counted() -> None:
    made = table("t", [Column("n", Kind.NUMBER)], [(n,) for n in range(MOST_ROWS + 7)], file_name="f")
    assert len(_grid(made).rowData) == MOST_ROWS
    assert f"{MOST_ROWS + 7:,} rows, the first {MOST_ROWS:,} are here" in _text(made)


def test_rows_with_keys_can_be_chosen_and_others_cannot() -> None:
    rows = [("a", 1, 1), ("b", 2, 2)]
    chosen = _grid(table("t", COLUMNS, rows, file_name="f", row_keys=["x.forward", "y.forward"]))
    assert [row["key"] for row in chosen.rowData] == ["x.forward", "y.forward"]
    assert chosen.dashGridOptions["rowSelection"]["mode"] == "singleRow"
    assert "rowSelection" not in _grid(table("t", COLUMNS, rows, file_name="f")).dashGridOptions


@pytest.mark.parametrize("keys", [["x"], ["x", "x"], []])
def test_keys_that_do_not_name_the_rows_are_refused(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="a key of its own"):
        table("t", COLUMNS, [("a", 1, 1), ("b", 2, 2)], file_name="f", row_keys=keys)


def test_a_row_of_another_width_and_text_for_a_number_are_refused() -> None:
    with pytest.raises(ValueError, match="needs 3 cells"):
        table("t", COLUMNS, [("a", 1)], file_name="f")
    with pytest.raises(TypeError, match="column of numbers"):
        table("t", COLUMNS, [("a", "1", 1)], file_name="f")


@pytest.mark.usefixtures("without_ag_grid")
def test_without_ag_grid_a_table_of_html_stands_in() -> None:
    made = table("t", COLUMNS, [(HOSTILE, 31_800_000, None)], file_name="f", row_keys=["k"])
    text = _text(made)
    assert made.children[0].id == "t"
    assert "31.8 ms" in text
    assert "unknown" in text
    assert '"data-row-id": "k"' in text
    assert "AgGrid" not in text


@pytest.mark.usefixtures("without_ag_grid")
def test_a_long_table_of_html_is_cut_and_counted() -> None:
    made = table("t", [Column("n")], [(str(n),) for n in range(MOST_PLAIN_ROWS + 9)], file_name="f")
    assert "and 9 more" in _text(made)


def test_a_column_of_which_nothing_is_known_is_left_out() -> None:
    columns, rows = known_columns(COLUMNS, [("a", None, 0), ("b", None, None)])
    assert [column.title for column in columns] == ["name", "calls"]
    assert rows == [("a", 0), ("b", None)]


def test_a_static_table_keeps_its_order_its_marks_and_the_numbers_of_its_csv() -> None:
    made = static_table("t", COLUMNS, [("z", 31_800_000, 2), ("a", 900, None)], file_name="f", marks=["M"])
    (first, second) = made.children[0].children[0].children[1].children
    assert first.children[0].children == ["M", "z"]
    assert second.children[0].children == ["a"]
    assert [_value(cell) for cell in first.children] == ["z", "31800000", "2"]
    assert [_value(cell) for cell in second.children] == ["a", "900", ""]


def _value(cell: Any) -> Any:
    return cell.to_plotly_json()["props"].get("data-value")


def test_long_text_is_wrapped_where_a_column_asks_for_it() -> None:
    grid = _grid(table("t", [Column("why", is_wrapped=True), Column("name")], [("x " * 80, "y")], file_name="f"))
    assert [column.get("autoHeight") for column in grid.columnDefs] == [True, None]


def test_the_whole_table_is_one_stop_of_the_tab_key_and_its_bar_takes_room() -> None:
    options = table("t", (Column("a"),), [("x",)], file_name="t").children[1].dashGridOptions
    assert options["tabToNextCell"] == options["tabToNextHeader"] == {"function": "gbLeave(params)"}
    assert options["scrollbarWidth"] > 0


def test_a_long_name_is_folded_with_all_of_it_in_the_fold_in_its_title_and_in_the_csv() -> None:
    name = f"void at::native::elementwise_kernel<{'at::native::Functor<float>, ' * 60}{HOSTILE}>"
    made = static_table("t", [Column("name")], [(name,), ("b" * FOLDED,)], file_name="f", marks=["M"])
    (first, second) = made.children[0].children[0].children[1].children
    mark, fold = first.children[0].children
    summary, whole = fold.children
    assert mark == "M"
    assert summary.children.startswith("elementwise_kernel<Functor<float>")
    assert len(summary.children) <= FOLDED
    assert summary.title == whole.children == getattr(first.children[0], "data-value") == name
    assert second.children[0].children == ["b" * FOLDED]


def test_a_megabyte_of_a_name_is_cut_in_its_fold_too_and_a_sentence_is_not_folded() -> None:
    columns = [Column("name"), Column("why", is_wrapped=True)]
    made = static_table("t", columns, [("x" * 1_000_000, "w " * FOLDED)], file_name="f")
    (row,) = made.children[0].children[0].children[1].children
    assert len(row.children[0].children[0].children[1].children) == WHOLE_NAME
    assert row.children[1].children == [" ".join("w" * FOLDED)]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("gemm", "gemm"),
        ("void at::native::f(int)", "void at::native::f(int)"),
        (f"void at::native::(anonymous namespace)::f<{'x' * 60}>", f"f<{'x' * 60}>…"),
        ("y" * 200, "y" * (FOLDED - 1) + "…"),
    ],
)
def test_a_short_name_leaves_out_what_most_names_begin_with_and_says_that_it_is_short(name: str, short: str) -> None:
    assert short_name(name) == short
