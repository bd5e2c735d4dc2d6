"""Joins the clean pass and the profiled pass: where the time of each region, and of the step, goes.

How long things take comes from the clean pass, what the device did from the profiled one. Verdicts are not made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.core.device import Device
from analyzer.core.environment import Environment
from analyzer.core.graphs import Graph, Region
from analyzer.core.quantities import duration
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.derive.attribution import Attribution, RegionWork
from analyzer.derive.cpu_causes import GraphLoops, loop_notes, thread_notes
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.kernel_costs import KernelCosts, kernel_costs
from analyzer.derive.region_kernels import RegionKernels, region_kernels
from analyzer.derive.shares import split
from analyzer.derive.starved import Idle, host_parts, split_idle
from analyzer.derive.told_costs import Priced, told_costs

CLIP_NOTE_SHARE: Final = 0.02
"""Profiled busy time over the clean elapsed time by more than this share is said: kernel durations repeat to about
1 % between two passes on one device (0.90 and 0.92 ms in the design's run)."""


UNTOLD_SHARE: Final = 0.05
"""So much of the step's starved time may be in regions that the trace does not split (a gap of 1 µs without a row): it
is taken to be like the rest, which is no worse than the shares themselves."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a budget needs beside the two passes.

    `allow_tf32` None: not known. `graphs` lend Inductor's count of traffic to kernels whose rows have none.
    `environment` says how many threads and CPUs there were, `loops` how the C++ loops of a graph were generated; both
    speak of CPUs only, as do `python_ops`, the user's operators that are written in Python. `reference` is the
    profiled pass of the same graphs in a configuration that shows their operators (fused), for runs that do not (CUDA
    graph, C++ wrapper).
    """

    device: Device
    allow_tf32: bool | None = None
    graphs: tuple[Graph, ...] = ()
    reference: Attribution | None = None
    environment: Environment | None = None
    loops: tuple[GraphLoops, ...] = ()
    python_ops: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PartFloor:
    """What would remain of a part, in ns a step, if the resource that bounds it cost nothing."""

    part: Part
    ns: int


@dataclass(frozen=True, slots=True)
class RegionBudget:
    """One region in an average step.

    `budget` and `spread` are None where the clean pass did not time the region; `busy_ns` and `kernels_per_step` where
    the profiled pass did not see it. `missing` says which, None when nothing is. `linked_share` is of the whole trace.
    `queued_ns` is the part of LATENCY that is gaps between kernels launched in time. `elapsed`, `kernels` (of all
    recorded steps) and `busy_spread` (half the range of the recorded steps' busy time, as a share) say how sure the
    budget is. `is_recorded`: of a recorded trace, with the peaks of a data sheet and the host's times as profiled.
    """

    region: Region
    budget: Budget | None
    busy_ns: int | None
    kernels_per_step: float | None
    floors: tuple[PartFloor, ...] = ()
    spread: float | None = None
    linked_share: float | None = None
    is_host: bool = False
    missing: str | None = None
    notes: tuple[str, ...] = ()
    queued_ns: int = 0
    elapsed: Samples | None = None
    kernels: tuple[KernelPoint, ...] = ()
    busy_spread: float = 0.0
    is_recorded: bool = False

    @property
    def over_peak_share(self) -> float:
        """The share of its kernel time that computed faster than the measured peak allows."""
        total = sum(kernel.ns for kernel in self.kernels)
        return sum(kernel.ns for kernel in self.kernels if kernel.is_over) / total if total else 0.0


NO_TIMING: Final = "there was no clean pass: run `analyze` on the model, a trace alone has only profiled times"
NOT_CALLED: Final = "no timed step in steady state calls it, only recorded ones do: the steps are not alike"
NO_WORK: Final = (
    "no device work was recorded in any region: `analyze doctor` says whether the profiler sees kernels here"
)
NOT_SEEN: Final = "the recorded steps did not call it, though timed ones did: the steps are not alike"


def region_budgets(timing: Timing | None, attribution: Attribution, context: Context) -> tuple[RegionBudget, ...]:
    """A budget for every region that either pass saw, timed ones first, in the order of the clean pass.

    `elapsed` is the median of the clean pass, and the regions with the step's edge add up to its median exactly.
    """
    kernels = region_kernels(
        attribution, _costs(attribution, context), context.device, context.allow_tf32, context.python_ops
    )
    timed = _timed(timing, attribution, kernels)
    budgets = [_region_budget(t, attribution, kernels, context) for t in timed]
    known = {t.timing.region for t in timed}
    untimed = [r for r in attribution.regions if r.region not in known]
    missing = NO_TIMING if timing is None else NOT_CALLED
    return (*budgets, *(_untimed(r, attribution, missing) for r in untimed))


def step_budget(timing: Timing, attribution: Attribution, budgets: Sequence[RegionBudget]) -> Budget:
    """The regions' parts summed, and the step's edge: its tail is SYNC as far as the host was seen waiting idle in the
    closing synchronise. What starved is split where every starved region is.
    """
    total = timing.step_ns.median_ns
    parts = [p for b in budgets if b.budget is not None for p in b.budget.parts]
    edge = total - sum(p.ns for p in parts)
    sync = min(edge, _median(attribution.closing_ns))
    parts += [BudgetPart(Part.SYNC, sync, is_scaled=True), BudgetPart(Part.OTHER, edge - sync)]
    merged = []
    for part in Part:
        own = [p for p in parts if p.part is part and p.ns]
        if own:
            merged.append(BudgetPart(part, sum(p.ns for p in own), any(p.is_scaled for p in own)))
    return Budget(total, tuple(merged), _merged_starved([b.budget for b in budgets if b.budget is not None]))


def _merged_starved(budgets: list[Budget]) -> tuple[HostPart, ...] | None:
    """What starved in all of them; None where more than UNTOLD_SHARE of it is not split."""
    whole = sum(budget.ns(Part.STARVED) for budget in budgets)
    told = [part for budget in budgets for part in budget.starved or ()]
    if sum(part.ns for part in told) < (1 - UNTOLD_SHARE) * whole:
        return None
    pieces = split(whole, [sum(part.ns for part in told if part.kind is kind) for kind in HostKind])
    return tuple(HostPart(kind, ns) for kind, ns in zip(HostKind, pieces, strict=True) if ns)


@dataclass(frozen=True, slots=True)
class _Timed:
    """One region's clean time, and its busy time clipped to it. `over_ns` is what was clipped."""

    timing: RegionTiming
    elapsed_ns: int
    busy_ns: int
    over_ns: int
    is_scaled: bool


def _costs(attribution: Attribution, context: Context) -> KernelCosts:
    reference = None if context.reference is None else Priced(context.reference, kernel_costs(context.reference))
    return told_costs(Priced(attribution, kernel_costs(attribution)), context.graphs, reference)


def _timed(timing: Timing | None, attribution: Attribution, kernels: tuple[RegionKernels, ...]) -> list[_Timed]:
    if timing is None:
        return []
    measured = [(r, *_busy_ns(r, attribution, _of(r.region, kernels))) for r in timing.regions]
    clipped = [min(busy, r.elapsed_ns.median_ns) for r, busy, _ in measured]
    elapsed = fit_to_step(timing, clipped)
    return [
        _Timed(region, fitted, min(own, fitted), max(0, busy - fitted), is_scaled)
        for (region, busy, is_scaled), own, fitted in zip(measured, clipped, elapsed, strict=True)
    ]


def fit_to_step(timing: Timing, busy_ns: list[int]) -> tuple[int, ...]:
    """The regions' elapsed times, fitted so that with the step's edge they add up to its median.

    Probes cost the host, not the device: what the probed steps took beyond the clean ones is taken from the time in
    which the device was idle (elapsed less busy, and the edge), in proportion. Only where a step is shorter than its
    busy time are the regions themselves shortened. The edge is no longer than the idle time of the clean step.
    """
    total = timing.step_ns.median_ns
    probed = [r.elapsed_ns.median_ns for r in timing.regions]
    idle = [p - b for p, b in zip(probed, busy_ns, strict=True)]
    edge = max(0, timing.probed_step_ns.median_ns - sum(probed))
    busy = sum(busy_ns)
    if busy >= total:
        return split(total, busy_ns) if busy_ns else ()
    # More than the clean step has of idle time cannot be its edge: the host woke late in the probed steps.
    edge = min(edge, total - busy)
    # With no idle time to stretch, what is left over belongs to the edge.
    fitted = split(total - busy, [float(edge), *map(float, idle)])[1:]
    return tuple(b + f for b, f in zip(busy_ns, fitted, strict=True))


def _busy_ns(region: RegionTiming, attribution: Attribution, kernels: RegionKernels | None) -> tuple[int, bool]:
    """Device time a step, and whether it is a host figure that had to be scaled to the clean pass."""
    work = attribution.region(region.region)
    if work is None or kernels is None:
        return 0, False
    if not attribution.is_host:
        return _median(work.busy_ns), False
    # The profiler stretches the host's time, and the operators' own time is host time.
    busy = max(0.0, _median(work.busy_ns) - kernels.dispatch_ns)
    profiled, clean = _median(work.elapsed_ns), region.elapsed_ns.median_ns
    return (round(busy * clean / profiled), True) if profiled > clean else (round(busy), False)


def _region_budget(
    timed: _Timed, attribution: Attribution, all_kernels: tuple[RegionKernels, ...], context: Context
) -> RegionBudget:
    work, kernels = attribution.region(timed.timing.region), _of(timed.timing.region, all_kernels)
    if work is None or kernels is None or not len(attribution.work):
        return RegionBudget(
            region=timed.timing.region,
            budget=Budget(timed.elapsed_ns, _parts([(Part.OTHER, timed.elapsed_ns)], is_scaled=False)),
            busy_ns=None,
            kernels_per_step=None,
            spread=timed.timing.elapsed_ns.spread,
            missing=NO_WORK if not len(attribution.work) or not attribution.steps else NOT_SEEN,
        )
    copies = min(timed.busy_ns, _median(work.copy_only_ns))
    # A region of copies alone has no kernel to give its time to.
    pieces = split(timed.busy_ns - copies if kernels.ns else 0, [p.ns for p in kernels.parts])
    idle = split_idle(timed.elapsed_ns - timed.busy_ns, work.host)
    return RegionBudget(
        region=timed.timing.region,
        budget=_budget(timed, (kernels, pieces), idle, _starved(idle, work, kernels, (attribution, context.device))),
        busy_ns=timed.busy_ns,
        kernels_per_step=float(np.mean(work.kernels)) if work.kernels else None,
        floors=_floors(pieces, kernels),
        spread=timed.timing.elapsed_ns.spread,
        linked_share=attribution.attributed.linked_share,
        is_host=attribution.is_host,
        notes=(*_clip_note(timed), *_device_note(work), *kernels.notes, *_cpu_notes(work, attribution, context)),
        queued_ns=idle.queued_ns,
        elapsed=timed.timing.elapsed_ns,
        kernels=kernels.points,
        busy_spread=_half_range(work.busy_ns),
    )


def _budget(
    timed: _Timed, kernels: tuple[RegionKernels, tuple[int, ...]], idle: Idle, starved: tuple[HostPart, ...] | None
) -> Budget:
    parts = [(Part.STARVED, idle.starved_ns), (Part.LATENCY, idle.queued_ns), (Part.SYNC, idle.sync_ns)]
    parts += [(p.part, ns) for p, ns in zip(kernels[0].parts, kernels[1], strict=True)]
    parts.append((Part.COPIES, timed.elapsed_ns - sum(ns for _, ns in parts)))
    summed = [(part, sum(ns for p, ns in parts if p is part)) for part in Part]
    return Budget(timed.elapsed_ns, _parts(summed, is_scaled=timed.is_scaled), starved)


def _starved(
    idle: Idle, work: RegionWork, kernels: RegionKernels, where: tuple[Attribution, Device]
) -> tuple[HostPart, ...] | None:
    attribution, device = where
    return host_parts(idle.starved_ns, work.host, device, kernels.dispatch_ns) if attribution.tells_host else None


def _untimed(work: RegionWork, attribution: Attribution, missing: str) -> RegionBudget:
    return RegionBudget(
        region=work.region,
        budget=None,
        busy_ns=_median(work.busy_ns),
        kernels_per_step=float(np.mean(work.kernels)) if work.kernels else None,
        linked_share=attribution.attributed.linked_share,
        is_host=attribution.is_host,
        missing=missing,
    )


def _floors(pieces: tuple[int, ...], kernels: RegionKernels) -> tuple[PartFloor, ...]:
    """Each kernel part's floor, shrunk with the part where it was clipped or scaled."""
    return tuple(
        PartFloor(p.part, min(ns, round(p.floor_ns * ns / p.ns)))
        for p, ns in zip(kernels.parts, pieces, strict=True)
        if p.floor_ns is not None and p.ns and ns
    )


def _of(region: Region, kernels: tuple[RegionKernels, ...]) -> RegionKernels | None:
    return next((k for k in kernels if k.region == region), None)


def _parts(named: list[tuple[Part, int]], *, is_scaled: bool) -> tuple[BudgetPart, ...]:
    # What a synchronisation costs is always a figure of the profiled pass.
    return tuple(BudgetPart(part, ns, is_scaled or part is Part.SYNC) for part, ns in named if ns)


def _clip_note(timed: _Timed) -> tuple[str, ...]:
    share = timed.over_ns / timed.elapsed_ns if timed.elapsed_ns else 0.0
    if share <= CLIP_NOTE_SHARE:
        return ()
    return (f"the profiled pass was busy {share:.0%} longer than the clean pass took; the busy time was clipped to it",)


def _device_note(work: RegionWork) -> tuple[str, ...]:
    if work.devices < 2:
        return ()
    busiest = duration(_median(work.busiest_ns))
    return (f"its kernels ran on {work.devices} devices: busy is when any of them worked, the busiest alone {busiest}",)


def _cpu_notes(work: RegionWork, attribution: Attribution, context: Context) -> tuple[str, ...]:
    if not attribution.is_host:
        return ()
    return (*thread_notes(context.environment), *loop_notes(work.region, context.loops))


def _half_range(values: tuple[int, ...]) -> float:
    middle = _median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def _median(values: tuple[int, ...]) -> int:
    return int(np.median(values)) if values else 0
