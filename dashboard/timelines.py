"""From what was read to the timelines of the page: names and colours for both sides together, source lines."""

from __future__ import annotations

from analyzer.core.graphs import GraphKey
from analyzer.core.report import Report
from analyzer.reporting.rows import place, region_rows
from dashboard.run_folder import RunData
from dashboard.timeline.page import TimelinePage, page_of
from dashboard.timeline.recording import name_graphs
from dashboard.timeline.timeline import timeline_of


def timeline_page(data: RunData) -> TimelinePage:
    """The same graph has the same colour on every side, and the name that the report gives it."""
    shown = [(side.name, side.recording) for side in data.sides if side.recording is not None]
    names = name_graphs([recording for _, recording in shown], _labels(data.report))
    sides = tuple((name, timeline_of(recording, names)) for name, recording in shown)
    return page_of(sides, names, _places(data.report))


def _labels(report: Report | None) -> dict[GraphKey, str]:
    rows = region_rows(report) if report is not None else ()
    return {row.region: row.label for row in rows if isinstance(row.region, GraphKey)}


def _places(report: Report | None) -> dict[GraphKey, str]:
    graphs = report.graphs if report is not None else ()
    return {graph.key: place(graph.where) for graph in graphs if graph.where is not None}
