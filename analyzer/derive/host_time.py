"""Why the device was idle, region by region, in the profiled pass: what the host did meanwhile.

Three reasons are told apart. The next kernel had been launched already: a gap of the device's own. The host waited for
the device, or had waited: a synchronisation. Else the host was late, and its rows say with what.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.budget import HostKind
from analyzer.core.distinct import distinct, distinct_of_ordered
from analyzer.core.graphs import GraphKey
from analyzer.core.intervals import EMPTY, Intervals, intersect, subtract, union
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.host_rows import (
    GUARDS_ROW,
    KINDS,
    LONGEST_BYTECODE_NS,
    UNSEEN,
    WAITS,
    HostView,
    host_codes,
    own_cost,
)
from analyzer.derive.nesting import NOBODY, innermost
from analyzer.derive.timeline import NOWHERE, Timeline

_PYTHON: Final = len(KINDS) - 1
"""The code of what no row covers: HostKind.PYTHON, the last of its kinds."""

_BYTECODE: Final = KINDS.index(HostKind.BYTECODE)

_REFILL: Final = WAITS + 1
_CODES: Final = _REFILL + 1


@dataclass(frozen=True, slots=True)
class HostTime:
    """One region: nanoseconds a recorded step in which the device was idle, one entry a step. They do not overlap.

    `queued_ns`: before a kernel of this region that the host had launched in time. `waited_ns`: the host waited for a
    device that had nothing to do. `refill_ns`: after such a wait, as far as the host had waited for a busy device
    just before: without the wait it would have launched that much earlier. `kind_ns`: the host was late, one column
    for each of HostKind. `launches` are calls that launch one kernel, `replays` those that launch a graph.
    """

    queued_ns: tuple[int, ...]
    waited_ns: tuple[int, ...]
    refill_ns: tuple[int, ...]
    kind_ns: tuple[tuple[int, ...], ...]
    launches: tuple[int, ...]
    replays: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HostTimes:
    """`regions` as in the timeline. `closing_ns`: idle time a recorded step in its closing synchronise.

    `is_told` False: the trace shows no host rows, or compiled graphs and no row of Dynamo's (it was recorded by an
    older torch, or cut), so that `kind_ns` would call guards Python.
    """

    regions: tuple[HostTime, ...]
    closing_ns: tuple[int, ...]
    is_told: bool
    view: HostView


@dataclass(frozen=True, slots=True)
class DeviceRows:
    """The device's rows as columns: times, the launching row where `has_launch`, region and step where `has_region`."""

    start_ns: IntColumn
    end_ns: IntColumn
    launch: IntColumn
    has_launch: BoolColumn
    region: IntColumn
    step: IntColumn
    has_region: BoolColumn


def host_times(
    trace: Trace, timeline: Timeline, busy: Intervals, device: DeviceRows, recorded: tuple[int, ...]
) -> HostTimes:
    """`busy` is when the device worked, for any region; on a CPU, when an operator that works was the innermost."""
    codes = host_codes(trace)
    rows = _host_rows(trace, timeline, codes)
    closing = _closing(trace, timeline, rows, codes)
    queued, queued_idle = _queued(trace, timeline, device)
    steps = union(timeline.step_start_ns, closing)
    idle = subtract(subtract(subtract(steps, busy), queued_idle), own_cost(trace))
    waits = rows[codes[rows] == WAITS]
    waits = waits[~np.isin(trace.start_ns[waits], closing)]
    view = HostView(codes, rows, innermost(trace, rows) if timeline.steps else None)
    spent = _spent(timeline, view, (idle, _refill(trace, timeline, waits, busy)))
    tails = union(closing, timeline.step_end_ns)
    launches, replays = _launch_calls(trace, timeline)
    regions = tuple(
        HostTime(
            queued_ns=_taken(queued[number], recorded),
            waited_ns=_taken(spent[number, :, WAITS], recorded),
            refill_ns=_taken(spent[number, :, _REFILL], recorded),
            kind_ns=tuple(_taken(spent[number, :, code], recorded) for code in range(len(KINDS))),
            launches=_taken(launches[number], recorded),
            replays=_taken(replays[number], recorded),
        )
        for number in range(len(timeline.regions))
    )
    at_end = subtract(subtract(_waits(trace, rows, codes), busy), queued_idle)
    closing_ns = _in_steps(intersect(at_end, tails), timeline, recorded)
    return HostTimes(regions, closing_ns, _is_told(timeline, trace, rows), view)


def _host_rows(trace: Trace, timeline: Timeline, codes: IntColumn) -> IntColumn:
    """The rows that say what the host does, of the threads that feed the device; of all threads where none launches
    (on a CPU). Others (a loader's, a pinning thread's) run beside.
    """
    launch = trace.rows(EventKind.LAUNCH)
    feeding = trace.thread[launch if launch.size else trace.rows(EventKind.CPU_OP)]
    threads = distinct(np.concatenate((feeding, np.asarray([t.thread for t in timeline.threads], dtype=np.int64))))
    rows: IntColumn = np.flatnonzero((codes != UNSEEN) & np.isin(trace.thread, threads)).astype(np.int64)
    return rows


def _closing(trace: Trace, timeline: Timeline, rows: IntColumn, codes: IntColumn) -> IntColumn:
    """When each step began to wait for its end: the start of its last synchronise if nothing follows, else its end."""
    closing = timeline.step_end_ns.copy()
    step = timeline.step_at(trace.start_ns[rows])
    own = np.flatnonzero(step != NOWHERE)
    last = np.full(timeline.steps, NOBODY, dtype=np.int64)
    # Rows come by start: of those of one step the last one stays.
    last[step[own]] = rows[own]
    waits = np.flatnonzero((last != NOBODY) & (codes[last] == WAITS)) if rows.size else own
    closing[waits] = trace.start_ns[last[waits]]
    return closing


def _queued(trace: Trace, timeline: Timeline, device: DeviceRows) -> tuple[IntColumn, Intervals]:
    """Idle time before rows that were launched in time, by region and step, and when that was.

    A row was in time if its call had returned before the device fell idle, or if it is not the first of its call (the
    kernels of a graph's replay).
    """
    spent = np.zeros((len(timeline.regions), max(timeline.steps, 1)), dtype=np.int64)
    order = np.argsort(device.start_ns, kind="stable")
    if not order.size:
        return spent, EMPTY
    start, launch = device.start_ns[order], device.launch[order]
    free = np.concatenate((start[:1], np.maximum.accumulate(device.end_ns[order])[:-1]))
    is_later = np.ones(order.size, dtype=np.bool_)
    is_later[np.unique(launch, return_index=True)[1]] = False
    in_time = device.has_launch[order] & (is_later | (trace.ends(launch) <= free))
    own = np.flatnonzero(in_time & device.has_region[order] & (start > free))
    np.add.at(spent, (device.region[order][own], device.step[order][own]), start[own] - free[own])
    return spent, union(free[own], start[own])


def _waits(trace: Trace, rows: IntColumn, codes: IntColumn) -> Intervals:
    waits = rows[codes[rows] == WAITS]
    return union(trace.start_ns[waits], trace.ends(waits))


def _refill(trace: Trace, timeline: Timeline, waits: IntColumn, busy: Intervals) -> Intervals:
    """For each wait inside a step, as much time after it, in that step, as the device worked during it."""
    step = timeline.step_at(trace.start_ns[waits])
    start, end = trace.start_ns[waits[step != NOWHERE]], trace.ends(waits[step != NOWHERE])
    reach = end + busy.before(end) - busy.before(start)
    return union(end, np.minimum(reach, timeline.step_end_ns[step[step != NOWHERE]]))


def _spent(timeline: Timeline, view: HostView, when: tuple[Intervals, Intervals]) -> IntColumn:
    """Idle nanoseconds by region, step and code: time is cut at every edge, and each piece has one innermost row.

    Threads are taken together: where several have a row open, the one opened last is what feeds the device.
    """
    idle, refill = when
    spent = np.zeros((len(timeline.regions), max(timeline.steps, 1), _CODES), dtype=np.int64)
    spans = [span for span in timeline.spans if span.end_ns > span.start_ns]
    inner, codes = view.inner, view.codes
    if not spans or inner is None:
        return spent
    span_start = np.asarray([span.start_ns for span in spans], dtype=np.int64)
    edges = (idle.start_ns, idle.end_ns, refill.start_ns, refill.end_ns, span_start, inner.start_ns)
    points = distinct_of_ordered(*edges)
    start, length = points[:-1], np.diff(points)
    keep = idle.contains(start)
    start, length = start[keep], length[keep]
    owner = inner.at(start)
    code = np.where(owner == NOBODY, _PYTHON, codes[owner]) if owner.size else owner
    code = np.where((code == _BYTECODE) & (inner.length_at(start) > LONGEST_BYTECODE_NS), _PYTHON, code)
    code = np.where((code != WAITS) & refill.contains(start), _REFILL, code)
    span = np.searchsorted(span_start, start, side="right") - 1
    region = np.asarray([s.region for s in spans], dtype=np.int64)[span]
    step = np.asarray([s.step for s in spans], dtype=np.int64)[span]
    np.add.at(spent, (region, step, code), length)
    return spent


def _launch_calls(trace: Trace, timeline: Timeline) -> tuple[IntColumn, IntColumn]:
    """Kernel launches and graph launches by region and step; copies and memsets are neither."""
    rows = trace.rows(EventKind.LAUNCH)
    region, step = timeline.region_at(trace.start_ns[rows], trace.thread[rows]), timeline.step_at(trace.start_ns[rows])
    counts = []
    for word in ("Kernel", "Graph"):
        named = np.asarray([word in name for name in trace.names] or [False], dtype=np.bool_)
        own = named[trace.name_id[rows]] & (region != NOWHERE)
        count = np.zeros((len(timeline.regions), max(timeline.steps, 1)), dtype=np.int64)
        np.add.at(count, (region[own], step[own]), 1)
        counts.append(count)
    return counts[0], counts[1]


def _in_steps(time: Intervals, timeline: Timeline, recorded: tuple[int, ...]) -> tuple[int, ...]:
    ends = time.before(timeline.step_end_ns) - time.before(timeline.step_start_ns)
    return _taken(ends, recorded)


def _taken(values: IntColumn, recorded: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(values[step]) for step in recorded)


def _is_told(timeline: Timeline, trace: Trace, rows: IntColumn) -> bool:
    has_graphs = any(isinstance(region, GraphKey) for region in timeline.regions)
    return bool(rows.size) and (GUARDS_ROW in trace.names or not has_graphs)
