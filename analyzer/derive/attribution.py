"""Which region of a step each device row belongs to, by where its launch lies; its own start says nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.distinct import distinct
from analyzer.core.graphs import GapKey, Region
from analyzer.core.intervals import Intervals, intersect, subtract, union
from analyzer.core.report import Attributed
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.host_time import DeviceRows, HostTime, HostTimes, host_times
from analyzer.derive.host_work import own_time
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY, innermost_at, parents
from analyzer.derive.preparation import without_preparation
from analyzer.derive.timeline import NOWHERE, Timeline, cut

_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)

NOT_RECORDED: Final = "calls that launch device work were recorded, but no device rows: the profiler ran without CUPTI"


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
    closing synchronise; `tells_host` whether the trace shows what the host did (see HostTimes).
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
    notes: tuple[str, ...] = ()

    def region(self, key: Region) -> RegionWork | None:
        return next((r for r in self.regions if r.region == key), None)


def attribute(trace: Trace) -> Attribution:
    """Every device row of a trace to a graph, to an eager gap, or to neither; each is counted once.

    Only rows launched inside a step (`ProfilerStep#N`) have a region. A trace without device rows and without any
    call of a device runtime is one of a CPU, whose operators play the kernels' part.
    """
    trace, ours = without_preparation(trace)
    timeline = cut(trace)
    is_host = not trace.rows(*DEVICE_KINDS, *_CALLS).size
    ops = trace.rows(EventKind.CPU_OP)
    parent = parents(trace, ops)
    stretches, work = _host_work(trace, timeline) if is_host else _device_work(trace, timeline, ops)
    recorded = _recorded_steps(timeline, work)
    host = _host(trace, timeline, work, stretches, recorded)
    return Attribution(
        trace=trace,
        work=work,
        regions=_regions(trace, timeline, work, stretches, recorded, host),
        steps=timeline.steps,
        recorded_steps=recorded,
        parent_op=np.where(parent == NOBODY, 0, parent),
        has_parent_op=parent != NOBODY,
        is_host=is_host,
        attributed=_attributed(timeline, work),
        closing_ns=host.closing_ns,
        tells_host=host.is_told,
        notes=(*_notes(trace, timeline, work, recorded), *_own_note(ours)),
    )


def _own_note(rows: int) -> tuple[str, ...]:
    return (f"{rows} device rows of the recorder itself, between steps, were left out",) if rows else ()


@dataclass(frozen=True, slots=True)
class _Stretches:
    """When the device worked, and for which row of `Work`: on a CPU, a row works in several stretches."""

    start_ns: IntColumn
    end_ns: IntColumn
    of: IntColumn


def _device_work(trace: Trace, timeline: Timeline, ops: IntColumn) -> tuple[_Stretches, Work]:
    rows = trace.rows(*DEVICE_KINDS)
    launch = launches(trace, rows)
    linked = launch != NOBODY
    op = np.full(rows.size, NOBODY, dtype=np.int64)
    op[linked] = innermost_at(trace, ops, trace.start_ns[launch[linked]], trace.thread[launch[linked]])
    work = _placed(trace, timeline, rows, trace.duration_ns[rows], launch, op)
    return _Stretches(trace.start_ns[rows], trace.end_ns[rows], np.arange(rows.size, dtype=np.int64)), work


def _host_work(trace: Trace, timeline: Timeline) -> tuple[_Stretches, Work]:
    start, end, owner = own_time(trace)
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
    ahead = np.isin(trace.kind[work.row], DEVICE_KINDS)
    device = DeviceRows(
        start_ns=trace.start_ns[work.row[ahead]],
        end_ns=trace.end_ns[work.row[ahead]],
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
    is_kernel = ~np.isin(trace.kind[work.row], (EventKind.COPY, EventKind.MEMSET))
    syncs = trace.rows(EventKind.SYNC)
    everything = union(stretches.start_ns, stretches.end_ns)
    sync_region = timeline.region_at(trace.start_ns[syncs], trace.thread[syncs])
    sync_step = timeline.step_at(trace.start_ns[syncs])
    elapsed = np.zeros((len(timeline.regions), max(timeline.steps, 1)), dtype=np.int64)
    for span in timeline.spans:
        elapsed[span.region, span.step] += span.end_ns - span.start_ns
    found = []
    for number, region in enumerate(timeline.regions):
        own = work.has_region & (work.region == number)
        steps = [own & (work.step == s) for s in recorded]
        all_busy = [_busy(stretches, mask) for mask in steps]
        kernel_busy = [_busy(stretches, mask & is_kernel) for mask in steps]
        waits = [syncs[(sync_region == number) & (sync_step == s)] for s in recorded]
        devices = distinct(trace.device[work.row[own]]).tolist()
        on_one = [[_busy(stretches, m & (trace.device[work.row] == d)).length_ns for d in devices] for m in steps]
        found.append(
            RegionWork(
                region=region,
                calls=int(timeline.calls[number]),
                kernels=tuple(int((mask & is_kernel).sum()) for mask in steps),
                copies=tuple(int((mask & ~is_kernel).sum()) for mask in steps),
                busy_ns=tuple(b.length_ns for b in all_busy),
                copy_only_ns=tuple(subtract(b, k).length_ns for b, k in zip(all_busy, kernel_busy, strict=True)),
                idle_sync_ns=tuple(_idle(trace, wait, everything) for wait in waits),
                elapsed_ns=tuple(int(elapsed[number, s]) for s in recorded),
                host=host.regions[number],
                devices=len(devices),
                busiest_ns=tuple(max(busy, default=0) for busy in on_one),
            )
        )
    return tuple(found)


def _busy(stretches: _Stretches, mask: BoolColumn) -> Intervals:
    own = mask[stretches.of]
    return union(stretches.start_ns[own], stretches.end_ns[own])


def _idle(trace: Trace, waits: IntColumn, busy: Intervals) -> int:
    waiting = union(trace.start_ns[waits], trace.end_ns[waits])
    return waiting.length_ns - intersect(waiting, busy).length_ns


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
    if not len(work) and trace.rows(EventKind.LAUNCH).size:
        notes.append(NOT_RECORDED)
    if len(recorded) < timeline.steps:
        notes.append(
            f"{timeline.steps - len(recorded)} of {timeline.steps} steps have no device rows and were left out"
        )
    no_launch = int((~work.has_launch).sum())
    if no_launch:
        notes.append(f"{no_launch} device rows have no launch row")
    outside = int((work.has_launch & ~work.has_region).sum())
    if outside:
        notes.append(f"{outside} device rows were launched outside the steps")
    return tuple(notes)
