"""The table of graphs and eager gaps: what bounds each, its budget, what was chosen, what came of it."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.budget import Budget
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import RegionRow, verdict_text
from dashboard.panels.graphs import card_link, no_regions
from dashboard.panels.graphs_regions import ShownRegion, shown_regions
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.panels.step_bar import bar, legend
from dashboard.run_folder import RunData

MAX_ROWS: Final = 12
"""Rows of a first page, the longest regions first; all are on the page Graphs."""

NO_REPORT: Final = "Without report.json there are no verdicts."
_TITLES: Final = ("graph", "bound by", "share", "budget", "plan")
_RECORDED_TITLES: Final = ("region", "bound by", "share", "budget", "in all")


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state(NO_REPORT)]
    regions = [region for region in shown_regions(run.report) if region.is_in_step]
    if not regions:
        return [empty_state(no_regions(run.report))]
    shown = longest(regions)
    is_recorded = run.report.is_recorded
    time = "a step" if all(one.row.after_ns is None for one in shown) else "before → after"
    titles = _RECORDED_TITLES if is_recorded else (*_TITLES, time)
    head = html.Tr([html.Th(title, scope="col") for title in titles])
    body = html.Tbody([_row(one, is_recorded=is_recorded) for one in shown])
    table = html.Table([html.Thead(head), body], className="gb-table gb-verdicts")
    link = html.A("the page Graphs has all of them", href=f"#page={Page.GRAPHS.value}")
    left = len(regions) - len(shown)
    more = [html.P([f"and {left} shorter ones: ", link])] if left > 0 else []
    return [html.Div(table, className="gb-wide"), *more, legend(one.row.budget for one in shown)]


def longest(regions: list[ShownRegion]) -> list[ShownRegion]:
    """As many as a first page takes, in the order in which they stand."""
    if len(regions) <= MAX_ROWS:
        return regions
    order = sorted(range(len(regions)), key=lambda at: -(regions[at].row.before_ns or 0))
    return [regions[at] for at in sorted(order[:MAX_ROWS])]


def _row(region: ShownRegion, *, is_recorded: bool) -> Component:
    row = region.row
    times = (row.before_ns,) if row.after_ns is None else (row.before_ns, row.after_ns)
    evidence = " ".join(plain(sentence) for sentence in row.verdict.evidence) or row.verdict.missing or ""
    cells = [
        html.Td(html.A(row.label, href=card_link(region.key))),
        html.Td(_verdicts(row), title=plain(evidence, 600)),
        html.Td(quantities.share(row.share)),
        html.Td(_bar(row.budget)),
        *([] if is_recorded else [html.Td(plain(region.chosen))]),
        html.Td(quantities.durations(times)),
    ]
    return html.Tr(cells)


def _verdicts(row: RegionRow) -> str:
    before = verdict_text(row.verdict)
    return before if row.verdict_after is None else f"{before} → {verdict_text(row.verdict_after)}"


def _bar(budget: Budget | None) -> Component:
    return quantities.UNKNOWN if budget is None or not budget.elapsed_ns else bar(budget)


PANEL: Final = Panel(
    id="verdicts", title="What bounds each graph", build=build, recorded_title="What bounds each region"
)
