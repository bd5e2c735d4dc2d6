"""All lanes of one trace: steps, graphs, host threads, gaps and streams. Every row of the trace is in one lane."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.distinct import distinct
from analyzer.core.graphs import GraphKey
from analyzer.core.trace import DEVICE_KINDS, EventKind, IntColumn, Trace
from analyzer.derive.honesty import PROFILER_ROWS
from analyzer.derive.regions_from_trace import HostRegions, RegionKind, TraceRegion, host_regions
from dashboard.timeline.codes import RowCodes, region_codes, row_codes
from dashboard.timeline.gaps import Gaps, gaps_of
from dashboard.timeline.lane import Codes, Lane, LaneKind, lane_of, levels
from dashboard.timeline.recording import GraphNames, Recording
from dashboard.timeline.shades import Fixed

NOT_PLACED: Final = -1
"""In `lane_of_row` while lanes are made; no row keeps it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lanes that belong together, from the outermost level inwards: `first` and how many."""

    kind: LaneKind
    label: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class GraphCalls:
    """When the calls of one graph began, in order."""

    region: TraceRegion
    label: str
    start_ns: IntColumn


@dataclass(frozen=True, slots=True)
class Stretches:
    """Device rows of one call of a region that ran one after another: `region[i]` indexes the recording's regions."""

    start_ns: IntColumn
    end_ns: IntColumn
    region: IntColumn
    rows: IntColumn


@dataclass(frozen=True, slots=True)
class UsedShades:
    """The codes that occur in any lane, in order, in either way to colour it."""

    by_graph: tuple[int, ...]
    by_bound: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """`lane_of_row` and `at_of_row` say where a trace row is drawn. `graph_labels` are what the trace rows that open a
    graph are called, `graph_keys` which graph it is; `region_labels` are those of the recording's regions. `start_ns`
    and `end_ns` span everything drawn.
    """

    recording: Recording
    groups: tuple[Group, ...]
    lanes: tuple[Lane, ...]
    used: UsedShades
    lane_of_row: NDArray[np.int32]
    at_of_row: NDArray[np.int32]
    calls: tuple[GraphCalls, ...]
    gaps: Gaps
    stretches: Stretches
    graph_labels: Mapping[int, str]
    graph_keys: Mapping[int, GraphKey]
    region_labels: tuple[str, ...]
    start_ns: int
    end_ns: int

    def group_of(self, lane: int) -> Group:
        return next(group for group in self.groups if group.first <= lane < group.first + group.count)


@dataclass(frozen=True, slots=True)
class _Events:
    """What one group is made of: any number of events, in any order."""

    kind: LaneKind
    label: str
    start_ns: IntColumn
    end_ns: IntColumn
    row: IntColumn
    codes: RowCodes


def timeline_of(recording: Recording, names: GraphNames) -> Timeline:
    trace = recording.trace
    codes, gaps = row_codes(recording, names), gaps_of(recording.attribution, recording.budget)
    opened, calls = _graphs(recording, names)
    stretches = _stretches(recording, calls)
    found: list[_Events] = []
    if len(recording.steps):
        steps = np.full(len(recording.steps), Fixed.STEP, dtype=np.uint8)
        found.append(_rows(trace, LaneKind.STEPS, "steps", recording.steps.rows, RowCodes(steps, steps)))
    if opened.row.size:
        graphs = region_codes(opened.regions, names)[opened.region]
        found.append(_rows(trace, LaneKind.GRAPHS, "graphs", opened.row, RowCodes(graphs, graphs)))
    found += _host(recording, codes)
    if gaps.start_ns.size:
        found.append(_derived(LaneKind.GAPS, _gap_label(recording), gaps.start_ns, gaps.end_ns, gaps.cause))
    if stretches.start_ns.size:
        own = region_codes(recording.regions, names)[stretches.region]
        found.append(
            _derived(LaneKind.DEVICE_GRAPHS, "graphs on the device", stretches.start_ns, stretches.end_ns, own)
        )
    found += _device(trace, codes)
    of_row = dict(zip(opened.row.tolist(), opened.region.tolist(), strict=True))
    labels = tuple(names.label(region) for region in opened.regions)
    named = _Opened(
        {row: labels[region] for row, region in of_row.items()},
        {row: opened.regions[region].key for row, region in of_row.items()},
    )
    return _assembled(recording, found, _Told(calls, gaps, stretches, named, _labels(recording, names)))


def _labels(recording: Recording, names: GraphNames) -> tuple[str, ...]:
    return tuple(names.label(region) for region in recording.regions)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What the trace rows that open a graph are called, and which it is."""

    labels: Mapping[int, str]
    keys: Mapping[int, GraphKey]


@dataclass(frozen=True, slots=True)
class _Told:
    """What a timeline knows beside its lanes."""

    calls: tuple[GraphCalls, ...]
    gaps: Gaps
    stretches: Stretches
    graphs: _Opened
    region_labels: tuple[str, ...]


def _assembled(recording: Recording, found: list[_Events], told: _Told) -> Timeline:
    groups: list[Group] = []
    lanes: list[Lane] = []
    size = len(recording.trace)
    lane_of_row = np.full(size, NOT_PLACED, dtype=np.int32)
    at_of_row = np.full(size, NOT_PLACED, dtype=np.int32)
    for events in found:
        own = list(_lanes(events))
        groups.append(Group(events.kind, events.label, len(lanes), len(own)))
        if events.kind in (LaneKind.HOST, LaneKind.STREAM):
            for number, lane in enumerate(own, start=len(lanes)):
                lane_of_row[lane.row] = number
                at_of_row[lane.row] = np.arange(len(lane), dtype=np.int32)
        lanes += own
    start = min((int(lane.start_ns[0]) for lane in lanes), default=0)
    end = max((int(lane.end_ns.max()) for lane in lanes), default=1)
    return Timeline(
        recording=recording,
        groups=tuple(groups),
        lanes=tuple(lanes),
        used=UsedShades(_used(lane.by_graph for lane in lanes), _used(lane.by_bound for lane in lanes)),
        lane_of_row=lane_of_row,
        at_of_row=at_of_row,
        calls=told.calls,
        gaps=told.gaps,
        stretches=told.stretches,
        graph_labels=told.graphs.labels,
        graph_keys=told.graphs.keys,
        region_labels=told.region_labels,
        start_ns=start,
        end_ns=max(end, start + 1),
    )


def _used(columns: Iterable[Codes]) -> tuple[int, ...]:
    found = np.zeros(np.iinfo(np.uint8).max + 1, dtype=np.bool_)
    for codes in columns:
        found[codes] = True
    return tuple(np.flatnonzero(found).tolist())


def _lanes(events: _Events) -> Iterator[Lane]:
    order = np.lexsort((events.start_ns - events.end_ns, events.start_ns))
    start, end, row = events.start_ns[order], events.end_ns[order], events.row[order]
    by_graph, by_bound = events.codes.by_graph[order], events.codes.by_bound[order]
    for own in levels(start, end):
        yield lane_of(start[own], end[own], row[own], by_graph[own], by_bound[own])


def _rows(trace: Trace, kind: LaneKind, label: str, rows: IntColumn, codes: RowCodes) -> _Events:
    """`codes` has one for each of `rows`."""
    return _Events(kind, label, trace.start_ns[rows], trace.end_ns[rows], rows, codes)


def _derived(kind: LaneKind, label: str, start: IntColumn, end: IntColumn, codes: IntColumn | Codes) -> _Events:
    shades = codes.astype(np.uint8)
    return _Events(kind, label, start, end, np.arange(start.size, dtype=np.int64), RowCodes(shades, shades))


def _host(recording: Recording, codes: RowCodes) -> Iterator[_Events]:
    """A group for each thread, the one that launches most first."""
    trace = recording.trace
    rows = np.flatnonzero(~np.isin(trace.kind, (*DEVICE_KINDS, EventKind.DEVICE_RANGE, EventKind.WAIT)))
    threads = distinct(trace.thread[rows]).tolist()
    groups = [(thread, rows[trace.thread[rows] == thread]) for thread in threads]
    launches = {thread: int((trace.kind[own] == EventKind.LAUNCH).sum()) for thread, own in groups}
    groups.sort(key=lambda one: (-launches[one[0]], -one[1].size, one[0]))
    for thread, own in groups:
        yield _rows(trace, LaneKind.HOST, _thread_label(recording, thread, own), own, codes.of(own))


def _thread_label(recording: Recording, thread: int, rows: IntColumn) -> str:
    """The profiler's own rows carry no thread that ran them. A lane that is empty in every step says so."""
    trace, steps = recording.trace, recording.steps
    is_profilers = all(trace.names[name] in PROFILER_ROWS for name in distinct(trace.name_id[rows]).tolist())
    label = "the profiler's own work" if is_profilers else f"host thread {thread}"
    if not len(steps):
        return label
    starts, ends = trace.start_ns[rows], trace.end_ns[rows]
    begun = np.searchsorted(np.sort(starts), steps.end_ns, side="left")
    ended = np.searchsorted(np.sort(ends), steps.start_ns, side="right")
    return label if (begun > ended).any() else f"{label}, none of it in a step"


def _device(trace: Trace, codes: RowCodes) -> Iterator[_Events]:
    """A group for each stream, and for the shadows of ranges on it."""
    rows = np.flatnonzero(np.isin(trace.kind, (*DEVICE_KINDS, EventKind.DEVICE_RANGE)))
    many = distinct(trace.device[rows]).size > 1
    is_range = (trace.kind[rows] == EventKind.DEVICE_RANGE).astype(np.int64)
    known = trace.has_stream[rows].astype(np.int64)
    places = np.column_stack((is_range, trace.device[rows], known, np.where(known, trace.stream[rows], 0)))
    if not rows.size:
        return
    found, of = np.unique(places, axis=0, return_inverse=True)
    for number, (shadow, device, has_stream, stream) in enumerate(found.tolist()):
        own = rows[of.reshape(-1) == number]
        label = f"stream {stream}" if has_stream else "no stream named"
        label = f"device {device}, {label}" if many else label
        yield _rows(trace, LaneKind.STREAM, f"ranges, {label}" if shadow else label, own, codes.of(own))


def _gap_label(recording: Recording) -> str:
    if recording.attribution.is_host:
        return "between operators"
    work = recording.attribution.work
    several = distinct(recording.trace.device[work.row]).size > 1
    return "no kernel computes on any device" if several else "no kernel computes"


def _graphs(recording: Recording, names: GraphNames) -> tuple[HostRegions, tuple[GraphCalls, ...]]:
    trace, work = recording.trace, recording.attribution.work
    opened = host_regions(trace, recording.steps, work.launch[work.has_launch])
    calls = [
        GraphCalls(region, names.label(region), trace.start_ns[opened.row[opened.region == number]])
        for number, region in enumerate(opened.regions)
    ]
    if recording.budget is not None:
        for number, region in enumerate(recording.regions):
            if region.kind is RegionKind.REPLAY:
                own = (recording.budget.region_of == number) & work.has_launch
                starts = np.sort(trace.start_ns[distinct(work.launch[own])])
                calls.append(GraphCalls(region, names.label(region), starts))
    return opened, tuple(one for one in calls if one.start_ns.size)


def _stretches(recording: Recording, calls: Sequence[GraphCalls]) -> Stretches:
    nothing = np.empty(0, dtype=np.int64)
    budget, work, trace = recording.budget, recording.attribution.work, recording.trace
    if budget is None or recording.attribution.is_host:
        return Stretches(nothing, nothing, nothing, nothing)
    order = np.argsort(trace.start_ns[work.row], kind="stable")
    region, call = budget.region_of[order], _call_of(recording, calls)[order]
    changes = (region[1:] != region[:-1]) | (call[1:] != call[:-1])
    first = np.flatnonzero(np.concatenate(([True], changes)))
    rows = np.diff(np.append(first, region.size))
    return Stretches(
        trace.start_ns[work.row[order[first]]],
        np.maximum.reduceat(trace.end_ns[work.row[order]], first),
        region[first],
        rows,
    )


def _call_of(recording: Recording, calls: Sequence[GraphCalls]) -> IntColumn:
    """The call of its region in which each row of work was launched, counted from 1; 0 where that is unknown."""
    work, budget = recording.attribution.work, recording.budget
    found = np.zeros(len(work), dtype=np.int64)
    starts = {one.region: one.start_ns for one in calls}
    for number, region in enumerate(recording.regions):
        if budget is not None and region in starts:
            own = np.flatnonzero((budget.region_of == number) & work.has_launch)
            found[own] = np.searchsorted(starts[region], recording.trace.start_ns[work.launch[own]], side="right")
    return found
