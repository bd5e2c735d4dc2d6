"""The table of graphs and eager gaps, and a place for the card of the one that is chosen in it."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from dash import dcc, html

from analyzer.core.report import Report
from analyzer.core.trial import Change
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import counted_in
from analyzer.reporting.rows import RegionRow, bound_word
from dashboard.panels.graphs_code import code_place
from dashboard.panels.graphs_regions import ShownRegion, shown_regions
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, table

TABLE_ID: Final = "graphs-table"
CARD_ID: Final = "graphs-card"
ASKED_ID: Final = "graphs-asked"
"""The store in which `assets/gb_graphs.js` puts the key that the address names."""
SAID_ID: Final = "graphs-said"
"""What a screen reader says when another card is shown."""

NO_REPORT: Final = "Without report.json there is no graph to show. Run `analyze model.py`."
NO_REGIONS: Final = (
    "The report has no graph and no eager gap: the run ended before its clean pass. Run `analyze model.py` again."
)
_HEADLINE_LIMIT: Final = 400
_HELP: Final = "Choose a row by click, or by the arrow keys and Enter: its card is below, and in the address."


def build(run: RunData) -> list[Component]:
    return [*_table(run.report), *_place(is_planned=run.report is None or not run.report.is_recorded)]


def card_link(key: str) -> str:
    """The address of a graph's card, within the page."""
    return f"#page={Page.GRAPHS.value}&graph={quote(key, safe='')}"


def no_regions(report: Report) -> str:
    """Why there is no row, and what to do; of a recording its headline says both."""
    if not report.is_recorded:
        return NO_REGIONS
    return f"This recording has no region that could be told apart. {plain(report.headline, _HEADLINE_LIMIT)}"


def columns_of(report: Report) -> list[Column]:
    has_after = any(graph.after_ns is not None for graph in report.graphs)
    before = "in all" if report.is_recorded else "before" if has_after else "a step"
    columns = [
        Column("region" if report.is_recorded else "graph", width_px=190),
        Column("kind", width_px=124),
        Column("bound by", width_px=92),
        Column("sure", Kind.SHARE, 80, tip="the confidence of the verdict"),
        Column("share", Kind.SHARE, 80, tip="of the recording" if report.is_recorded else "of the step before"),
        Column(before, Kind.DURATION, tip=None if report.is_recorded else "a step, all its calls together"),
    ]
    if has_after:
        columns += [
            Column("after", Kind.DURATION),
            Column("speed", Kind.RATIO, 80, tip="said only where the whole step changed beyond noise"),
            Column("bound after", width_px=92),
        ]
    columns += [] if report.is_recorded else [Column("plan", width_px=112)]
    # Beside the time of all that was recorded, a count that is of a step says so.
    kernels = "kernels a step" if report.is_recorded and report.step_ns is not None else "kernels"
    return [*columns, Column(kernels, Kind.NUMBER, 86, tip=counted_in(report))]


def region_cells(report: Report, region: ShownRegion) -> tuple[Cell, ...]:
    """In the order of `columns_of`."""
    row, source = region.row, region.graph or region.gap
    cells: list[Cell] = [
        row.label if region.is_in_step else f"{row.label} (no step calls it)",
        region.kind,
        bound_word(row.verdict.bound),
        row.verdict.confidence,
        row.share,
        row.before_ns,
    ]
    if any(graph.after_ns is not None for graph in report.graphs):
        after = region.verdict_after
        cells += [row.after_ns, _speed(report, row), None if after is None else bound_word(after.bound)]
    cells += [] if report.is_recorded else [region.chosen]
    return (*cells, source.kernels_per_step if source is not None else None)


def _speed(report: Report, row: RegionRow) -> float | None:
    """None where it may be noise: the report has no interval for a single graph."""
    changed = report.comparison is not None and report.comparison.outcome in (Change.FASTER, Change.SLOWER)
    return row.before_ns / row.after_ns if changed and row.before_ns is not None and row.after_ns else None


def _table(report: Report | None) -> list[Component]:
    if report is None:
        return [empty_state(NO_REPORT)]
    regions = shown_regions(report)
    if not regions:
        return [empty_state(no_regions(report))]
    rows = [region_cells(report, region) for region in regions]
    keys = [region.key for region in regions]
    shown = table(TABLE_ID, columns_of(report), rows, file_name="graphs", row_keys=keys)
    of_one = [html.P(f"The regions of one rank of several: {plain(report.workload.mode)}.")] if report.ranks else []
    return [*of_one, html.P(_HELP, className="gb-quiet"), shown]


def _place(*, is_planned: bool) -> list[Component]:
    """Always there, seen or not: Dash asks for what its callbacks fill."""
    return [
        dcc.Store(id=ASKED_ID),
        html.P(id=SAID_ID, className="gb-hidden", role="status"),
        html.Div(id=CARD_ID),
        html.Div(code_place(), hidden=not is_planned),
    ]


PANEL: Final = Panel(id="graphs", title="Graphs", build=build, page=Page.GRAPHS)
