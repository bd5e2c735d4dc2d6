"""Says which resource bounds a region, from its budget. Never from profiled times alone."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final

from analyzer.core.budget import Budget, Part
from analyzer.core.quantities import duration, share
from analyzer.core.verdict import Bound, Saving, Verdict
from analyzer.derive.budget import NO_TIMING, RegionBudget
from analyzer.derive.confidence import BOUNDS, CEILING, HOST_DRIFT, PARTS, TIMER_NS, Evidence, Odds, bound_ns, odds
from analyzer.derive.sentences import NEAR_RIVAL, bound_name, by_size, rival_sentence, sentences, worth_saying

LEAST_CONFIDENCE: Final = 0.5
"""Under it another outcome is at least as likely: that is no verdict."""

NEAR_SHARE: Final = 0.15
"""A rival that wins in this share of the perturbed budgets, one in seven, is named beside the verdict."""

_UNCOUNTED: Final = "most of its time is in kernels whose operations and bytes are not known"
_FAR: Final = "most of its time is in kernels so far from both roofs that neither explains it"
_INDIRECT: Final = (
    "it reads through an index more than the nearest caches hold, and no trace shows how much of it they had kept: "
    "time it with its indices in order, which leaves the arithmetic as it is"
)

_MISSING: Final[tuple[tuple[Part, str], ...]] = (
    (Part.UNKNOWN_KERNELS, _UNCOUNTED),
    (Part.COPIES, "most of its time is copies between memories, which none of the four bounds describes"),
    (Part.OTHER, "most of its time is explained by neither pass"),
)
_NAMED: Final = 2
_NAME_LENGTH: Final = 80
_ARGUMENTS: Final = re.compile(r"(?<=\w)[<(].*", re.DOTALL)

UNLINKED: Final = "too much device time is linked to no region: the trace lacks the launches of its kernels"
TOO_SHORT: Final = (
    f"it takes about as little as two device events resolve ({duration(TIMER_NS)}): nothing can be told of it"
)

MOST_OVER_PEAK: Final = 0.25
"""Of the kernel time: with more of it far over a peak (region_kernels.WRONG_PEAK), the peaks are not this device's, and
place no kernel."""
OVER_PEAK: Final = (
    "its kernels compute faster than this device was measured to, so its peaks are too low: measure them again on an "
    "idle machine (analyze doctor --renew)"
)


def verdict(region: RegionBudget, host_drift: float = HOST_DRIFT) -> Verdict:
    """The bound whose parts take most of the region; UNDECIDED, saying what to record, where that cannot be said.

    Confidence is the share of budgets, perturbed within the errors of measuring, in which that bound has the largest
    part (see confidence.odds), and never above CEILING. Under a half there is no verdict. `host_drift` is how far apart
    the host was seen to be at two minutes of this run, as a logarithm; less than HOST_DRIFT says nothing.
    """
    budget = region.budget
    if budget is None or not budget.elapsed_ns or region.missing is not None:
        return _undecided(region, region.missing or (NO_TIMING if budget is None else TOO_SHORT))
    bound = max(BOUNDS, key=lambda b: bound_ns(budget, b))
    unbound = next((p for p in by_size(budget) if any(p is part for part, _ in _MISSING)), None)
    if unbound is not None and budget.ns(unbound) >= bound_ns(budget, bound):
        return _undecided(region, _without_bound(region, unbound))
    unlinked = _unlinked(region)
    if bound is Bound.CPU and unlinked > 0 and unlinked > _margin(budget, bound):
        # Kernels that nothing links may have run while the device looks idle here.
        return _undecided(region, UNLINKED)
    if bound is not Bound.CPU and region.over_peak_share > MOST_OVER_PEAK:
        return _undecided(region, OVER_PEAK)
    found = odds(_evidence(region, budget, max(host_drift, HOST_DRIFT)), bound)
    if found.of(bound) < LEAST_CONFIDENCE:
        return _undecided(region, _too_near(region, budget, bound, found))
    return Verdict(
        bound=bound,
        confidence=min(CEILING, found.of(bound)),
        evidence=(
            *_told(region, budget, bound),
            *_near(budget, bound, found),
            *_others(region, budget, bound),
            *region.notes,
        ),
        savings=_savings(region, budget),
    )


def _without_bound(region: RegionBudget, part: Part) -> str:
    """Why its largest part names no bound; of kernels that no roof explains also which two take the longest."""
    text = next(text for other, text in _MISSING if other is part)
    if part is not Part.UNKNOWN_KERNELS:
        return text
    unknown = [kernel for kernel in region.kernels if kernel.part is part]
    uncounted = sum(kernel.ns for kernel in unknown if kernel.memory_ns is None)
    counted = sum(kernel.ns for kernel in unknown) - uncounted
    times = Counter[str]()
    for kernel in unknown:
        if kernel.name and (kernel.memory_ns is None) == (uncounted >= counted):
            times[_short(kernel.name)] += kernel.ns
    names = ", ".join(name for name, _ in times.most_common(_NAMED))
    return (text if uncounted >= counted else _FAR) + (f" ({names})" if names else "")


@lru_cache(maxsize=1 << 14)
def _short(kernel: str) -> str:
    """A C++ kernel's name without its return type, template and call arguments, which fill lines."""
    return _ARGUMENTS.sub("", kernel.removeprefix("void "))[:_NAME_LENGTH]


def _undecided(region: RegionBudget, missing: str) -> Verdict:
    evidence: tuple[str, ...] = ()
    if region.budget is not None:
        budget = region.budget
        evidence = tuple(text for part in worth_saying(budget) for text in sentences(region, budget, part))
    elif region.busy_ns is not None:
        evidence = (f"its device rows take {duration(region.busy_ns)} a step in the profiled pass",)
    return Verdict(Bound.UNDECIDED, None, (*evidence, *region.notes), missing=missing)


def _unlinked(region: RegionBudget) -> float:
    return 1.0 - region.linked_share if region.linked_share is not None else 0.0


def _margin(budget: Budget, bound: Bound) -> float:
    """How much of the region the bound has more than the next one with everything unexplained."""
    rivals = [bound_ns(budget, other) for other in BOUNDS if other is not bound]
    unexplained = budget.ns(Part.UNKNOWN_KERNELS) + budget.ns(Part.OTHER)
    return (bound_ns(budget, bound) - max(rivals) - unexplained) / budget.elapsed_ns


def _evidence(region: RegionBudget, budget: Budget, host_drift: float) -> Evidence:
    return Evidence(
        budget=budget,
        elapsed=region.elapsed,
        kernels=region.kernels,
        queued_ns=region.queued_ns,
        busy_spread=region.busy_spread,
        unlinked_share=_unlinked(region),
        is_host=region.is_host,
        host_drift=host_drift,
    )


def _own(budget: Budget, bound: Bound) -> list[Part]:
    """The parts of a bound, largest first."""
    return [part for part in by_size(budget) if bound_part(part) is bound]


def bound_part(part: Part) -> Bound | None:
    """The bound that a part counts to, None for those without one."""
    return next((bound for p, bound in PARTS if p is part), None)


def _told(region: RegionBudget, budget: Budget, bound: Bound) -> tuple[str, ...]:
    own = _own(budget, bound)
    told = [part for part in own if part in worth_saying(budget)] or own[:1]
    return tuple(text for part in told for text in sentences(region, budget, part))


def _others(region: RegionBudget, budget: Budget, bound: Bound) -> tuple[str, ...]:
    others = [part for part in worth_saying(budget) if bound_part(part) is not bound]
    return tuple(text for part in others for text in sentences(region, budget, part))


def _near(budget: Budget, bound: Bound, found: Odds) -> tuple[str, ...]:
    """That another bound may be the right one, where that is not unlikely."""
    rival = found.rival(bound)
    if rival is None or rival[1] < NEAR_SHARE:
        return ()
    other, wins = rival
    return (rival_sentence(budget, bound, other, wins),)


def _too_near(region: RegionBudget, budget: Budget, bound: Bound, found: Odds) -> str:
    if budget.elapsed_ns <= 2 * TIMER_NS:
        return TOO_SHORT
    rival = found.rival(bound)
    if rival is None:
        return "its largest part is not larger than what is not explained"
    if {bound, rival[0]} == {Bound.COMPUTE, Bound.MEMORY} and any(kernel.again_ns for kernel in region.kernels):
        return _INDIRECT
    if bound_ns(budget, rival[0]) < NEAR_RIVAL * bound_ns(budget, bound):
        # No longer measuring tells these apart: it is what is known of the kernels, or what is not explained.
        return rival_sentence(budget, bound, *rival)
    first, second = (f"{bound_name(b)} {share(bound_ns(budget, b) / budget.elapsed_ns)}" for b in (bound, rival[0]))
    return f"{first} and {second} are too near to tell apart: measure longer, on an idle machine"


def _savings(region: RegionBudget, budget: Budget) -> tuple[Saving, ...]:
    """What removing each part would save at most, largest first: kernels down to what their floor needs."""
    savings = []
    for part in worth_saying(budget):
        floor = next((f.ns for f in region.floors if f.part is part), None)
        if part in (Part.STARVED, Part.COPIES, Part.SYNC):
            savings.append(Saving(part, budget.ns(part)))
        elif floor is not None and budget.ns(part) > floor:
            savings.append(Saving(part, budget.ns(part) - floor))
    return tuple(sorted(savings, key=lambda s: -s.at_most_ns))
