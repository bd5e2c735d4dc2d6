"""Which region of a step each device row belongs to, by where its launch lies; its own start says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from analyzer.core.distinct import distinct
from analyzer.core.graphs import GapKey, Region
from analyzer.core.intervals import Intervals, subtract, union
from analyzer.core.quantities import some_have
from analyzer.core.report import Attributed
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.host_rows import HostView
from analyzer.derive.host_time import DeviceRows, HostTime, HostTimes, host_times
from analyzer.derive.host_work import own_time
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY, Nesting, nesting
from analyzer.derive.preparation import without_preparation
from analyzer.derive.timeline import NOWHERE, Timeline, cut

_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)

NOT_RECORDED: Final = (
    "calls that launch device work were recorded, but no device rows: the profiler ran without the tracer of the "
    "device's maker (CUPTI, roctracer and the like)"
)


CUT_OFF: Final = (
    "rows are missing from its file, which may have been work at any time: copy the file again, or record it again"
)


@dataclass(frozen=True, slots=True)
class Work:
    """One column value a device row. A value whose `has_` mask is False is not known.

    `row` is its trace row; on a CPU that is the operator that works. `own_ns` is its duration, on a CPU without what
    it calls. `launch` and `op` are trace rows: the call that launched it and the innermost operator around that call.
    `region` indexes `Attribution.regions`.
    """

    row: IntColumn
    own_ns: IntColumn
    launch: IntColumn
    has_launch: BoolColumn
    op: IntColumn
    has_op: BoolColumn
    step: IntColumn
    region: IntColumn
    has_region: BoolColumn

    def __len__(self) -> int:
        return int(self.row.size)

    def linked(self, trace: Trace, *kinds: EventKind) -> tuple[IntColumn, IntColumn]:
        """The device rows of these kinds whose launch is known, and the rows of their launches."""
        own = np.flatnonzero(self.has_launch & trace.are(self.row, *kinds))
        return self.row[own], self.launch[own]


@dataclass(frozen=True, slots=True)
class RegionWork:
    """What one region did in the profiled pass: one entry a recorded step, in order of the steps.

    `busy_ns` is the union of its device rows, `copy_only_ns` the part of it with no kernel beside a copy or memset.
    `idle_sync_ns` is how long the host waited in it with nothing running on the device. `elapsed_ns` is its host
    time, and slowed by the profiler. `host` says why the device was idle. `devices` is how many worked for it, and
    `busiest_ns` the busy time of the one that worked longest: `busy_ns` is when any of them did.
    """

    region: Region
    calls: int
    kernels: tuple[int, ...]
    copies: tuple[int, ...]
    busy_ns: tuple[int, ...]
    copy_only_ns: tuple[int, ...]
    idle_sync_ns: tuple[int, ...]
    elapsed_ns: tuple[int, ...]
    host: HostTime
    devices: int
    busiest_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Attribution:
    """`steps` were marked in the trace; those with device rows, when any has some, are `recorded_steps`.

    `parent_op` is, for each row of the trace, the operator around it where `has_parent_op`. `is_host` when the
    device is the CPU, whose work is the own time of operators. `closing_ns` is idle time a recorded step in its
    closing synchronise; `tells_host` whether the trace shows what the host did (see HostTimes). `ops` is how the
    operators nest.
    """

    trace: Trace
    work: Work
    regions: tuple[RegionWork, ...]
    steps: int
    recorded_steps: tuple[int, ...]
    parent_op: IntColumn
    has_parent_op: BoolColumn
    is_host: bool
    attributed: Attributed
    closing_ns: tuple[int, ...]
    tells_host: bool
    ops: Nesting
    notes: tuple[str, ...] = ()
    host_view: HostView | None = None
    """What was made of the host's rows, for who asks them again; None in one that was not made of a trace."""

    def region(self, key: Region) -> RegionWork | None:
        return next((r for r in self.regions if r.region == key), None)


def attribute(trace: Trace) -> Attribution:
    """Every device row of a trace to a graph, to an eager gap, or to neither; each is counted once.

    Only rows launched inside a step (`ProfilerStep#N`) have a region. A trace without device rows and without any
    call of a device runtime is one of a CPU, whose operators play the kernels' part; but not one that lacks rows.
    """
    trace, ours = without_preparation(trace)
    timeline = cut(trace)
    is_host = not trace.facts.lacks_rows and not trace.rows(*DEVICE_KINDS, *_CALLS).size
    ops = nesting(trace, trace.rows(EventKind.CPU_OP))
    stretches, work = _host_work(trace, timeline, ops) if is_host else _device_work(trace, timeline, ops)
    recorded = _recorded_steps(timeline, work)
    host = _host(trace, timeline, work, stretches, recorded)
    return Attribution(
        trace=trace,
        work=work,
        regions=_regions(trace, timeline, work, stretches, recorded, host),
        steps=timeline.steps,
        recorded_steps=recorded,
        parent_op=np.where(ops.parent == NOBODY, 0, ops.parent),
        has_parent_op=ops.parent != NOBODY,
        is_host=is_host,
        attributed=_attributed(timeline, work),
        closing_ns=host.closing_ns,
        tells_host=host.is_told,
        ops=ops,
        notes=(*_notes(trace, timeline, work, recorded), *_own_note(ours)),
        host_view=host.view,
    )


def lacks_device_rows(trace: Trace, work: Work) -> bool:
    """Whether work was launched of which no row tells. Rows of a device whose words are not known are rows."""
    return not len(work) and not trace.facts.unread_device_rows and trace.rows(EventKind.LAUNCH).size > 0


def _own_note(rows: int) -> tuple[str, ...]:
    return (f"{rows} device rows of the recorder itself, between steps, were left out",) if rows else ()


@dataclass(frozen=True, slots=True)
class _Stretches:
    """When the device worked, and for which row of `Work`: on a CPU, a row works in several stretches."""

    start_ns: IntColumn
    end_ns: IntColumn
    of: IntColumn


def _device_work(trace: Trace, timeline: Timeline, ops: Nesting) -> tuple[_Stretches, Work]:
    rows = trace.rows(*DEVICE_KINDS)
    launch = launches(trace, rows)
    linked = launch != NOBODY
    op = np.full(rows.size, NOBODY, dtype=np.int64)
    op[linked] = ops.at(trace.start_ns[launch[linked]], trace.thread[launch[linked]])
    work = _placed(trace, timeline, rows, trace.duration_ns[rows], launch, op)
    return _Stretches(trace.start_ns[rows], trace.ends(rows), np.arange(rows.size, dtype=np.int64)), work


def _host_work(trace: Trace, timeline: Timeline, ops: Nesting) -> tuple[_Stretches, Work]:
    start, end, owner = own_time(trace, ops)
    rows, of = np.unique(owner, return_inverse=True)
    own = np.zeros(rows.size, dtype=np.int64)
    np.add.at(own, of, end - start)
    work = _placed(trace, timeline, rows, own, rows, rows)
    return _Stretches(start, end, of.astype(np.int64)), work


def _placed(
    trace: Trace,
    timeline: Timeline,
    rows: IntColumn,
    own_ns: IntColumn,
    launch: IntColumn,
    op: IntColumn,
) -> Work:
    region = np.full(rows.size, NOWHERE, dtype=np.int64)
    step = np.full(rows.size, NOWHERE, dtype=np.int64)
    linked = launch != NOBODY
    moments = trace.start_ns[launch[linked]]
    region[linked] = timeline.region_at(moments, trace.thread[launch[linked]])
    step[linked] = timeline.step_at(moments)
    has_region = region != NOWHERE
    return Work(
        row=rows,
        own_ns=own_ns,
        launch=np.where(linked, launch, 0),
        has_launch=linked,
        op=np.where(op == NOBODY, 0, op),
        has_op=op != NOBODY,
        step=np.where(has_region, step, 0),
        region=np.where(has_region, region, 0),
        has_region=has_region,
    )


def _recorded_steps(timeline: Timeline, work: Work) -> tuple[int, ...]:
    """Steps with no device row, beside others with some, lost theirs (30 of 32 in TraceLens#297): they say nothing."""
    seen = distinct(work.step[work.has_region]).tolist()
    return tuple(seen) if seen else tuple(range(timeline.steps))


def _host(trace: Trace, timeline: Timeline, work: Work, stretches: _Stretches, recorded: tuple[int, ...]) -> HostTimes:
    # On a CPU nothing is launched ahead, so that nothing can be queued.
    ahead = trace.are(work.row, *DEVICE_KINDS)
    device = DeviceRows(
        start_ns=trace.start_ns[work.row[ahead]],
        end_ns=trace.ends(work.row[ahead]),
        launch=work.launch[ahead],
        has_launch=work.has_launch[ahead],
        region=work.region[ahead],
        step=work.step[ahead],
        has_region=work.has_region[ahead],
    )
    return host_times(trace, timeline, union(stretches.start_ns, stretches.end_ns), device, recorded)


def _regions(
    trace: Trace,
    timeline: Timeline,
    work: Work,
    stretches: _Stretches,
    recorded: tuple[int, ...],
    host: HostTimes,
) -> tuple[RegionWork, ...]:
    is_kernel = ~trace.are(work.row, EventKind.COPY, EventKind.MEMSET)
    everything = union(stretches.start_ns, stretches.end_ns)
    syncs = trace.rows(EventKind.SYNC)
    sync_region = timeline.region_at(trace.start_ns[syncs], trace.thread[syncs])
    sync_step = np.where(sync_region == NOWHERE, NOWHERE, timeline.step_at(trace.start_ns[syncs]))
    work_step = np.where(work.has_region, work.step, NOWHERE)
    rows = _by_place(work.region, work_step, recorded, len(timeline.regions))
    pieces = _by_place(work.region[stretches.of], work_step[stretches.of], recorded, len(timeline.regions))
    waits = _by_place(sync_region, sync_step, recorded, len(timeline.regions))
    elapsed = np.zeros((len(timeline.regions), max(timeline.steps, 1)), dtype=np.int64)
    for span in timeline.spans:
        elapsed[span.region, span.step] += span.end_ns - span.start_ns
    found = []
    for number, region in enumerate(timeline.regions):
        own, kernels = rows[number], [is_kernel[places] for places in rows[number]]
        busy = [_busy(stretches, places) for places in pieces[number]]
        kernel_busy = [_busy(stretches, places[is_kernel[stretches.of[places]]]) for places in pieces[number]]
        devices = distinct(trace.device[work.row[np.concatenate(own)]]) if own else np.empty(0, dtype=np.int64)
        found.append(
            RegionWork(
                region=region,
                calls=int(timeline.calls[number]),
                kernels=tuple(int(mask.sum()) for mask in kernels),
                copies=tuple(int((~mask).sum()) for mask in kernels),
                busy_ns=tuple(b.length_ns for b in busy),
                copy_only_ns=tuple(subtract(b, k).length_ns for b, k in zip(busy, kernel_busy, strict=True)),
                idle_sync_ns=tuple(_idle(trace, syncs[places], everything) for places in waits[number]),
                elapsed_ns=tuple(int(elapsed[number, s]) for s in recorded),
                host=host.regions[number],
                devices=int(devices.size),
                # Of one device that is the busy time itself, which takes a third of the time of all this to find.
                busiest_ns=tuple(b.length_ns for b in busy)
                if devices.size <= 1
                else tuple(_busiest_ns(trace, work, stretches, places, devices) for places in pieces[number]),
            )
        )
    return tuple(found)


def _by_place(region: IntColumn, step: IntColumn, recorded: tuple[int, ...], regions: int) -> list[list[IntColumn]]:
    """By region and recorded step the places of these rows, in order: sorted once, however many regions there are.

    Rows without a step (NOWHERE) are left out.
    """
    known = np.asarray(recorded, dtype=np.int64)
    inside = np.flatnonzero(np.isin(step, known))
    place = region[inside] * known.size + np.searchsorted(known, step[inside])
    order = np.argsort(place, kind="stable")
    begins = np.searchsorted(place[order], np.arange(regions * known.size + 1))
    pieces = [inside[order[a:b]] for a, b in pairwise(begins.tolist())]
    return [pieces[known.size * number : known.size * (number + 1)] for number in range(regions)]


def _busy(stretches: _Stretches, places: IntColumn) -> Intervals:
    return union(stretches.start_ns[places], stretches.end_ns[places])


def _busiest_ns(trace: Trace, work: Work, stretches: _Stretches, places: IntColumn, devices: IntColumn) -> int:
    """The busy time of the device that worked longest; 0 without any."""
    device = trace.device[work.row[stretches.of[places]]]
    return max((_busy(stretches, places[device == one]).length_ns for one in devices.tolist()), default=0)


def _idle(trace: Trace, waits: IntColumn, busy: Intervals) -> int:
    waiting = union(trace.start_ns[waits], trace.ends(waits))
    return waiting.length_ns - int((busy.before(waiting.end_ns) - busy.before(waiting.start_ns)).sum())


def _attributed(timeline: Timeline, work: Work) -> Attributed:
    is_gap = np.asarray([isinstance(region, GapKey) for region in timeline.regions] or [False], dtype=np.bool_)
    in_gap = work.has_region & is_gap[work.region]
    total, gap = int(work.own_ns.sum()), int(work.own_ns[in_gap].sum())
    unlinked = int(work.own_ns[~work.has_region].sum())
    return Attributed(
        kernel_ns=total,
        linked_ns=total - gap - unlinked,
        gap_ns=gap,
        unlinked_ns=unlinked,
        kernels=len(work),
        unlinked_kernels=int((~work.has_region).sum()),
    )


def _notes(trace: Trace, timeline: Timeline, work: Work, recorded: tuple[int, ...]) -> tuple[str, ...]:
    notes = []
    if not timeline.steps and len(trace):
        notes.append("no step is marked (ProfilerStep#N), so that no device row belongs to one")
    if lacks_device_rows(trace, work):
        notes.append(NOT_RECORDED)
    if len(recorded) < timeline.steps:
        lacking = some_have(timeline.steps - len(recorded), timeline.steps, "step")
        notes.append(f"{lacking} no device rows: left out")
    no_launch = int((~work.has_launch).sum())
    if no_launch:
        notes.append(f"{no_launch} device rows have no launch row")
    outside = int((work.has_launch & ~work.has_region).sum())
    if outside:
        notes.append(f"{outside} device rows were launched outside the steps")
    return tuple(notes)
