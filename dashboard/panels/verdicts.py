"""The table of graphs and eager gaps: what bounds each, its budget, what was chosen, what came of it."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.reporting.budget_bar import part_title, parts_in
from analyzer.reporting.palette import part_colour
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import RegionRow, region_rows, verdict_text
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.run_folder import RunData

MAX_ROWS: Final = 300
"""Rows of a page that still scrolls smoothly; the rest are counted and in report.json."""

NO_REGIONS: Final = (
    "The report has no graph and no eager gap: the run ended before its clean pass. Run `analyze model.py` again."
)
NO_REPORT: Final = "Without report.json there are no verdicts."
_TITLES: Final = ("graph", "bound by", "share", "budget", "plan", "before → after")
_CELL: Final = {"padding": "3px 10px", "textAlign": "left", "verticalAlign": "top"}
_BAR_PX: Final = 220


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state(NO_REPORT)]
    rows = region_rows(run.report)
    if not rows:
        return [empty_state(NO_REGIONS)]
    head = html.Tr([html.Th(title, style=_CELL) for title in _TITLES])
    table = html.Table([html.Thead(head), html.Tbody([_row(row) for row in rows[:MAX_ROWS]])])
    more = [html.P(f"and {len(rows) - MAX_ROWS} more in report.json")] if len(rows) > MAX_ROWS else []
    return [html.Div(table, className="gb-wide"), *more, _legend(rows)]


def _row(row: RegionRow) -> Component:
    times = (row.before_ns,) if row.after_ns is None else (row.before_ns, row.after_ns)
    evidence = " ".join(plain(sentence) for sentence in row.verdict.evidence) or row.verdict.missing or ""
    cells = [
        html.Td(row.label, style=_CELL),
        html.Td(_verdicts(row), style=_CELL, title=plain(evidence, 600)),
        html.Td(quantities.share(row.share), style=_CELL),
        html.Td(_bar(row.budget), style=_CELL),
        html.Td(plain(row.chosen or "eager"), style=_CELL),
        html.Td(quantities.durations(times), style=_CELL),
    ]
    return html.Tr(cells)


def _verdicts(row: RegionRow) -> str:
    before = verdict_text(row.verdict)
    return before if row.verdict_after is None else f"{before} → {verdict_text(row.verdict_after)}"


def _bar(budget: Budget | None) -> Component:
    if budget is None:
        return quantities.UNKNOWN
    return html.Div(
        [
            html.Span(
                title=part_title(budget, part),
                style={"width": f"{budget.share(part) * _BAR_PX:.1f}px", "background": part_colour(part)},
            )
            for part in Part
            if budget.ns(part) > 0
        ],
        style={"display": "flex", "width": f"{_BAR_PX}px", "height": "14px"},
    )


def _legend(rows: tuple[RegionRow, ...]) -> Component:
    items: list[Component] = []
    for part in parts_in(row.budget for row in rows):
        items += [html.Span("■ ", style={"color": part_colour(part)}), f"{part.value}   "]
    return html.P(items, style={"whiteSpace": "pre-wrap"})


PANEL: Final = Panel(id="verdicts", title="What bounds each graph", build=build)
