"""Kernels under the roofs of the device, before and after: how far each is from what the device can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import quote

from dash import html

from analyzer.core.device import Device
from analyzer.core.graphs import Graph, GraphKey
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import region_rows
from analyzer.trace_analysis import device_of
from dashboard.figure import SERIES, graph
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.roofline import Mark, Roofline, RoofSide, roofline
from dashboard.roofline_figure import mark_id, roofline_figure, shown_marks
from dashboard.roofline_words import (
    anomaly_text,
    bound_words,
    legend_words,
    peak_name,
    peaks_words,
    roof_text,
    side_words,
)
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, table
from dashboard.timeline.recording import Recording

FIGURE_ID: Final = "gb-roofline"
_HEIGHT_PX: Final = 560
_MOST_NAMED: Final = 3
"""Anomalies that are named above the figure."""
_SELECT: Final = "Select a mark by a click, or in the table by Enter, for what is known of it."
NO_TRACE: Final = "There is no trace here, and so no kernel to place. `analyze model.py` records one."
NO_WORK: Final = (
    "The trace shows no work of any device, and no operator: record a few steps with torch.profiler.profile(), with "
    "ProfilerActivity.CPU and, on a GPU, ProfilerActivity.CUDA."
)
NO_COSTS: Final = (
    "Of no kernel here the bytes are known: record with torch.profiler.profile(record_shapes=True), or run "
    "`analyze model.py`, which knows what Inductor generated."
)
_COLUMNS: Final = (
    Column("kernel", width_px=220),
    Column("graph"),
    Column("recording", width_px=90),
    Column("calls", Kind.NUMBER, tip="a step, or in the recording where no step is marked"),
    Column("time", Kind.DURATION, tip="a step, or in the recording where no step is marked"),
    Column("flops a call", Kind.NUMBER, 150),
    Column("bytes a call", Kind.BYTES),
    Column("flop per byte", Kind.DECIMAL),
    Column("Gflop/s", Kind.DECIMAL),
    Column("GB/s", Kind.DECIMAL),
    Column("of memory roof", Kind.SHARE, 116),
    Column("of arithmetic roof", Kind.SHARE, 124),
    Column("arithmetic roof"),
    Column("bound by"),
    Column("remark"),
)


def build(run: RunData) -> list[Component]:
    shown = [(side.name, side.recording) for side in run.sides if side.recording is not None]
    missing = [empty_state(f"{side.name}: {side.missing}") for side in run.sides if side.recording is None]
    if not shown:
        return missing or [empty_state(NO_TRACE)]
    found = roofline(shown, _device(run.report, shown), *_told(run.report))
    if not any(side.kernel_ns > 0 for side in found.sides):
        return [*missing, empty_state(NO_WORK)]
    said = [html.P(text, className="gb-quiet") for text in _said(found)]
    loud = [html.P(text, className="gb-loud") for text in _anomalies(found)]
    if not any(side.marks for side in found.sides):
        return [*missing, *said, empty_state(NO_COSTS)]
    figure = graph(FIGURE_ID, roofline_figure(found), height_px=_HEIGHT_PX, label=_label(found))
    live: dict[str, Any] = {"aria-live": "polite"}
    keys = [mark_id(number, at) for number, side in enumerate(found.sides) for at in range(len(side.marks))]
    rows = table(f"{FIGURE_ID}-table", _COLUMNS, _rows(found), file_name="roofline", row_keys=keys)
    return [
        *missing,
        html.P(" ".join(legend_words(found)), className="gb-quiet"),
        *loud,
        figure,
        html.Div(html.P(_SELECT, className="gb-quiet"), id=f"{FIGURE_ID}-details", className="gb-details", **live),
        *_links(found),
        *said,
        html.Details([html.Summary("every mark as a table"), rows]),
    ]


def _device(report: Report | None, shown: Sequence[tuple[str, Recording]]) -> Device:
    """The measured one, else that of the trace with its data sheet."""
    if report is not None and (report.device.peaks or report.device.memory_bytes_per_s is not None):
        return report.device
    return device_of(shown[0][1].trace)


def _told(report: Report | None) -> tuple[tuple[Graph, ...], dict[GraphKey, str]]:
    if report is None:
        return (), {}
    labels = {row.region: row.label for row in region_rows(report) if isinstance(row.region, GraphKey)}
    return report.capture.graphs if report.capture is not None else (), labels


def _said(found: Roofline) -> Iterator[str]:
    yield peaks_words(found.device)
    for side in found.sides:
        yield " ".join(side_words(side, len(shown_marks(side))))


def _anomalies(found: Roofline) -> Iterator[str]:
    """The longest of them by name: the others are in the table."""
    over = [(side, mark) for side in found.sides for mark in side.marks if mark.anomaly is not None]
    if over:
        number = "One mark is" if len(over) == 1 else f"{len(over)} marks are"
        named = "; ".join(f"{plain(mark.name, 60)} {side.name}, {roof_text(mark)}" for side, mark in over[:_MOST_NAMED])
        more = f"; and {len(over) - _MOST_NAMED} more" if len(over) > _MOST_NAMED else ""
        yield f"{number} over 105 % of a roof: an anomaly of the count or of the peak, not speed ({named}{more})."


def _label(found: Roofline) -> str:
    sides = "; ".join(f"{side.name}: {len(side.marks)} marks" for side in found.sides)
    return (
        f"Roofline of {found.device.name}: flop per byte against flop/s, both logarithmic. {sides}. The table has all."
    )


def _links(found: Roofline) -> list[Component]:
    """To the cards of the graphs that have a look of their own, the longest first."""
    seen = {mark.graph for side in found.sides for mark in side.marks if mark.series is not None}
    longest = [key for key in found.names.order[:SERIES] if key in seen]
    links: list[Component] = []
    for key in longest:
        label = plain(found.names.labels[found.names.order.index(key)], 60)
        links += [html.A(label, href=f"#page={Page.GRAPHS.value}&graph={quote(str(key))}"), " "]
    return [html.P(["Cards of the graphs: ", *links])] if links else []


def _rows(found: Roofline) -> list[tuple[Cell, ...]]:
    return [_row(side, mark) for side in found.sides for mark in side.marks]


def _row(side: RoofSide, mark: Mark) -> tuple[Cell, ...]:
    rate = mark.flops_per_s
    return (
        mark.name,
        mark.graph_label,
        side.name,
        mark.calls,
        mark.ns,
        None if mark.flops is None else round(mark.flops),
        round(mark.bytes),
        mark.intensity,
        None if rate is None else rate / 1e9,
        mark.bytes_per_s / 1e9,
        mark.memory_share,
        mark.compute_share,
        "" if mark.unit is None else peak_name(mark.unit),
        bound_words(mark),
        "" if mark.anomaly is None else anomaly_text(mark.anomaly),
    )


PANEL: Final = Panel(id="roofline", title="Roofline", build=build, page=Page.ROOFLINE)
