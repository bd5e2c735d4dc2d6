"""Which resource bounds a region of a recorded trace, when the host's times are the profiler's own.

The profiler slows the host and leaves the kernels as they are. So the idle time of a trace is an upper bound, and a
verdict of CPU-bound stands only as far as it would under a faster host. Other verdicts are not shaken by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.quantities import ratio, share
from analyzer.core.trace import EventKind, Trace
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.attribution import CUT_OFF
from analyzer.derive.budget import RegionBudget
from analyzer.derive.classify import LEAST_CONFIDENCE, verdict
from analyzer.derive.confidence import BOUNDS, PARTS, bound_ns
from analyzer.derive.honesty import lost_because
from analyzer.derive.shares import split

WITHOUT_STACKS: Final = 2.5
"""Times that the profiler may slow the host. 1.5 to 2.5 beside an H200 (torch 2.11, `starved.host_parts`); 1.25 to 1.7
on a CPU (torch 2.13, a chain of small modules, with and without shapes)."""

WITH_STACKS: Final = 4.0
"""The same with Python rows in the trace: up to 3.8 on that CPU with stacks, modules and memory."""

STRETCHES: Final = 7
"""How many factors from 1 to the most are looked at, each taken to be as likely."""

CPU_TRACE: Final = (
    "the trace shows no device, and that of a CPU neither its peaks nor times that the profiler leaves alone: run "
    "`analyze model.py` on that CPU"
)
NO_PEAKS: Final = (
    "no data sheet of this device is known, so that no roof can be named: run `analyze model.py` there, which measures "
    "it"
)
RECORD_SHAPES: Final = "record with torch.profiler.profile(record_shapes=True)"
"""Without `activities` it records all that the machine has, whatever the device is called (torch.profiler, 2.11)."""
NOT_EXPLAINED: Final = (
    "most of it is idle time that the recording does not explain (replays recorded in part, time outside of the steps, "
    "code loaded at first use): record later steps, with a driver that records replayed kernels"
)
NEED_CLEAN: Final = (
    "the device waits for a host that the profiler slowed: time the steps without it, with "
    "torch.accelerator.synchronize() around them, or run `analyze model.py`"
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What decides how far a trace can be believed. `most_stretch` is how many times the profiler may have slowed the
    host; `has_peaks` whether the device's are known; `has_shapes` whether any operator was recorded with its shapes;
    `lacks_rows` whether its file is cut within its rows; `has_ops` whether any operator was recorded; `lost_because` is
    said where the profiler lost kernels, None where it lost none.
    """

    is_host: bool
    has_peaks: bool
    has_shapes: bool
    most_stretch: float
    lacks_rows: bool = False
    has_ops: bool = True
    lost_because: str | None = None


def recorded(trace: Trace, *, is_host: bool, has_peaks: bool) -> Recorded:
    has_stacks = bool((trace.kind == EventKind.PYTHON).any())
    has_shapes = any(detail.shapes for detail in trace.details)
    most_stretch = WITH_STACKS if has_stacks else WITHOUT_STACKS
    return Recorded(
        is_host=is_host,
        has_peaks=has_peaks,
        has_shapes=has_shapes,
        most_stretch=most_stretch,
        lacks_rows=trace.facts.lacks_rows,
        has_ops=bool((trace.kind == EventKind.CPU_OP).any()),
        lost_because=lost_because(trace),
    )


def trace_verdict(region: RegionBudget, known: Recorded, unknown_because: str | None = None) -> Verdict:
    """The verdict on a region, or on the window, of a recorded trace; UNDECIDED, with what to record, where it cannot
    be said. `unknown_because` says why no roof can be named for most of its kernels, None where that is not known.
    """
    if region.budget is None or not region.budget.elapsed_ns:
        return verdict(region)
    if known.lacks_rows:
        # Time in which a kernel ran that is missing would look like a device that waits for its host.
        return _undecided(verdict(region), CUT_OFF)
    if known.lost_because is not None:
        return _undecided(verdict(region), known.lost_because)
    if known.is_host:
        return _undecided(verdict(region), CPU_TRACE)
    found = verdict(region)
    if found.bound is not Bound.CPU:
        return _explained(found, region.budget, known, unknown_because)
    stood = [verdict(_faster(region, region.budget, factor)) for factor in _factors(known)]
    confidence = sum(v.confidence or 0.0 for v in stood if v.bound is Bound.CPU) / len(stood)
    doubt = (
        f"the profiler slows the host, up to {ratio(known.most_stretch)}: at "
        f"{sum(v.bound is Bound.CPU for v in stood)} of {len(stood)} factors from 1 to that it stays CPU-bound"
    )
    evidence = (*found.evidence, doubt)
    if confidence < LEAST_CONFIDENCE:
        return Verdict(Bound.UNDECIDED, None, evidence, missing=NEED_CLEAN)
    return replace(found, confidence=confidence, evidence=evidence)


def _factors(known: Recorded) -> tuple[float, ...]:
    step = (known.most_stretch - 1.0) / (STRETCHES - 1)
    return tuple(1.0 + step * i for i in range(STRETCHES))


def _faster(region: RegionBudget, budget: Budget, factor: float) -> RegionBudget:
    """The region with a host `factor` times as fast: all of its length is the host's, as in a region that is starved,
    and what the device still is idle for is what the host takes beyond the device's own time.
    """
    waiting = budget.ns(Part.STARVED) + budget.ns(Part.SYNC)
    device = budget.elapsed_ns - waiting
    left = max(0, min(waiting, round(budget.elapsed_ns / factor) - device))
    starved, sync = split(left, [float(budget.ns(Part.STARVED)), float(budget.ns(Part.SYNC))])
    times = {Part.STARVED: starved, Part.SYNC: sync}
    parts = tuple(BudgetPart(p.part, ns) for p in budget.parts if (ns := times.get(p.part, p.ns)))
    return replace(region, budget=Budget(device + left, parts))


def _explained(found: Verdict, budget: Budget, known: Recorded, because: str | None) -> Verdict:
    """An undecided verdict, saying what the recording lacks where that is what kept it from being decided."""
    if found.bound is not Bound.UNDECIDED:
        return found
    unknown, unexplained = budget.ns(Part.UNKNOWN_KERNELS), budget.ns(Part.OTHER)
    if unexplained >= max(unknown, *(budget.ns(part) for part, _ in PARTS)):
        return _undecided(found, NOT_EXPLAINED)
    sizes = sorted((bound_ns(budget, bound) for bound in BOUNDS), reverse=True)
    if not unknown or unknown < sizes[0] - sizes[1]:
        return found
    if because is not None:
        return _undecided(found, because)
    if not known.has_peaks:
        return _undecided(found, NO_PEAKS)
    if not known.has_shapes:
        what = "whose operators were recorded without shapes" if known.has_ops else "of which no operator was recorded"
        why = f"{share(unknown / budget.elapsed_ns)} of it is in kernels {what}"
        return _undecided(found, f"{why}: {RECORD_SHAPES}")
    return found


def _undecided(found: Verdict, missing: str) -> Verdict:
    return Verdict(Bound.UNDECIDED, None, found.evidence, missing=missing)
