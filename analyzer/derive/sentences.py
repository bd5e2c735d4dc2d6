"""The sentences of a verdict's evidence: what each part of a region's budget is, with its numbers."""

from __future__ import annotations

from functools import partial
from typing import Final, assert_never

from analyzer.core.budget import Budget, HostPart, Part
from analyzer.core.quantities import average_of, duration, share
from analyzer.core.verdict import Bound
from analyzer.derive.budget import RegionBudget
from analyzer.derive.confidence import bound_ns

WORTH_SHARE: Final = 0.01
"""Parts under this share of a region are neither evidence nor a saving: its clean time repeats to about 1 %."""

NEAR_RIVAL: Final = 0.5
"""A bound with half the time of the largest one is called near: as the headline names a runner-up (a choice)."""

ON_CHIP: Final = "shared memory or the first cache"

WORTH_OF_STARVED: Final = 0.05
"""Kinds of host work under this share of the starved time are summed: the shares are rough."""


def by_size(budget: Budget) -> list[Part]:
    """The parts that have time, largest first; of two equals the one that is named first in `Part`."""
    return sorted((part for part in Part if budget.ns(part)), key=lambda part: -budget.ns(part))


def worth_saying(budget: Budget) -> list[Part]:
    """The parts that are more than noise, largest first."""
    return [part for part in by_size(budget) if budget.share(part) >= WORTH_SHARE]


def sentences(region: RegionBudget, budget: Budget, part: Part) -> tuple[str, ...]:
    """What this part is; where it is the starved one, also what the host did meanwhile, if that is known."""
    told = (sentence(region, budget, part),)
    if part is not Part.STARVED or not budget.starved:
        return told
    return (*told, host_sentence(budget.starved, is_recorded=region.is_recorded))


def sentence(region: RegionBudget, budget: Budget, part: Part) -> str:
    amount = f"{duration(budget.ns(part))} of {duration(budget.elapsed_ns)} ({share(budget.share(part))})"
    match part:
        case Part.STARVED if region.is_host:
            return f"{amount} goes to the host's own work (Python, dispatcher, wrapper, or a call that waits)"
        case Part.STARVED:
            launched = average_of(region.kernels_per_step, "kernel")
            return f"the device is idle for {amount}, busy {duration(region.busy_ns)} in {launched}"
        case Part.COMPUTE:
            peak = f"kernels nearer to the arithmetic peak{_fed(region)}"
            return f"{amount} is in {peak}{_floor(region, part, 'traffic')}"
        case Part.MEMORY:
            return f"{amount} is in {_memory_kernels(region)}"
        case Part.LATENCY:
            return f"{amount} is in kernels too small for either roof{_gaps(region)}{_floor(region, part, 'work')}"
        case Part.UNKNOWN_KERNELS:
            return f"{amount} is in kernels that no roof can be named for"
        case Part.COPIES:
            return f"{amount} is copies and memsets with no kernel beside them"
        case Part.SYNC:
            return f"{amount} the device is idle because the host waits for it, or waited and has to start anew"
        case Part.OTHER:
            return f"{amount} is not explained"
        case _:
            assert_never(part)


def bound_name(bound: Bound) -> str:
    """As it is said: `CPU`, `memory`."""
    return "CPU" if bound is Bound.CPU else bound.value


def rival_sentence(budget: Budget, bound: Bound, rival: Bound, wins: float) -> str:
    """That `rival` has the larger part in this share of the perturbed budgets, and what would make it so.

    Near is only what has a comparable time as it is. A rival with little of its own can win by what moves between
    them: kernels at the edge of two classes, or time that nothing explains; then that is what is said.
    """
    mine, other = bound_ns(budget, bound), bound_ns(budget, rival)
    shares = f"{share(other / budget.elapsed_ns)} against {share(mine / budget.elapsed_ns)}"
    name = bound_name(rival)
    if other >= NEAR_RIVAL * mine:
        return f"{name} is near: {shares}, and within the errors of measuring the larger in {share(wins)} of cases"
    return (
        f"{name} may be the larger all the same, in {share(wins)} of cases within the errors of counting and "
        f"measuring: {_what_moves(budget, bound, rival)} ({shares} as it was counted)"
    )


def _what_moves(budget: Budget, bound: Bound, rival: Bound) -> str:
    unexplained = budget.ns(Part.UNKNOWN_KERNELS) + budget.ns(Part.OTHER)
    reasons = []
    if Bound.CPU not in (bound, rival):
        reasons.append("its kernels lie near the edge between the two")
    else:
        reasons.append("the host's time differs from pass to pass")
    if unexplained >= WORTH_SHARE * budget.elapsed_ns:
        reasons.append(f"{share(unexplained / budget.elapsed_ns)} is not explained and may be its")
    return ", and ".join(reasons)


def host_sentence(starved: tuple[HostPart, ...], *, is_recorded: bool = False) -> str:
    """`of it 31 % launch calls, 22 % guards, …`: the shares come from the profiled pass."""
    whole = sum(part.ns for part in starved)
    ordered = sorted(starved, key=lambda part: -part.ns)
    named = [part for part in ordered if part.ns >= WORTH_OF_STARVED * whole]
    texts = [f"{share(part.ns / whole)} {part.kind.value}" for part in named]
    rest = whole - sum(part.ns for part in named)
    how = "as the profiler recorded it" if is_recorded else "scaled from the profiled pass"
    return f"of it {', '.join([*texts, f'{share(rest / whole)} else'] if rest else texts)} ({how})"


def _peaks(region: RegionBudget) -> str:
    return "the data sheet's peaks" if region.is_recorded else "the measured peaks"


def _gaps(region: RegionBudget) -> str:
    if not region.queued_ns or region.budget is None or region.queued_ns < WORTH_SHARE * region.budget.elapsed_ns:
        return ""
    return f", {duration(region.queued_ns)} of it in the gaps between them"


def _memory_kernels(region: RegionBudget) -> str:
    """What bounds them: the bandwidth of the device's memory, or what the load/store units can serve on the chip."""
    part, floor = _on_chip_share(region, Part.MEMORY), partial(_floor, region, Part.MEMORY)
    if part < WORTH_SHARE:
        return f"kernels nearer to the memory bandwidth{floor('arithmetic')}"
    if part > 1.0 - WORTH_SHARE:
        return f"kernels that {ON_CHIP} bounds, not the device's memory{floor('arithmetic and traffic')}"
    mixed = f"kernels nearer to the memory bandwidth or, for {share(part)} of it, that {ON_CHIP} bounds"
    return f"{mixed}{floor('other work')}"


def _fed(region: RegionBudget) -> str:
    part = _on_chip_share(region, Part.COMPUTE)
    return (
        ""
        if part < WORTH_SHARE
        else f"; {share(part)} of it keeps shared memory busier than the arithmetic that it feeds"
    )


def _on_chip_share(region: RegionBudget, part: Part) -> float:
    """Of this part of the kernels' time, the share of those that shared memory or the first cache bounds."""
    kernels = [kernel for kernel in region.kernels if kernel.counts_to is part]
    near = sum(kernel.ns for kernel in kernels if kernel.is_on_chip)
    return near / sum(kernel.ns for kernel in kernels) if near else 0.0


def _floor(region: RegionBudget, part: Part, of: str) -> str:
    floor = next((f for f in region.floors if f.part is part), None)
    return f"; their {of} alone would take {duration(floor.ns)} at {_peaks(region)}" if floor is not None else ""
