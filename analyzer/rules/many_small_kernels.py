"""Many tiny kernels, launched one by one.

What it finds
    Graphs and eager gaps of at least 20 kernels of which half or more are
    about as short as a kernel that does nothing, each launched by a call of
    its own; and those that starve for half of their time or more, with kernels
    no longer on average than launching one takes the host. On a CPU: those of
    20 and more, no longer on average than the framework's own time between them
    and than three operators without work.

Why it costs
    Launching a kernel takes the host several microseconds, however small its
    work is. With kernels shorter than that the device waits for the host; and
    each of them spends more time on starting and ending than on its work.

How it is measured
    Kernels are counted and measured in the profiled pass; how long an empty
    one takes, and launching one, was measured on this device, on a CPU an
    operator. The cost is the starved and the latency part of the region's
    budget: what one kernel in place of all would save at most. Unknown where
    the region has no budget. Where a plan was measured, the message says how
    long the graph takes under it.

What to do
    Launch them together: torch.compile(model, mode="reduce-overhead") replays
    a graph as one CUDA graph; on a CPU, options={"cpp_wrapper": True} takes
    Python out from between them. Or give each more work: a larger batch,
    foreach or batched operators in place of a Python loop over small tensors.

When it is wrong
    Work that comes one token or one sample at a time is small by nature; then
    CUDA graphs are what is left. A region may starve for something else than
    its launches: its budget says what of it they are.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity, KernelSizes
from analyzer.core.budget import Part
from analyzer.core.finding import Finding
from analyzer.core.graphs import GapKey, Region
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.places import activity_of, is_loading, region_place, region_text
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "many_small_kernels"
_GRAPH: Final = (
    'torch.compile(model, mode="reduce-overhead") launches them as one CUDA graph; a larger batch fills them'
)
_HOST_GRAPH: Final = (
    'torch.compile(model, options={"cpp_wrapper": True}) takes Python out from between them; a larger batch fills them'
)
_REFUSED: Final = (
    "torch refuses this graph a CUDA graph (cudagraph_skip): remove its reason first; until then "
    'torch.compile(model, options={"cpp_wrapper": True}) shortens the launches'
)
_APPLY: Final = 'apply the plan: analyzer.optimize(model, plan="plan.json")'
_GAP: Final = "bring this code into a graph, or use foreach and batched operators in place of loops over small tensors"

LEAST_KERNELS: Final = 20
"""A region and step. A choice: at some 5 µs a launch these take a tenth of a millisecond of the host."""

SMALL_SHARE: Final = 0.5
"""Of the region's kernels. A choice: most of them."""

SMALL_OPS: Final = 3.0
"""Operators without work that a small kernel of a CPU takes no longer than: as for a GPU's empty kernel."""

HEAVY_SHARE: Final = 0.1
"""Of the step, for the starved and latency part of the region. A choice: as for eager gaps."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    if activity.is_host:
        return _on_host(facts)
    if activity.small_kernel_ns is None:
        raise MissingData("how long an empty kernel takes on this device was not measured: run analyze doctor there")
    found = [sizes for sizes in activity.kernels if _is_launched_one_by_one(sizes) and _is_heavy(facts, sizes)]
    return tuple(
        Finding(
            rule=_ID,
            message=told[0] + _under_plan(_fact(facts, sizes.region)),
            where=region_place(facts.capture, sizes.region),
            ns_per_step=_lost_ns(facts, sizes.region),
            remedy=_remedy(facts, sizes.region, is_host=False),
            count=max(1, round(told[1])),
        )
        for sizes in found
        if (told := _told(facts, activity, sizes)) is not None
    )


def _on_host(facts: Facts) -> tuple[Finding, ...]:
    many = [fact for fact in facts.regions if (fact.kernels_per_step or 0.0) >= LEAST_KERNELS and fact.budget]
    empty_ns = facts.device.empty_op_ns if facts.device is not None else None
    if many and empty_ns is None:
        raise MissingData("how long an operator without work takes here was not measured: run analyze doctor")
    found = [fact for fact in many if empty_ns is not None and _is_small(facts, fact, SMALL_OPS * empty_ns)]
    return tuple(
        Finding(
            rule=_ID,
            message=(
                f"{quantities.count(fact.kernels_per_step)} kernels a step {region_text(fact.region)} take "
                f"{quantities.duration(round(_mean_ns(fact)))} on average, and the framework takes longer between them"
                f"{_under_plan(fact)}"
            ),
            where=region_place(facts.capture, fact.region),
            ns_per_step=_lost_ns(facts, fact.region),
            remedy=_remedy(facts, fact.region, is_host=True),
            count=max(1, round(fact.kernels_per_step or 0.0)),
        )
        for fact in found
    )


def _is_small(facts: Facts, fact: RegionFacts, small_ns: float) -> bool:
    assert fact.budget is not None
    starved_ns = fact.budget.ns(Part.STARVED)
    is_heavy = not facts.step_ns or starved_ns >= HEAVY_SHARE * facts.step_ns
    # The operators of a data loader are small, and no graph is their place.
    return is_heavy and not is_loading(facts, fact) and 2 * starved_ns >= fact.elapsed_ns and _mean_ns(fact) <= small_ns


def _mean_ns(fact: RegionFacts) -> float:
    """The average kernel of a region on a CPU: what is neither the framework's nor unexplained, by their number."""
    assert fact.budget is not None
    ours = fact.budget.ns(Part.STARVED) + fact.budget.ns(Part.OTHER)
    return (fact.elapsed_ns - ours) / (fact.kernels_per_step or 1.0)


def _is_launched_one_by_one(sizes: KernelSizes) -> bool:
    return sizes.count >= LEAST_KERNELS and sizes.launches >= SMALL_SHARE * sizes.count


def _told(facts: Facts, activity: Activity, sizes: KernelSizes) -> tuple[str, float] | None:
    """What is said of the kernels of a region, and of how many of them; None where they are not small."""
    if sizes.small_count is not None and sizes.small_count >= SMALL_SHARE * sizes.count:
        return _message(activity, sizes), sizes.small_count
    launch_ns = facts.device.launch_ns if facts.device is not None else None
    mean_ns = sizes.device_ns / sizes.count
    if launch_ns is None or mean_ns > launch_ns or not _is_starved(_fact(facts, sizes.region)):
        return None
    return (
        f"{quantities.count(sizes.count)} kernels a step {region_text(sizes.region)} take "
        f"{quantities.duration(round(mean_ns))} on average, and launching one takes the host "
        f"{quantities.duration(round(launch_ns))}: the device waits for each"
    ), sizes.count


def _is_starved(fact: RegionFacts | None) -> bool:
    return fact is not None and fact.budget is not None and 2 * fact.budget.ns(Part.STARVED) >= fact.elapsed_ns


def _is_heavy(facts: Facts, sizes: KernelSizes) -> bool:
    """Whether much is lost in the region; also where that is not known."""
    lost_ns = _lost_ns(facts, sizes.region)
    return lost_ns is None or not facts.step_ns or lost_ns >= HEAVY_SHARE * facts.step_ns


def _lost_ns(facts: Facts, region: Region) -> int | None:
    fact = _fact(facts, region)
    budget = fact.budget if fact is not None else None
    return budget.ns(Part.STARVED) + budget.ns(Part.LATENCY) if budget is not None else None


def _fact(facts: Facts, region: Region) -> RegionFacts | None:
    return next((fact for fact in facts.regions if fact.region == region), None)


def _remedy(facts: Facts, region: Region, *, is_host: bool) -> str:
    """What launches them together; the plan, where it does that already."""
    if isinstance(region, GapKey):
        return _GAP
    fact = _fact(facts, region)
    planned = fact.planned if fact is not None else None
    if planned is not None and (planned.has_cpp_wrapper if is_host else planned.has_cuda_graph):
        return _APPLY
    if is_host:
        return _HOST_GRAPH
    return _REFUSED if _is_refused(facts, region) else _GRAPH


def _is_refused(facts: Facts, region: Region) -> bool:
    skips = facts.capture.skips if facts.capture is not None else ()
    return any(skip.key == region and not skip.is_partial for skip in skips)


def _under_plan(fact: RegionFacts | None) -> str:
    """What the plan makes of it, for the end of the message. Not by parts: a C++ wrapper shows fewer of them."""
    planned = fact.planned if fact is not None else None
    if planned is None or planned.before_ns is None or planned.after_ns is None:
        return ""
    times = quantities.durations((planned.before_ns, planned.after_ns))
    return f"; under the plan ({planned.candidate}) the graph takes {times}"


def _message(activity: Activity, sizes: KernelSizes) -> str:
    few, all_kernels = quantities.count(sizes.small_count), quantities.count(sizes.count)
    return (
        f"{few} of {all_kernels} kernels a step {region_text(sizes.region)} take no longer than "
        f"{quantities.duration(activity.small_kernel_ns)}, three times an empty one; each is launched alone"
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
