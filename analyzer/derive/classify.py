"""Says which resource bounds a region, from its budget. Never from profiled times alone."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.budget import Budget, Part
from analyzer.core.quantities import count, duration, share
from analyzer.core.verdict import Bound, Saving, Verdict
from analyzer.derive.budget import NO_TIMING, RegionBudget

BOUNDS: Final[tuple[tuple[Part, Bound], ...]] = (
    (Part.STARVED, Bound.CPU),
    (Part.COMPUTE, Bound.COMPUTE),
    (Part.MEMORY, Bound.MEMORY),
    (Part.LATENCY, Bound.LATENCY),
)

TIMER_NS: Final = 1_000
"""What a region's clean time is uncertain by at least: two device events resolve 0.5 µs each (CUDA runtime
documentation of cudaEventElapsedTime). It lowers the confidence of regions of a few µs."""

WORTH_SHARE: Final = 0.01
"""Parts under this share of a region are neither evidence nor a saving: its clean time repeats to about 1 %."""

_MISSING: Final[tuple[tuple[Part, str], ...]] = (
    (
        Part.UNKNOWN_KERNELS,
        "most of its time is in kernels of unknown operations and bytes, or so far from both roofs that neither "
        "explains it: record with record_shapes=True, on an idle machine",
    ),
    (Part.COPIES, "most of its time is copies between memories, which none of the four bounds describes"),
    (Part.SYNC, "most of its time the host waits for an idle device: record the call that waits (with_stack=True)"),
    (Part.OTHER, "most of its time is explained by neither pass: record more steps"),
)
UNLINKED: Final = "too much device time is linked to no region: record a whole step, launches included"


def verdict(region: RegionBudget) -> Verdict:
    """The part that takes most of the region, as a bound; UNDECIDED, saying what to record, where that cannot be said.

    Confidence is (1 + margin) / 2 * steadiness * resolution * linked share: margin is the largest part's share less the
    second's and all unexplained shares (as if they were the second's too); steadiness is 1 less twice the spread of
    the clean samples; resolution is elapsed / (elapsed + 1 µs).
    """
    budget = region.budget
    if budget is None or not budget.elapsed_ns or region.missing is not None:
        return _undecided(region, region.missing or NO_TIMING)
    bound, part = _largest(budget)
    if bound is None:
        return _undecided(region, next(text for p, text in _MISSING if p is part))
    unlinked = 1.0 - region.linked_share if region.linked_share is not None else 0.0
    if part is Part.STARVED and unlinked > budget.share(part) - _second(budget, part):
        # Kernels that nothing links may have run while the device looks idle here.
        return _undecided(region, UNLINKED)
    return Verdict(
        bound=bound,
        confidence=_confidence(region, budget, part, unlinked),
        evidence=(_sentence(region, budget, part), *_others(region, budget, part), *region.notes),
        savings=_savings(region, budget),
    )


def _undecided(region: RegionBudget, missing: str) -> Verdict:
    evidence: tuple[str, ...] = ()
    if region.budget is not None:
        evidence = tuple(_sentence(region, region.budget, part) for part in _worth(region.budget))
    elif region.busy_ns is not None:
        evidence = (f"its device rows take {duration(region.busy_ns)} a step in the profiled pass",)
    return Verdict(Bound.UNDECIDED, None, (*evidence, *region.notes), missing=missing)


def _by_size(budget: Budget) -> list[Part]:
    """The parts that have time, largest first; of two equals the one that is named first in `Part`."""
    return sorted((part for part in Part if budget.ns(part)), key=lambda part: -budget.ns(part))


def _worth(budget: Budget) -> list[Part]:
    return [part for part in _by_size(budget) if budget.share(part) >= WORTH_SHARE]


def _largest(budget: Budget) -> tuple[Bound | None, Part]:
    part = _by_size(budget)[0]
    return next((bound for p, bound in BOUNDS if p is part), None), part


def _second(budget: Budget, first: Part) -> float:
    """The share of the next part that has a bound, and of everything unexplained."""
    rivals = [budget.share(part) for part, _ in BOUNDS if part is not first]
    return max(rivals) + budget.share(Part.UNKNOWN_KERNELS) + budget.share(Part.OTHER)


def _confidence(region: RegionBudget, budget: Budget, part: Part, unlinked: float) -> float:
    margin = budget.share(part) - _second(budget, part)
    steadiness = max(0.0, 1.0 - 2.0 * (region.spread or 0.0))
    resolution = budget.elapsed_ns / (budget.elapsed_ns + TIMER_NS)
    return max(0.0, 0.5 + 0.5 * margin) * steadiness * resolution * (1.0 - unlinked)


def _sentence(region: RegionBudget, budget: Budget, part: Part) -> str:
    amount = f"{duration(budget.ns(part))} of {duration(budget.elapsed_ns)} ({share(budget.share(part))})"
    match part:
        case Part.STARVED if region.is_host:
            return f"{amount} goes to the framework: Python, dispatcher and wrapper"
        case Part.STARVED:
            launched = f", busy {duration(region.busy_ns)} in {count(region.kernels_per_step)} kernels"
            return f"the device is idle for {amount}{launched}"
        case Part.COMPUTE:
            return f"{amount} is in kernels nearer to the arithmetic peak{_floor(region, part, 'traffic')}"
        case Part.MEMORY:
            return f"{amount} is in kernels nearer to the memory bandwidth{_floor(region, part, 'arithmetic')}"
        case Part.LATENCY:
            return f"{amount} is in kernels too small for either roof{_floor(region, part, 'work')}"
        case Part.UNKNOWN_KERNELS:
            return f"{amount} is in kernels that no roof can be named for"
        case Part.COPIES:
            return f"{amount} is copies and memsets with no kernel beside them"
        case Part.SYNC:
            return f"{amount} the host waits for an idle device"
        case Part.OTHER:
            return f"{amount} is not explained"
        case _:
            assert_never(part)


def _floor(region: RegionBudget, part: Part, of: str) -> str:
    floor = next((f for f in region.floors if f.part is part), None)
    return f"; their {of} alone would take {duration(floor.ns)} at the measured peaks" if floor is not None else ""


def _others(region: RegionBudget, budget: Budget, first: Part) -> tuple[str, ...]:
    return tuple(_sentence(region, budget, part) for part in _worth(budget) if part is not first)


def _savings(region: RegionBudget, budget: Budget) -> tuple[Saving, ...]:
    """What removing each part would save at most, largest first: kernels down to what their floor needs."""
    savings = []
    for part in _worth(budget):
        floor = next((f.ns for f in region.floors if f.part is part), None)
        if part in (Part.STARVED, Part.COPIES, Part.SYNC):
            savings.append(Saving(part, budget.ns(part)))
        elif floor is not None and budget.ns(part) > floor:
            savings.append(Saving(part, budget.ns(part) - floor))
    return tuple(sorted(savings, key=lambda s: -s.at_most_ns))
