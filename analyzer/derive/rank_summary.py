"""One rank's trace boiled down to a few kB: what the comparison of ranks needs and nothing else."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from analyzer.core.intervals import EMPTY, Intervals, intersect, union
from analyzer.core.ranks import CollectiveMark, CollectiveUse, IdleBreakdown, RankSteps, RankSummary, Temporal
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.collectives import CollectiveCall, collectives
from analyzer.derive.host_rows import KINDS, WAITS
from analyzer.derive.idle_reasons import OUTSIDE, PROFILER, QUEUED, REFILL, UNTOLD, IdleReasons, idle_reasons
from analyzer.derive.steps import Steps, find_steps, with_step_names
from analyzer.derive.timeline import NOWHERE, step_at
from analyzer.derive.window import COLLECTIVES, COPIES, KERNELS, Window, window

MOST_MARKS: Final = 64
"""Collectives kept to match the ranks by: with their times some 100 bytes each, so that they stay below 8 kB."""

MOST_STEPS: Final = 64
"""Steps kept of a rank, the first ones: with five figures each below 4 kB."""

_NUMBERED: Final = re.compile(r"ProfilerStep[#*](\d{1,15})")

_LOADER: Final = re.compile(r"enumerate\(DataLoader\)#.*|.*DataLoaderIter\.__next__.*")

EPOCH_NS: Final = 946_684_800_000_000_000
"""The year 2000: a time below it counts from the machine's start and says nothing between machines."""


@dataclass(frozen=True, slots=True)
class RankName:
    """Who a trace is of: its source, and the rank that its name or place gives where the file names none."""

    source: str
    place: int
    hint: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """What was derived of a trace already, so that it need not be again. `window` and `idle` None: no device worked."""

    steps: Steps
    attribution: Attribution
    window: Window | None
    idle: IdleReasons | None


def cut_of(trace: Trace) -> Cut:
    steps = find_steps(trace)
    found = attribute(with_step_names(trace, steps))
    own = None if found.is_host else window(found.trace, found.work)
    return Cut(steps, found, own, None if own is None else idle_reasons(found, own, steps))


def summarize_rank(trace: Trace, name: RankName, done: Cut | None = None) -> RankSummary:
    """The summary of one rank. `done` must be of this trace."""
    done = done or cut_of(trace)
    steps, found, cut = done.steps, done.attribution, done.window
    calls = collectives(found.trace)
    said = trace.facts.distributed
    rank = said.rank if said is not None and said.rank is not None else name.hint
    is_collective = cut.rank_of == COLLECTIVES if cut else np.zeros(0, dtype=np.bool_)
    hidden = _union(found, is_collective)
    return RankSummary(
        rank=name.place if rank is None else rank,
        is_rank_known=rank is not None,
        source=name.source,
        device_name=trace.device_name,
        world_size=said.world_size if said is not None else None,
        events=len(trace),
        kernels=int(trace.rows(EventKind.KERNEL).size),
        unlinked_kernels=int((~found.work.has_launch).sum()),
        steps_ns=steps.durations_ns[:MOST_STEPS],
        steps=_steps(trace, steps, found, cut, calls),
        temporal=_temporal(cut),
        idle=_idle(done.idle),
        collective_ns=hidden.length_ns,
        overlapped_ns=intersect(hidden, _union(found, cut.rank_of == KERNELS)).length_ns if cut else 0,
        collectives=_uses(found, cut, calls),
        marks=_marks(trace, steps, calls),
        data_ns=_loading(trace),
        has_clock=trace.base_ns >= EPOCH_NS,
        notes=found.notes,
    )


def _union(found: Attribution, mask: BoolColumn) -> Intervals:
    rows = found.work.row[np.flatnonzero(mask)]
    return union(found.trace.start_ns[rows], found.trace.ends(rows))


def _temporal(cut: Window | None) -> Temporal | None:
    if cut is None:
        return None
    exposed = [int(cut.exposed_ns[cut.rank_of == level].sum()) for level in (KERNELS, COLLECTIVES, COPIES)]
    return Temporal(cut.elapsed_ns, exposed[0], exposed[1], exposed[2], cut.idle_ns)


def _idle(reasons: IdleReasons | None) -> IdleBreakdown | None:
    if reasons is None:
        return None
    ns = reasons.ns.sum(axis=0)
    return IdleBreakdown(
        host_late_ns=int(ns[: len(KINDS)].sum()),
        host_waited_ns=int(ns[WAITS] + ns[REFILL]),
        queued_ns=int(ns[QUEUED]),
        unknown_ns=int(ns[PROFILER] + ns[OUTSIDE] + ns[UNTOLD]),
    )


def _uses(found: Attribution, cut: Window | None, calls: Sequence[CollectiveCall]) -> tuple[CollectiveUse, ...]:
    if cut is None:
        return ()
    groups: dict[tuple[str, str | None], list[CollectiveCall]] = defaultdict(list)
    for call in calls:
        groups[call.what, call.group].append(call)

    def exposed_ns(own: Sequence[CollectiveCall]) -> int:
        return int(cut.exposed_ns[np.searchsorted(found.work.row, [call.row for call in own])].sum())

    return tuple(
        CollectiveUse(
            what=what,
            group=group,
            count=len(own),
            kernel_ns=sum(int(found.trace.duration_ns[call.row]) for call in own),
            exposed_ns=exposed_ns(own),
            bytes=None if any(call.bytes is None for call in own) else sum(call.bytes or 0 for call in own),
        )
        for (what, group), own in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or ""))
    )


def _steps(
    trace: Trace, steps: Steps, found: Attribution, cut: Window | None, calls: Sequence[CollectiveCall]
) -> RankSteps | None:
    if cut is None or not len(steps):
        return None
    start, end = steps.start_ns[:MOST_STEPS], steps.end_ns[:MOST_STEPS]
    busy: list[IntColumn] = []
    taken = EMPTY
    for level in (KERNELS, COLLECTIVES, COPIES):
        own = _union(found, cut.rank_of == level)
        covered = union(np.concatenate((taken.start_ns, own.start_ns)), np.concatenate((taken.end_ns, own.end_ns)))
        busy.append((covered.before(end) - covered.before(start)) - (taken.before(end) - taken.before(start)))
        taken = covered
    idle = end - start - sum(busy, np.zeros_like(start))
    began = _step_of(trace, steps, calls)
    return RankSteps(
        numbers=_numbers([trace.name(row) for row in steps.rows[:MOST_STEPS].tolist()]),
        marked=len(steps),
        compute_ns=tuple(busy[0].tolist()),
        exposed_collective_ns=tuple(busy[1].tolist()),
        exposed_copy_ns=tuple(busy[2].tolist()),
        idle_ns=tuple(idle.tolist()),
        collectives=tuple(np.bincount(began[began != NOWHERE], minlength=start.size).tolist()),
    )


def _step_of(trace: Trace, steps: Steps, calls: Sequence[CollectiveCall]) -> IntColumn:
    """Of each collective the kept step in which it began on the device, NOWHERE outside of them."""
    rows = np.asarray([call.row for call in calls], dtype=np.int64)
    return step_at(steps.start_ns[:MOST_STEPS], steps.end_ns[:MOST_STEPS], trace.start_ns[rows])


def _numbers(names: Sequence[str]) -> tuple[int, ...] | None:
    """Those that torch.profiler gave its steps, where they rise as steps do; None where others marked them."""
    found = [match for name in names if (match := _NUMBERED.fullmatch(name)) is not None]
    numbers = tuple(int(match.group(1)) for match in found)
    is_rising = all(one < other for one, other in pairwise(numbers))
    return numbers if len(numbers) == len(names) and is_rising else None


def _marks(trace: Trace, steps: Steps, calls: Sequence[CollectiveCall]) -> tuple[CollectiveMark, ...]:
    kept = calls[-MOST_MARKS:]
    return tuple(
        CollectiveMark(
            call.what,
            call.group,
            trace.base_ns + int(trace.start_ns[call.row]),
            trace.base_ns + int(trace.start_ns[call.row] + trace.duration_ns[call.row]),
            None if step == NOWHERE else step,
        )
        for call, step in zip(kept, _step_of(trace, steps, kept).tolist(), strict=True)
    )


def _loading(trace: Trace) -> int:
    rows = trace.named(_LOADER.fullmatch, EventKind.RANGE, EventKind.CPU_OP)
    return union(trace.start_ns[rows], trace.ends(rows)).length_ns
