"""The roofline as a figure: a pure function of what was counted. Axes are operations a byte and operations a second."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from analyzer.core import quantities
from analyzer.core.device import VECTOR, Device, Peak
from analyzer.core.graphs import GraphKey
from analyzer.reporting.plain_text import plain
from dashboard.figure import EITHER, INK, SERIES, axis_title, decades, safe, series_look
from dashboard.roofline import Mark, Roofline, RoofSide
from dashboard.roofline_words import mark_lines, peak_name

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_MARKS: Final = 200
"""Marks of one recording: of more, the longest, and what the others take is said."""
LARGEST_PX: Final = 44.0
SMALLEST_PX: Final = 6.0
"""Diameters. The area of a mark goes with its time."""
MOVED: Final = 1.1
"""An arrow is drawn where a kernel moved by more along either axis: less is no longer than its own head, on six decades
in 500 px, and short kernels of one build repeat to some per cent."""
LINE_SHARE: Final = 14 / 400
"""Of the figure's height, that a line of text takes: peaks that lie closer share one label."""
MOST_TICKS: Final = 6
"""Labels of the axis of intensities that have room beside each other on a telephone, 360 px wide."""
_LABEL_LIMIT: Final = 34
"""Characters of a roof's label, on a telephone too."""
_LEGEND_LIMIT: Final = 36
_MARGIN: Final = 1.6
OUTSIDE: Final = "outside of any graph"
OTHERS: Final = "other graphs"


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a place in the figure to another. `is_graph`: of all kernels of a graph together."""

    start: tuple[float, float]
    end: tuple[float, float]
    label: str
    is_graph: bool


@dataclass(frozen=True, slots=True)
class Extent:
    """What the axes span. At `edge`, below every counted intensity, stand marks whose arithmetic is not counted: as far
    below the roof of the memory as they are in truth.
    """

    edge: float
    right: float
    bottom: float
    top: float


def roofline_figure(found: Roofline) -> go.Figure:
    """Of recordings of which at least one has a mark."""
    import plotly.graph_objects as go  # slow, and only here

    extent = extent_of(found)
    traces: list[Any] = [*_roofs(go, found.device, extent)]
    named: set[str] = set()
    largest = max((mark.ns for side in found.sides for mark in side.marks), default=1.0)
    # The hollow marks of the first recording lie on those of the last, which else would hide them.
    for number, side in reversed(tuple(enumerate(found.sides))):
        is_hollow = len(found.sides) > 1 and number == 0
        traces += _marks(go, _Drawn(side, number, extent, is_hollow, largest), named)
    traces += _arrows(go, arrows(found, extent))
    traces += _anomalies(go, found, extent)
    traces.append(_labels(go, found.device, extent))
    figure = go.Figure(traces)
    figure.update_layout(_layout(extent))
    return figure


def shown_marks(side: RoofSide) -> tuple[Mark, ...]:
    """The longest ones, as many as are drawn."""
    return side.marks[:MOST_MARKS]


def place(mark: Mark, extent: Extent) -> tuple[float, float]:
    """Where a mark stands."""
    intensity, rate = mark.intensity, mark.flops_per_s
    if intensity is None or rate is None:
        return extent.edge, mark.bytes_per_s * extent.edge
    return intensity, rate


def extent_of(found: Roofline) -> Extent:
    """Around all marks and all roofs."""
    marks = [mark for side in found.sides for mark in shown_marks(side)]
    known = [mark.intensity for mark in marks if mark.intensity is not None]
    device = found.device
    peaks = [peak.flops_per_s for peak in device.peaks]
    bandwidth = device.memory_bytes_per_s
    ridge = max(peaks) / bandwidth if peaks and bandwidth else 100.0
    edge = 10.0 ** (math.floor(math.log10(min([*known, 1.0]))) - 1)
    right = max([*known, ridge]) * 10
    inside = Extent(edge, right, 1.0, 1.0)
    rates = [place(mark, inside)[1] for mark in marks] or [1e9]
    roof_at_edge = [bandwidth * edge] if bandwidth else []
    top = max([*rates, *peaks, *roof_at_edge])
    return Extent(edge, right, min([*rates, *roof_at_edge]) / 4, top * 3)


def arrows(found: Roofline, extent: Extent) -> tuple[Arrow, ...]:
    """From the first recording to the second: a kernel by its name and graph; a graph as a whole where no kernel of it
    is in both. What did not move has none.
    """
    if len(found.sides) != 2:
        return ()
    before, after = (shown_marks(side) for side in found.sides)
    later = {(mark.name, mark.graph): mark for mark in after}
    pairs = [(mark, later[mark.name, mark.graph]) for mark in before if (mark.name, mark.graph) in later]
    kept = [
        Arrow(place(one, extent), place(two, extent), f"{one.name} in {one.graph_label}", is_graph=False)
        for one, two in pairs
    ]
    paired = {one.graph for one, _ in pairs}
    firsts, seconds = _totals(before), _totals(after)
    for graph, (label, point) in firsts.items():
        if graph in seconds and graph not in paired:
            kept.append(Arrow(point, seconds[graph][1], label, is_graph=True))
    return tuple(arrow for arrow in kept if _has_moved(arrow))


def _has_moved(arrow: Arrow) -> bool:
    return any(max(a, b) > MOVED * min(a, b) for a, b in zip(arrow.start, arrow.end, strict=True))


def _totals(marks: Iterable[Mark]) -> dict[GraphKey, tuple[str, tuple[float, float]]]:
    """By graph: its label, and where all its kernels with counted arithmetic stand together."""
    sums: dict[GraphKey, list[float]] = {}
    labels: dict[GraphKey, str] = {}
    for mark in marks:
        if mark.flops is None or mark.series is None:
            continue
        own = sums.setdefault(mark.graph, [0.0, 0.0, 0.0])
        labels[mark.graph] = mark.graph_label
        for i, value in enumerate((mark.flops * mark.calls, mark.bytes * mark.calls, mark.ns)):
            own[i] += value
    return {
        graph: (labels[graph], (flops / moved, flops / ns * 1e9)) for graph, (flops, moved, ns) in sums.items() if ns
    }


def _roofs(go: Any, device: Device, extent: Extent) -> Iterable[Any]:
    """The memory's and the cache's roofs rise, each peak is level from where the highest of them meets it."""
    peaks = sorted(device.peaks, key=lambda peak: peak.flops_per_s)
    bandwidths = [
        (name, per_s, dash)
        for name, per_s, dash in (
            ("memory", device.memory_bytes_per_s, "solid"),
            ("L2 cache", device.l2_bytes_per_s, "dash"),
        )
        if per_s
    ]
    highest = peaks[-1].flops_per_s if peaks else extent.top / 3
    for name, per_s, dash in bandwidths:
        end = min(highest / per_s, extent.right)
        # Points between the ends, so that the pointer finds the line anywhere along it.
        xs = [extent.edge * (end / extent.edge) ** (i / 40) for i in range(41)]
        text = f"{name} {quantities.rate(per_s, 'B')}"
        yield _line(go, xs, [per_s * x for x in xs], text, dash)
    fastest = max((per_s for _, per_s, _ in bandwidths), default=None)
    for peak in peaks:
        start = max(peak.flops_per_s / fastest, extent.edge) if fastest else extent.edge
        xs = [start * (extent.right / start) ** (i / 20) for i in range(21)]
        text = f"{peak_name(peak.dtype)} {quantities.rate(peak.flops_per_s, 'FLOP')}"
        yield _line(go, xs, [peak.flops_per_s] * len(xs), text, "dot" if peak.dtype == VECTOR else "solid")


def _line(go: Any, xs: list[float], ys: list[float], text: str, dash: str) -> Any:
    return go.Scatter(
        x=xs,
        y=ys,
        mode="lines",
        line={"color": EITHER, "width": 1.5, "dash": dash},
        hoverinfo="text",
        hovertext=safe(f"roof: {text}"),
        showlegend=False,
        meta={INK: ["line.color"]},
    )


def _labels(go: Any, device: Device, extent: Extent) -> Any:
    """Peaks that lie close have one label, on the highest of them."""
    groups: list[list[Peak]] = []
    near = (extent.top / extent.bottom) ** LINE_SHARE
    for peak in sorted(device.peaks, key=lambda peak: peak.flops_per_s):
        if groups and peak.flops_per_s < near * groups[-1][0].flops_per_s:
            groups[-1].insert(0, peak)
        else:
            groups.append([peak])
    placed = [(extent.right, group[0].flops_per_s, _peaks_text(group), "top left") for group in groups]
    memory, cache = device.memory_bytes_per_s, device.l2_bytes_per_s
    if memory:
        at = extent.edge * 1.2
        placed.append((at, memory * at, f"memory {quantities.rate(memory, 'B')}", "bottom right"))
    if cache:
        # Left of the line and above it: a rising line leaves room there.
        at = math.sqrt(extent.edge * extent.right) / 3
        placed.append((at, cache * at, f"L2 cache {quantities.rate(cache, 'B')}", "top left"))
    return go.Scatter(
        x=[x for x, _, _, _ in placed],
        y=[y for _, y, _, _ in placed],
        text=[safe(text) for _, _, text, _ in placed],
        textposition=[where for _, _, _, where in placed],
        mode="text",
        hoverinfo="skip",
        showlegend=False,
        textfont_size=11,
    )


def _peaks_text(peaks: Sequence[Peak]) -> str:
    """`bfloat16 792, float16 757 TFLOP/s`: the unit once where it is one. What is too long names the highest: pointing
    at a roof tells it by itself.
    """
    rates = [quantities.rate(peak.flops_per_s, "FLOP").rpartition(" ") for peak in peaks]
    units = {unit for _, _, unit in rates}
    last = f" {units.pop()}" if len(units) == 1 else ""
    shown = [
        f"{peak_name(peak.dtype)} {number}" + ("" if last else f" {unit}")
        for peak, (number, _, unit) in zip(peaks, rates, strict=True)
    ]
    text = ", ".join(shown) + last
    return text if len(text) <= _LABEL_LIMIT or len(peaks) == 1 else f"{shown[0]}{last} +{len(peaks) - 1} near"


@dataclass(frozen=True, slots=True)
class _Drawn:
    """`number` is the place of the recording; `largest_ns` the time of the longest mark of the page."""

    side: RoofSide
    number: int
    extent: Extent
    is_hollow: bool
    largest_ns: float


def _marks(go: Any, drawn: _Drawn, named: set[str]) -> Iterable[Any]:
    """A trace a graph; one that has been named in the legend is not named again. What belongs to a mark is told beside
    it as plain text, for whoever selects it (`assets/gb_roofline.js`): its id, its kernel, its graph, lines to read.
    """
    by_graph: dict[str, list[tuple[int, Mark]]] = {}
    for at, mark in enumerate(shown_marks(drawn.side)):
        by_graph.setdefault(_group(mark), []).append((at, mark))
    for group, numbered in by_graph.items():
        marks = [mark for _, mark in numbered]
        look = series_look(marks[0].series)
        points = [place(mark, drawn.extent) for mark in marks]
        lines = [list(mark_lines(mark, drawn.side)) for mark in marks]
        yield go.Scatter(
            x=[x for x, _ in points],
            y=[y for _, y in points],
            mode="markers",
            name=_legend(marks[0]),
            legendgroup=group,
            showlegend=group not in named,
            marker={
                "symbol": f"{look.symbol}-open" if drawn.is_hollow else look.symbol,
                "color": look.colour,
                "size": [_diameter(mark.ns, drawn.largest_ns) for mark in marks],
                "opacity": 0.8,
                "line": {"width": 2 if drawn.is_hollow else 1, "color": look.colour if drawn.is_hollow else EITHER},
            },
            hoverinfo="text",
            hovertext=["<br>".join(safe(line) for line in own) for own in lines],
            customdata=[
                [mark_id(drawn.number, at), plain(mark.name), "" if mark.series is None else str(mark.graph), *own]
                for (at, mark), own in zip(numbered, lines, strict=True)
            ],
        )
        named.add(group)


def mark_id(side: int, at: int) -> str:
    """Of mark `at` of a recording, by its place among the longest: what the address of the page calls it."""
    return f"{side}.{at}"


def _group(mark: Mark) -> str:
    """Graphs with a look of their own are one each; all others are one, and what is outside of any."""
    if mark.series is None:
        return OUTSIDE
    return str(mark.series) if mark.series < SERIES else OTHERS


def _legend(mark: Mark) -> str:
    group = _group(mark)
    return group if group in (OUTSIDE, OTHERS) else safe(mark.graph_label, _LEGEND_LIMIT)


def _diameter(ns: float, largest_ns: float) -> float:
    return max(SMALLEST_PX, LARGEST_PX * math.sqrt(ns / largest_ns))


def _arrows(go: Any, found: Sequence[Arrow]) -> Iterable[Any]:
    for is_graph, name in ((False, "the same kernel, before to after"), (True, "the same graph, before to after")):
        own = [arrow for arrow in found if arrow.is_graph is is_graph]
        if not own:
            continue
        xs: list[float | None] = []
        ys: list[float | None] = []
        for arrow in own:
            xs += [arrow.start[0], arrow.end[0], None]
            ys += [arrow.start[1], arrow.end[1], None]
        yield go.Scatter(
            x=xs,
            y=ys,
            mode="lines+markers",
            name=name,
            line={"width": 1.2, "color": EITHER, "dash": "dash" if is_graph else "solid"},
            marker={"symbol": "arrow", "angleref": "previous", "size": [0, 11, 0] * len(own), "color": EITHER},
            hoverinfo="text",
            hovertext=[safe(arrow.label) for arrow in own for _ in range(3)],
            meta={INK: ["line.color", "marker.color"]},
        )


def _anomalies(go: Any, found: Roofline, extent: Extent) -> Iterable[Any]:
    marks = [mark for side in found.sides for mark in shown_marks(side) if mark.anomaly is not None]
    if not marks:
        return
    largest = max(mark.ns for side in found.sides for mark in side.marks)
    yield go.Scatter(
        x=[place(mark, extent)[0] for mark in marks],
        y=[place(mark, extent)[1] for mark in marks],
        mode="markers",
        name="over 105 % of a roof: an anomaly",
        marker={
            "symbol": "circle-x-open",
            "size": [_diameter(mark.ns, largest) + 8 for mark in marks],
            "color": EITHER,
            "line": {"width": 2},
        },
        hoverinfo="skip",
        meta={INK: ["marker.color"]},
    )


def _layout(extent: Extent) -> dict[str, Any]:
    def log_axis(low: float, high: float, unit: str, ticks: tuple[list[float], list[str]]) -> dict[str, Any]:
        return {
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "title": {"text": unit},
            "tickvals": ticks[0],
            "ticktext": ticks[1],
            "tickangle": 0,
        }

    right, left = extent.right * 1.1, extent.edge / _MARGIN
    # A power of ten has no digits behind its point.
    rates = decades(extent.bottom, extent.top, lambda value: re.sub(r"\.0+ ", " ", quantities.rate(value, "FLOP")))
    values, texts = decades(left, right, lambda value: f"{value:,.10g}")
    every = math.ceil(len(values) / MOST_TICKS)
    # The edge is no number: what stands there has none.
    first = next((at for at, value in enumerate(values) if math.isclose(value, extent.edge)), 0)
    texts = ["none" if at == first else text if (at - first) % every == 0 else "" for at, text in enumerate(texts)]
    return {
        "xaxis": log_axis(left, right, axis_title("arithmetic intensity", "flop per byte"), (values, texts)),
        "yaxis": log_axis(extent.bottom, extent.top, axis_title("arithmetic rate", "flop/s"), rates),
        "hovermode": "closest",
        "dragmode": "pan",
    }
