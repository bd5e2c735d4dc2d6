"""From what was read to the timelines of the page: names and colours for both sides together, what the report says."""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import GraphKey
from analyzer.core.report import Report
from analyzer.core.verdict import Verdict
from analyzer.derive.trace_verdict import recorded, trace_verdict
from analyzer.reporting.rows import inside, place, region_rows
from analyzer.trace_analysis import device_of
from dashboard.run_folder import RunData
from dashboard.timeline.judged import NOT_JUDGED, Judged
from dashboard.timeline.page import TimelinePage, page_of
from dashboard.timeline.recording import Recording, name_graphs
from dashboard.timeline.timeline import timeline_of

AFTER: Final = "after"
"""What `run_folder.read_run` calls the side that ran under the plan."""


def timeline_page(data: RunData) -> TimelinePage:
    """The same graph has the same colour on every side, and the name that the report gives it."""
    shown = [(side.name, side.recording) for side in data.sides if side.recording is not None]
    names = name_graphs([recording for _, recording in shown], _labels(data.report))
    sides = tuple((name, timeline_of(recording, names)) for name, recording in shown)
    judged = tuple(_judged(data.report, name, recording) for name, recording in shown)
    return page_of(sides, names, _places(data.report), judged)


def _labels(report: Report | None) -> dict[GraphKey, str]:
    rows = region_rows(report) if report is not None else ()
    return {row.region: row.label for row in rows if isinstance(row.region, GraphKey)}


def _places(report: Report | None) -> dict[GraphKey, str]:
    graphs = report.graphs if report is not None else ()
    return {graph.key: place(graph.where) + inside(graph.where) for graph in graphs if graph.where is not None}


def _judged(report: Report | None, side: str, recording: Recording) -> Judged:
    """A report of several ranks tells the graphs of one of them alone: each side is then judged by its own rows."""
    if report is None:
        return NOT_JUDGED
    if report.ranks is not None:
        return Judged(report.headline, _own_verdicts(recording), report.findings, report.honesty)
    is_after = side == AFTER
    verdicts = {graph.key: graph.verdict_after if is_after else graph.verdict for graph in report.graphs}
    return Judged(
        headline=report.headline,
        verdicts={key: verdict for key, verdict in verdicts.items() if verdict is not None},
        # What was found was found in the program as it was.
        findings=() if is_after else report.findings,
        caveats=((report.partial,) if report.partial is not None else ()) + report.honesty,
        cards=frozenset(verdicts),
    )


def _own_verdicts(recording: Recording) -> dict[GraphKey, Verdict]:
    if recording.budget is None:
        return {}
    known = recorded(
        recording.trace, is_host=recording.attribution.is_host, has_peaks=bool(device_of(recording.trace).peaks)
    )
    return {one.region.key: trace_verdict(one.budget, known) for one in recording.budget.regions}
