"""The chain of work that made a recording as long as it was: what it leads through, and what is most on it."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core.critical_path import CriticalPath
from analyzer.reporting.path_text import path_lines
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, static_table

MOST_ROWS: Final = 8
"""Rows that a first page takes; the rest are in report.json."""
NO_PATH: Final = "There is no critical path in report.json: `analyze trace.json.gz` finds that of a recorded trace."
_WHY: Final = "Only what is on it can make the recording shorter: `analyze explain critical_path`."
_COLUMNS: Final = (
    Column("most on it", width_px=240),
    Column("kind", width_px=120),
    Column("time on it", Kind.DURATION, 96),
    Column("share", Kind.SHARE, tip="of the path"),
    Column("times", Kind.NUMBER),
)


def build(run: RunData) -> list[Component]:
    path = run.report.critical_path if run.report is not None else None
    lines = path_lines(path)
    if path is None or not lines:
        return [empty_state(NO_PATH)]
    if path.missing is not None:
        return [empty_state(f"It is {lines[0]}")]
    shown = static_table("critical-path", _COLUMNS, row_cells(path), file_name="critical-path")
    return [html.P(prose(lines[0])), html.P(prose(_WHY), className="gb-quiet"), *([shown] if path.rows else [])]


def row_cells(path: CriticalPath) -> list[tuple[Cell, ...]]:
    """In the order of the columns; those with the most time on the path."""
    whole = path.elapsed_ns
    return [(row.name, row.kind.value, row.ns, row.ns / whole, row.count) for row in path.rows[:MOST_ROWS]]


def _applies(run: RunData) -> bool:
    return run.report is not None and bool(path_lines(run.report.critical_path))


PANEL: Final = Panel(id="critical_path", title="Critical path", build=build, applies=_applies)
