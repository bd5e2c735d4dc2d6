"""One step of a trace as bars in lanes, ready to be drawn. Pure: a trace in, a view out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from analyzer.core.graphs import GraphKey, Region
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.timeline import GRAPH, Timeline, cut

MAX_BARS: Final = 5_000
"""Bars a side: Plotly takes a second to draw 10,000, measured in Chromium."""

BUCKETS: Final = 2_000
"""Pixels of a wide screen: of several bars of a lane that start within one, the longest is what can be seen."""


class BarKind(Enum):
    GRAPH_RANGE = "graph"
    LAUNCH = "launch"
    SYNC = "wait for the device"
    KERNEL = "kernel"
    COPY = "copy"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Bar:
    """`start_ns` counts from the start of the step; `lane` indexes `StepView.lanes`; `region` is None where the bar
    belongs to none, or to none that is known.
    """

    lane: int
    kind: BarKind
    name: str
    region: Region | None
    start_ns: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class StepView:
    """`number` counts the recorded steps from 1; `left_out` bars were too short and too many to be drawn."""

    number: int
    steps: int
    duration_ns: int
    lanes: tuple[str, ...]
    bars: tuple[Bar, ...]
    left_out: int
    is_host: bool


@dataclass(frozen=True, slots=True)
class _Rows:
    """Columns of the bars before they are thinned out; `region` is -1 for none and never leaves this module."""

    row: IntColumn
    lane: IntColumn
    kind: IntColumn
    region: IntColumn


_KINDS: Final = tuple(BarKind)
_NO_REGION: Final = -1


def view_median_step(trace: Trace, max_bars: int = MAX_BARS) -> StepView | None:
    """The step of median length among those with device rows; None where the trace marks no step."""
    attribution = attribute(trace)
    # Its rows are counted in its own trace, from which what the recorder itself did is left out.
    trace = attribution.trace
    timeline = cut(trace)
    if not attribution.recorded_steps:
        return None
    step = _median_step(timeline, attribution.recorded_steps)
    host = _host_rows(trace, timeline, step)
    work = _operator_rows(attribution, step) if attribution.is_host else _device_rows(attribution, timeline, step)
    lanes, rows = _in_lanes(trace, (host, work))
    kept = _thin(trace, rows, max_bars)
    start_ns = int(timeline.step_start_ns[step])
    return StepView(
        number=step + 1,
        steps=timeline.steps,
        duration_ns=int(timeline.step_end_ns[step]) - start_ns,
        lanes=lanes,
        bars=tuple(_bars(trace, attribution, _taken(rows, kept), start_ns)),
        left_out=int(rows.row.size - kept.size),
        is_host=attribution.is_host,
    )


def _median_step(timeline: Timeline, recorded: tuple[int, ...]) -> int:
    lengths = timeline.step_end_ns - timeline.step_start_ns
    by_length = sorted(recorded, key=lambda step: int(lengths[step]))
    return by_length[(len(by_length) - 1) // 2]


def _host_rows(trace: Trace, timeline: Timeline, step: int) -> _Rows:
    """Our graph ranges, the launches and the waits of the step."""
    graphs = {i: GraphKey.parse(found["key"]) for i, n in enumerate(trace.names) if (found := GRAPH.fullmatch(n))}
    is_graph = np.isin(trace.name_id, list(graphs)) & np.isin(trace.kind, (EventKind.RANGE, EventKind.CPU_OP))
    is_call = np.isin(trace.kind, (EventKind.LAUNCH, EventKind.SYNC))
    rows = np.flatnonzero((is_graph | is_call) & _starts_in(trace, timeline, step)).astype(np.int64)
    kind = np.select(
        [is_graph[rows], trace.kind[rows] == EventKind.LAUNCH],
        [_KINDS.index(BarKind.GRAPH_RANGE), _KINDS.index(BarKind.LAUNCH)],
        _KINDS.index(BarKind.SYNC),
    ).astype(np.int64)
    numbers = {region: number for number, region in enumerate(timeline.regions)}
    by_name = np.full(len(trace.names), _NO_REGION, dtype=np.int64)
    for name_id, key in graphs.items():
        by_name[name_id] = numbers.get(key, _NO_REGION)
    region = np.where(is_graph[rows], by_name[trace.name_id[rows]], _NO_REGION)
    return _Rows(row=rows, lane=np.zeros_like(rows), kind=kind, region=region)


def _device_rows(attribution: Attribution, timeline: Timeline, step: int) -> _Rows:
    """Device rows launched in the step, and those of unknown launch that start within it."""
    trace, work = attribution.trace, attribution.work
    own = work.has_region & (work.step == step)
    lost = ~work.has_region & ~work.has_launch & _starts_in(trace, timeline, step)[work.row]
    chosen = np.flatnonzero(own | lost)
    rows = work.row[chosen]
    is_copy = np.isin(trace.kind[rows], (EventKind.COPY, EventKind.MEMSET))
    kind = np.where(is_copy, _KINDS.index(BarKind.COPY), _KINDS.index(BarKind.KERNEL)).astype(np.int64)
    return _Rows(row=rows, lane=np.zeros_like(rows), kind=kind, region=_region(attribution, chosen))


def _operator_rows(attribution: Attribution, step: int) -> _Rows:
    work = attribution.work
    chosen = np.flatnonzero(work.has_region & (work.step == step))
    rows = work.row[chosen]
    kind = np.full(rows.size, _KINDS.index(BarKind.OPERATOR), dtype=np.int64)
    return _Rows(row=rows, lane=np.zeros_like(rows), kind=kind, region=_region(attribution, chosen))


def _region(attribution: Attribution, chosen: IntColumn) -> IntColumn:
    work = attribution.work
    return np.where(work.has_region[chosen], work.region[chosen], _NO_REGION)


def _starts_in(trace: Trace, timeline: Timeline, step: int) -> BoolColumn:
    inside = (trace.start_ns >= timeline.step_start_ns[step]) & (trace.start_ns < timeline.step_end_ns[step])
    return np.asarray(inside, dtype=np.bool_)


def _in_lanes(trace: Trace, groups: Iterable[_Rows]) -> tuple[tuple[str, ...], _Rows]:
    """A lane for each host thread, one for its operators, and one for each stream, in that order."""
    row, kind, region = (
        np.concatenate(columns) for columns in zip(*((g.row, g.kind, g.region) for g in groups), strict=True)
    )
    on_device = np.isin(trace.kind[row], DEVICE_KINDS)
    is_operator = kind == _KINDS.index(BarKind.OPERATOR)
    major = np.where(on_device, 2, np.where(is_operator, 1, 0))
    device = np.where(on_device, trace.device[row], 0)
    minor = np.where(on_device, trace.stream[row], trace.thread[row])
    places, lane = np.unique(np.stack([major, device, minor]), axis=1, return_inverse=True)
    many_devices = len(set(device[on_device].tolist())) > 1
    labels = tuple(_lane_label(*place, many_devices=many_devices) for place in places.T.tolist())
    return labels, _Rows(row=row, lane=lane.reshape(-1).astype(np.int64), kind=kind, region=region)


def _lane_label(major: int, device: int, minor: int, *, many_devices: bool) -> str:
    if major == 2:
        return f"device {device}, stream {minor}" if many_devices else f"stream {minor}"
    return f"operators, thread {minor}" if major else f"host thread {minor}"


def _thin(trace: Trace, rows: _Rows, limit: int) -> IntColumn:
    """The positions to draw, in order of start: all of them, or the longest of each lane and pixel, or the longest."""
    start, duration = trace.start_ns[rows.row], trace.duration_ns[rows.row]
    everything = np.arange(rows.row.size, dtype=np.int64)
    if rows.row.size > limit:
        width = max(int((start + duration).max() - start.min()) // BUCKETS, 1)
        longest_first = np.lexsort((everything, -duration))
        bucket = np.stack([rows.lane, rows.kind, (start - start.min()) // width])
        _, first = np.unique(bucket[:, longest_first], axis=1, return_index=True)
        everything = longest_first[np.sort(first)[:limit]]
    # Longer bars first, so that what is nested in them is drawn over them.
    return everything[np.lexsort((-duration[everything], start[everything]))]


def _taken(rows: _Rows, kept: IntColumn) -> _Rows:
    return _Rows(row=rows.row[kept], lane=rows.lane[kept], kind=rows.kind[kept], region=rows.region[kept])


def _bars(trace: Trace, attribution: Attribution, rows: _Rows, start_ns: int) -> Iterable[Bar]:
    # At most MAX_BARS rounds, 2 µs each.
    columns = (rows.row.tolist(), rows.lane.tolist(), rows.kind.tolist(), rows.region.tolist())
    for row, lane, kind, region in zip(*columns, strict=True):
        yield Bar(
            lane=lane,
            kind=_KINDS[kind],
            name=trace.name(row),
            region=None if region == _NO_REGION else attribution.regions[region].region,
            start_ns=int(trace.start_ns[row]) - start_ns,
            duration_ns=int(trace.duration_ns[row]),
        )
