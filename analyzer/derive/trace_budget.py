"""Where the window of a recorded trace goes: by region and part, adding up to the window to the nanosecond.

There is no clean pass: device times are as good as ever, idle times are those of a host that the profiler slowed.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np

from analyzer.core.budget import Budget, BudgetPart, HostPart, Part
from analyzer.core.device import Device
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Attribution, RegionWork
from analyzer.derive.budget import PartFloor, RegionBudget
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.host_rows import KINDS, WAITS
from analyzer.derive.host_time import HostTime
from analyzer.derive.host_work import own_time
from analyzer.derive.idle_reasons import PROFILER, QUEUED, REFILL, UNTOLD, IdleReasons, host_idle_reasons, idle_reasons
from analyzer.derive.kernel_costs import kernel_costs
from analyzer.derive.nesting import NOBODY
from analyzer.derive.region_kernels import region_kernels
from analyzer.derive.regions_from_trace import (
    HostRegions,
    RegionKind,
    TraceRegion,
    host_regions,
    key_of,
    replay_rows,
)
from analyzer.derive.steps import Steps
from analyzer.derive.window import COPIES, Window, host_window, launched_before, window

_PARTS: Final = tuple(Part)
_LABEL_NAME: Final = 40
"""Characters of a kernel's name in the label of a replay."""

MOST_POINTS: Final = 1024
"""Kernels that a verdict looks at; it takes 128 to stand for all (doubt.MOST_KERNELS), and 1 µs for each to choose."""

_HOST_WORK: Final = (EventKind.CPU_OP, EventKind.RANGE, EventKind.PYTHON)
"""Without any of these rows what lies between two launch calls may be operators as well as Python."""

EARLIER: Final = "launched before the recording"
NO_LAUNCH: Final = "no launch row"
IN_STEP: Final = "the steps"
ELSEWHERE: Final = "elsewhere in the steps"
OUTSIDE_STEPS: Final = "outside of the steps"
EVERYTHING: Final = "the whole recording"


@dataclass(frozen=True, slots=True)
class TracedRegion:
    """One region of the window. `calls` is how many host rows opened it; `rows` index `Attribution.work`."""

    region: TraceRegion
    budget: RegionBudget
    calls: int
    rows: IntColumn


@dataclass(frozen=True, slots=True)
class TraceBudget:
    """`whole` is the window's budget; those of `regions` add up to it, part by part. `region_of` indexes `regions`,
    one a row of `Attribution.work`. `part_of` indexes `Part` likewise, and `point_of` indexes `points`, the different
    kernels, NOBODY for a copy; `idle` says why the device was idle.
    """

    window: Window
    whole: Budget
    regions: tuple[TracedRegion, ...]
    region_of: IntColumn
    part_of: IntColumn
    idle: IdleReasons
    points: tuple[KernelPoint, ...]
    point_of: IntColumn


def trace_budget(attribution: Attribution, steps: Steps, device: Device) -> TraceBudget | None:
    """The budget of a recorded trace; None where it shows no work of any device."""
    trace, work = attribution.trace, attribution.work
    found = _host_window(attribution, steps) if attribution.is_host else window(trace, work)
    if found is None:
        return None
    opened = host_regions(trace, steps, work.launch[work.has_launch])
    regions, region_of = _regions(attribution, steps, opened)
    judged = _judged(attribution, regions, region_of, device)
    idle = host_idle_reasons(found, steps) if attribution.is_host else idle_reasons(attribution, found, steps)
    parts = _part_of(found, judged)
    table = _table(found, region_of, parts, idle, len(regions))
    calls = np.bincount(opened.region, minlength=len(regions)) if opened.region.size else np.zeros(len(regions), int)
    laid = _Laid(attribution, found, region_of, judged, table, idle)
    traced = tuple(_traced(laid, number, regions[number], int(calls[number])) for number in range(len(regions)))
    whole = Budget(
        found.elapsed_ns,
        tuple(BudgetPart(part, int(ns)) for part, ns in zip(_PARTS, table.sum(axis=0), strict=True) if ns),
        _starved(idle.ns, attribution),
    )
    return TraceBudget(found, whole, traced, region_of, parts, idle, judged.points, judged.number)


@dataclass(frozen=True, slots=True)
class _Judged:
    """The different kernels, and by row of `work` which it is: NOBODY for copies. The rest is by region."""

    points: tuple[KernelPoint, ...]
    number: IntColumn
    notes: tuple[tuple[str, ...], ...]
    floors: tuple[tuple[tuple[Part, float, float], ...], ...]


def _host_window(attribution: Attribution, steps: Steps) -> Window | None:
    trace = attribution.trace
    if not len(trace):
        return None
    start, end, owner = own_time(trace, attribution.ops)
    if not start.size:
        return None
    whole = (int(steps.start_ns[0]), int(steps.end_ns[-1])) if len(steps) else (int(start.min()), int(end.max()))
    return host_window(attribution.work, start, end, owner, whole)


def _regions(attribution: Attribution, steps: Steps, opened: HostRegions) -> tuple[tuple[TraceRegion, ...], IntColumn]:
    """The regions and, for each row of `work`, its one."""
    trace, work = attribution.trace, attribution.work
    launch = work.launch
    at = np.full(len(work), NOBODY, dtype=np.int64)
    linked = np.flatnonzero(work.has_launch)
    at[linked] = opened.at(trace, trace.start_ns[launch[linked]], trace.thread[launch[linked]])
    regions = list(opened.regions)
    numbers = {region.key: i for i, region in enumerate(regions)}

    def number_of(region: TraceRegion) -> int:
        if region.key not in numbers:
            numbers[region.key] = len(regions)
            regions.append(region)
        return numbers[region.key]

    compiled = np.asarray([r.kind is RegionKind.COMPILED for r in opened.regions] or [False], dtype=np.bool_)
    replayed = replay_rows(trace, launch, work.has_launch) & ~(compiled[np.maximum(at, 0)] & (at != NOBODY))
    for rows, region in _replays(trace, work.row, launch, replayed):
        at[rows] = number_of(region)
    left = work.has_launch & (at == NOBODY)
    inside = steps.hold(trace.start_ns[launch])
    has_regions = bool(opened.regions) or bool(replayed.any())
    for mask, region in (
        (left & inside, _plain(ELSEWHERE if has_regions else IN_STEP, RegionKind.STEP)),
        (left & ~inside, _plain(OUTSIDE_STEPS if len(steps) else EVERYTHING, RegionKind.OUTSIDE)),
        (~work.has_launch & launched_before(trace, work), _plain(EARLIER, RegionKind.UNLINKED)),
    ):
        if mask.any():
            at[mask] = number_of(region)
    if (at == NOBODY).any():
        at[at == NOBODY] = number_of(_plain(NO_LAUNCH, RegionKind.UNLINKED))
    return tuple(regions), at


def _plain(label: str, kind: RegionKind) -> TraceRegion:
    return TraceRegion(key_of(f"{kind.value} {label}"), label, kind)


def _replays(trace: Trace, row: IntColumn, launch: IntColumn, mask: BoolColumn) -> list[tuple[IntColumn, TraceRegion]]:
    """The rows of graph launches, those of one sequence of kernels together: a trace does not name the graph."""
    own = np.flatnonzero(mask)
    own = own[np.lexsort((row[own], launch[own]))]
    starts = np.flatnonzero(np.concatenate(([True], launch[own][1:] != launch[own][:-1]))) if own.size else own
    found: dict[bytes, list[IntColumn]] = {}
    for rows in np.split(own, starts[1:]) if own.size else ():
        found.setdefault(trace.name_id[row[rows]].tobytes(), []).append(rows)
    regions = []
    for rows_of_launches in found.values():
        first = rows_of_launches[0]
        names = [trace.name(int(row[i])) for i in first.tolist()]
        digest = hashlib.sha256("\n".join(names).encode("utf-8", "replace")).hexdigest()[:6]
        label = f"replay of {len(names)} rows, {digest}: {names[0][:_LABEL_NAME]}"
        regions.append((np.concatenate(rows_of_launches), _plain(label, RegionKind.REPLAY)))
    return regions


def _judged(
    attribution: Attribution, regions: tuple[TraceRegion, ...], region_of: IntColumn, device: Device
) -> _Judged:
    """Every kernel under its roof, whether a step or a launch is known of it or not."""
    work = attribution.work
    everywhere = replace(
        work, step=np.zeros_like(work.step), region=region_of, has_region=np.ones(len(work), dtype=np.bool_)
    )
    widened = replace(
        attribution,
        work=everywhere,
        regions=tuple(_no_work(region) for region in regions),
        recorded_steps=(0,),
    )
    points: list[KernelPoint] = []
    which = np.full(len(work), NOBODY, dtype=np.int64)
    notes, floors = [], []
    is_kernel = ~attribution.trace.are(work.row, EventKind.COPY, EventKind.MEMSET)
    for number, kernels in enumerate(region_kernels(widened, kernel_costs(attribution), device, None)):
        which[(region_of == number) & is_kernel] = len(points) + kernels.of
        points += kernels.different
        notes.append(kernels.notes)
        floors.append(tuple((p.part, p.ns, p.floor_ns) for p in kernels.parts if p.floor_ns is not None))
    return _Judged(tuple(points), which, tuple(notes), tuple(floors))


def _no_work(region: TraceRegion) -> RegionWork:
    """A region for the table of kernels: its host times are not asked for."""
    nothing = HostTime((0,), (0,), (0,), tuple((0,) for _ in KINDS), (0,), (0,))
    return RegionWork(region.key, 0, (0,), (0,), (0,), (0,), (0,), (0,), nothing, 1, (0,))


def _part_of(found: Window, judged: _Judged) -> IntColumn:
    parts = [*(point.counts_to for point in judged.points), Part.UNKNOWN_KERNELS]  # NOBODY is the last
    column = np.asarray([_PARTS.index(part) for part in parts], dtype=np.int64)[judged.number]
    column[found.rank_of == COPIES] = _PARTS.index(Part.COPIES)
    return column


def _table(found: Window, region_of: IntColumn, part_of: IntColumn, idle: IdleReasons, regions: int) -> IntColumn:
    """Nanoseconds by region and part; all of it is the window."""
    table = np.zeros((regions, len(_PARTS)), dtype=np.int64)
    np.add.at(table, (region_of, part_of), found.exposed_ns)
    owner = region_of[found.idle_before[idle.stretch]]
    for part, codes in (
        (Part.STARVED, slice(0, len(KINDS))),
        (Part.LATENCY, slice(QUEUED, QUEUED + 1)),
        (Part.OTHER, slice(PROFILER, UNTOLD + 1)),
    ):
        np.add.at(table, (owner, np.full_like(owner, _PARTS.index(part))), idle.ns[:, codes].sum(axis=1))
    np.add.at(table, (owner, np.full_like(owner, _PARTS.index(Part.SYNC))), idle.ns[:, WAITS] + idle.ns[:, REFILL])
    return table


def _starved(ns: IntColumn, attribution: Attribution) -> tuple[HostPart, ...] | None:
    if attribution.is_host or not attribution.tells_host or not attribution.trace.rows(*_HOST_WORK).size:
        return None
    sums = ns[:, : len(KINDS)].sum(axis=0).tolist()
    return tuple(HostPart(kind, int(time), is_scaled=False) for kind, time in zip(KINDS, sums, strict=True) if time)


@dataclass(frozen=True, slots=True)
class _Laid:
    """The whole window, laid out: `table` is in nanoseconds by region and part."""

    attribution: Attribution
    window: Window
    region_of: IntColumn
    judged: _Judged
    table: IntColumn
    idle: IdleReasons


def _traced(laid: _Laid, number: int, region: TraceRegion, calls: int) -> TracedRegion:
    attribution, judged, own = laid.attribution, laid.judged, laid.table[number]
    rows = np.flatnonzero(laid.region_of == number)
    parts = tuple(BudgetPart(part, int(ns)) for part, ns in zip(_PARTS, own, strict=True) if ns)
    own_idle = laid.idle.ns[laid.region_of[laid.window.idle_before[laid.idle.stretch]] == number]
    kernels = judged.number[rows]
    kernels = kernels[kernels != NOBODY]
    ns_of = dict(zip(_PARTS, own.tolist(), strict=True))
    queued_ns = int(own_idle[:, QUEUED].sum())
    budget = RegionBudget(
        region=region.key,
        budget=Budget(int(own.sum()), parts, _starved(own_idle, attribution)),
        busy_ns=int(laid.window.exposed_ns[rows].sum()),
        kernels_per_step=float(kernels.size),
        floors=_floors(judged.floors[number], ns_of, queued_ns),
        is_host=attribution.is_host,
        notes=judged.notes[number],
        queued_ns=queued_ns,
        is_recorded=True,
        kernels=tuple(judged.points[number] for number in some(kernels).tolist()),
    )
    return TracedRegion(region, budget, calls, rows)


_Kernels = TypeVar("_Kernels", IntColumn, tuple[KernelPoint, ...])


def some(kernels: _Kernels) -> _Kernels:
    """At most MOST_POINTS of them, evenly over their order: a verdict takes shares from them, never sums."""
    return kernels[:: max(1, -(-len(kernels) // MOST_POINTS))]


def _floors(
    floors: tuple[tuple[Part, float, float], ...], ns_of: dict[Part, int], queued_ns: int
) -> tuple[PartFloor, ...]:
    """Each kernel part's floor, shrunk to the time that the part owns alone."""
    found = []
    for part, whole, floor in floors:
        own = ns_of.get(part, 0) - (queued_ns if part is Part.LATENCY else 0)
        if whole and own > 0:
            found.append(PartFloor(part, min(own, round(floor * own / whole))))
    return tuple(found)
