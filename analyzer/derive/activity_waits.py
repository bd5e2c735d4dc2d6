"""Where the host waited for the device, what each wait costs, and the copies of a step."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.activity import CopyDirection, CopyGroup, HostMemory, HostWait
from analyzer.core.distinct import distinct
from analyzer.core.graphs import Region
from analyzer.core.intervals import Intervals, subtract, union
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.activity_calls import FREEING
from analyzer.derive.activity_saving import Replay, Stretches
from analyzer.derive.activity_scene import Scene, covered_ns
from analyzer.derive.idle_reasons import LONGEST_LAUNCH_NS
from analyzer.derive.nesting import NOBODY

_HOLDING_COPY: Final = re.compile(r"(?:cuda|hip)Memcpy(?:2D|3D|(?:To|From)Symbol|WithStream)?(?:_v\d+)?(?:_ptsz)?")
"""Copies that return when they are done. hipMemcpyWithStream is ROCm's name for a copy and its wait."""

_DIRECTIONS: Final = (
    (re.compile(r"Memcpy HtoD\b.*|CopyHostToDevice"), CopyDirection.TO_DEVICE),
    (re.compile(r"Memcpy DtoH\b.*|CopyDeviceToHost"), CopyDirection.TO_HOST),
    (re.compile(r"Memcpy DtoD\b.*|CopyDeviceToDevice"), CopyDirection.ON_DEVICE),
    (re.compile(r"Memcpy PtoP\b.*"), CopyDirection.BETWEEN_DEVICES),
)
"""Kineto's names of copies (`Memcpy HtoD (Pageable -> Device)`), and early roctracer's."""

_MEMORIES: Final = (
    (re.compile(r".*\bPageable\b.*"), HostMemory.PAGEABLE),
    (re.compile(r".*\bPinned\b.*"), HostMemory.PINNED),
)


def direction_of(name: str) -> CopyDirection | None:
    """The direction of a copy by the name of its row; None for an unknown name."""
    return next((direction for pattern, direction in _DIRECTIONS if pattern.fullmatch(name)), None)


def host_memory_of(name: str) -> HostMemory | None:
    """The kind of the host's memory by the name of a copy's row; None where it does not say."""
    return next((memory for pattern, memory in _MEMORIES if pattern.fullmatch(name)), None)


def holds(scene: Scene) -> Stretches:
    """All stretches in which a thread that launches work was held until the device was done, by their ends.

    The closing waits of the steps are among them, and calls that free memory, which wait as well. A wait of another
    thread (one that pins memory) holds up nothing.
    """
    trace = scene.trace
    syncs = trace.rows(EventKind.SYNC)
    frees = trace.named(FREEING.fullmatch, EventKind.RUNTIME)
    copies, copied_ns = holding_copies(trace, *scene.attribution.work.linked(trace, EventKind.COPY))
    rows = np.concatenate((syncs, frees, copies))
    ends = np.concatenate((trace.ends(syncs), trace.ends(frees), np.minimum(trace.ends(copies), copied_ns)))
    launching = distinct(trace.thread[scene.inside(trace.rows(EventKind.LAUNCH))])
    keep = scene.is_recorded(trace.start_ns[rows]) & np.isin(trace.thread[rows], launching)
    rows, ends = rows[keep], ends[keep]
    order = np.lexsort((rows, ends))
    return Stretches(rows[order], trace.start_ns[rows[order]], ends[order])


def host_waits(scene: Scene, all_holds: Stretches, replay: Replay) -> tuple[HostWait, ...]:
    """The waits of a step by call, operators and region, dearest first. Calls that free memory are told elsewhere."""
    trace = scene.trace
    is_wait = trace.are(all_holds.row, EventKind.SYNC, EventKind.LAUNCH)
    numbers = np.flatnonzero(is_wait & ~np.isin(all_holds.row, scene.closing))
    if not numbers.size:
        return ()
    rows = all_holds.row[numbers]
    ops, regions = scene.inner_ops(rows), scene.regions_of(rows)
    directions = _waited_directions(scene, rows, ops)
    groups: dict[_Place, list[int]] = defaultdict(list)
    for i, number in enumerate(numbers.tolist()):
        # A copy to the device holds the host in its own call and in the wait behind it: one place, one wait.
        call = trace.name(int(rows[i])) if ops[i] == NOBODY else None
        groups[_Place(call, scene.path(int(ops[i])), regions[i], directions[i])].append(number)
    op_of = dict(zip(numbers.tolist(), ops.tolist(), strict=True))
    waited = {place: sum(replay.holds[m].whole_ns for m in members) for place, members in groups.items()}
    costs = _costs(replay, [frozenset(members) for members in groups.values()], list(waited.values()))
    idle, crossed = _idle_after_ns(scene, all_holds), _is_crossed(scene, all_holds)
    for_nothing = _is_for_nothing(scene, all_holds)
    found = []
    for (place, members), cost in zip(groups.items(), costs, strict=True):
        # The last wait of each call of an operator: the idle time behind the others is the same one.
        last = {op_of[m] if op_of[m] != NOBODY else -m - 2: m for m in members}
        found.append(
            HostWait(
                call=trace.name(int(all_holds.row[max(members, key=lambda m: replay.holds[m].whole_ns)])),
                ops=place.ops,
                region=place.region,
                direction=place.direction,
                count=len(last) / scene.steps,
                waited_ns=scene.a_step(waited[place]),
                idle_ns=scene.a_step(scene.host_scale * int(idle[list(last.values())].sum())),
                cost_ns=None if (crossed | for_nothing)[members].any() else scene.a_step(cost),
                is_for_nothing=bool(for_nothing[members].any()),
            )
        )
    return tuple(sorted(found, key=lambda w: (-(w.cost_ns or 0), -w.waited_ns, w.call, w.ops, str(w.region))))


def copy_groups(scene: Scene, all_holds: Stretches) -> tuple[CopyGroup, ...]:
    """The copies of a step by kind, operators and region, longest first. Those launched outside steps are left out."""
    work, trace = scene.attribution.work, scene.trace
    own = np.flatnonzero(
        work.has_region & (trace.kind[work.row] == EventKind.COPY) & scene.is_recorded(trace.start_ns[work.launch])
    )
    if not own.size:
        return ()
    regions = scene.attribution.regions
    # An operator that copies and one that waits in it: `aten::copy_` calls cudaMemcpyAsync, then cudaStreamSynchronize.
    waiting = {int(op) for op in scene.inner_ops(all_holds.row).tolist() if op != NOBODY}
    holding = set(all_holds.row.tolist())
    groups: dict[tuple[str, tuple[str, ...], Region, bool], list[int]] = defaultdict(list)
    for i in own.tolist():
        op = int(work.op[i]) if work.has_op[i] else NOBODY
        is_held = int(work.launch[i]) in holding or op in waiting
        path = scene.path(op) if op != NOBODY else ()
        groups[trace.name(int(work.row[i])), path, regions[int(work.region[i])].region, is_held].append(i)
    kernels = _kernel_time(trace)
    found = []
    for (name, path, region, is_held), members in groups.items():
        rows = work.row[members]
        span = union(trace.start_ns[rows], trace.ends(rows))
        found.append(
            CopyGroup(
                direction=direction_of(name),
                host_memory=host_memory_of(name),
                ops=path,
                region=region,
                count=len(members) / scene.steps,
                bytes=_bytes(scene, rows),
                device_ns=scene.a_step(int(trace.duration_ns[rows].sum())),
                exposed_ns=scene.a_step(subtract(span, kernels).length_ns),
                holds_host=is_held,
            )
        )
    return tuple(sorted(found, key=lambda c: (-c.device_ns, str(c.direction), c.ops, str(c.region), c.holds_host)))


@dataclass(frozen=True, slots=True)
class _Place:
    """What tells one kind of wait from another. `call` only outside of any operator."""

    call: str | None
    ops: tuple[str, ...]
    region: Region
    direction: CopyDirection | None


def _costs(replay: Replay, groups: list[frozenset[int]], waited_ns: list[float]) -> list[float]:
    """What each group of waits costs. Together they cost what being rid of all of them saves.

    Of two waits with nothing between them, either alone saves nothing: the other one waits in its place. Each group
    weighs the mean of what it saves as the first to go and as the last (for two groups that is the Shapley value), and
    costs no more than was waited in it.
    """
    everything = frozenset().union(*groups)
    left = replay.saved_ns(everything)
    weights = [(replay.saved_ns(group) + left - replay.saved_ns(everything - group)) / 2 for group in groups]
    costs = [0.0] * len(groups)
    free = [i for i, weight in enumerate(weights) if weight > 0]
    while free:
        rate = left / sum(weights[i] for i in free)
        full = [i for i in free if weights[i] * rate >= waited_ns[i]]
        for i in full or free:
            costs[i] = min(waited_ns[i], weights[i] * rate)
            left -= costs[i]
        free = [i for i in free if i not in full] if full else []
    return costs


def _waited_directions(scene: Scene, rows: IntColumn, ops: IntColumn) -> tuple[CopyDirection | None, ...]:
    """The direction of the copy that each of these waits is for: its own, else the last one its operator launched."""
    trace = scene.trace
    copies, launch = scene.attribution.work.linked(trace, EventKind.COPY)
    if not copies.size:
        return (None,) * rows.size
    op = scene.inner_ops(launch)
    by_call, by_op = np.argsort(launch, kind="stable"), np.lexsort((launch, op))
    # An operator and a row as one number, in which the rows of one operator come in their order.
    of_op = op[by_op] * len(trace) + launch[by_op]
    own = np.searchsorted(launch[by_call], rows, side="right") - 1
    before = np.searchsorted(of_op, ops * len(trace) + rows) - 1
    is_own = (own >= 0) & (launch[by_call[own]] == rows)
    is_before = (before >= 0) & (op[by_op[before]] == ops) & (ops != NOBODY)
    copy = np.where(is_own, copies[by_call[own]], copies[by_op[before]])
    directions = [direction_of(name) for name in trace.names]
    names = np.where(is_own | is_before, trace.name_id[copy], NOBODY).tolist()
    return tuple(None if name == NOBODY else directions[name] for name in names)


def holding_copies(trace: Trace, copies: IntColumn, launch: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Of the launches of these copies those that return only when their copy is done, and when it was.

    A copy to pageable memory is such a call, whatever its name; one from pageable memory may return once the driver
    has the data, and holds the host only until then (CUDA API, synchronisation behaviour of memcpy).
    """
    is_pageable = np.asarray([host_memory_of(name) is HostMemory.PAGEABLE for name in trace.names], dtype=np.bool_)
    is_holding = np.asarray([_HOLDING_COPY.fullmatch(name) is not None for name in trace.names], dtype=np.bool_)
    if not copies.size:
        return copies, copies
    keep = is_pageable[trace.name_id[copies]] | is_holding[trace.name_id[launch]]
    calls, of = np.unique(launch[keep], return_inverse=True)
    done = np.zeros(calls.size, dtype=np.int64)
    np.maximum.at(done, of, trace.ends(copies[keep]))
    held = done > trace.start_ns[calls]
    return calls[held].astype(np.int64), done[held]


def _idle_after_ns(scene: Scene, all_holds: Stretches) -> IntColumn:
    """How long the device had nothing to do from each wait on, until the first work launched after it, or the end of
    the step, or the begin of its closing wait.
    """
    trace, busy = scene.trace, scene.busy
    rows, launch = scene.attribution.work.linked(trace, *DEVICE_KINDS)
    order = np.argsort(trace.start_ns[launch], kind="stable")
    launched_ns = trace.start_ns[launch[order]]
    limit = np.iinfo(np.int64).max
    starts = np.concatenate((trace.start_ns[rows[order]], [limit]))
    first_ns = np.minimum.accumulate(starts[::-1])[::-1]
    step = np.searchsorted(scene.starts_ns, all_holds.start_ns, side="right") - 1
    step_end = _without_closing(scene)[step]
    until = np.minimum(first_ns[np.searchsorted(launched_ns, all_holds.end_ns, side="left")], step_end)
    last = np.searchsorted(busy.start_ns, all_holds.end_ns, side="left") - 1
    done = np.where(last >= 0, busy.end_ns[last], all_holds.start_ns) if len(busy) else all_holds.start_ns
    since = np.minimum(all_holds.end_ns, np.maximum(all_holds.start_ns, done))
    until = np.maximum(since, until)
    return until - since - covered_ns(busy, since, until)


def _without_closing(scene: Scene) -> IntColumn:
    """The ends of the steps, or the begins of their closing waits."""
    ends = scene.ends_ns.copy()
    at = scene.trace.start_ns[scene.closing]
    ends[np.searchsorted(scene.starts_ns, at, side="right") - 1] = at
    return ends


def _is_crossed(scene: Scene, all_holds: Stretches) -> BoolColumn:
    """Whether another thread launched work during each wait: being rid of it would then not move all later launches."""
    trace = scene.trace
    calls = trace.rows(EventKind.LAUNCH)
    everyone = _inside(np.sort(trace.start_ns[calls]), all_holds)
    own = np.zeros(len(all_holds), dtype=np.int64)
    for thread in distinct(trace.thread[all_holds.row]).tolist():
        mine = trace.thread[all_holds.row] == thread
        own[mine] = _inside(np.sort(trace.start_ns[calls[trace.thread[calls] == thread]]), all_holds)[mine]
    return np.asarray(everyone > own, dtype=np.bool_)


def _is_for_nothing(scene: Scene, all_holds: Stretches) -> BoolColumn:
    """Whether the device was idle within most of each wait, and for so long that it was not for work that was recorded:
    code that is loaded at its first use (463 ms in a public trace of an MI300X), or work that the profiler lost.
    """
    busy_ns = covered_ns(scene.busy, all_holds.start_ns, all_holds.end_ns)
    idle_ns = all_holds.end_ns - all_holds.start_ns - busy_ns
    return np.asarray((idle_ns > LONGEST_LAUNCH_NS) & (idle_ns > busy_ns), dtype=np.bool_)


def _inside(moments_ns: IntColumn, stretches: Stretches) -> IntColumn:
    before = np.searchsorted(moments_ns, stretches.start_ns, side="right")
    return np.asarray(np.searchsorted(moments_ns, stretches.end_ns, side="left") - before, dtype=np.int64)


def _kernel_time(trace: Trace) -> Intervals:
    kernels = trace.rows(EventKind.KERNEL)
    return union(trace.start_ns[kernels], trace.ends(kernels))


def _bytes(scene: Scene, rows: IntColumn) -> int | None:
    """The bytes of these copies in a step; None where one of them does not say."""
    details = [scene.trace.detail(row) for row in rows.tolist()]
    known = [d.bytes for d in details if d is not None and d.bytes is not None]
    return scene.a_step(sum(known)) if len(known) == len(details) else None
