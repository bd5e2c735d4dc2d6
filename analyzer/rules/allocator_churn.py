"""Steady steps take memory from the driver.

What it finds
    Calls of cudaMalloc, cudaFree and their like in steps after warm-up, where
    PyTorch's caching allocator should need none.

Why it costs
    Such a call takes the host from tens of microseconds to milliseconds, and
    cudaFree first waits for the device. The memory is then taken again in the
    next step.

How it is measured
    The calls are in the profiled pass. The step is played again without them,
    with their time brought to the pass without the profiler. Unknown without
    the clean pass.

What to do
    Take torch.cuda.empty_cache() out of the step. Where memory is short or
    shapes change, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True keeps
    blocks from fragmenting, and a smaller batch leaves room for the cache.

When it is wrong
    Expandable segments map memory through the driver API, whose calls most
    traces lack. Libraries with memory of their own (NCCL, cuBLAS workspaces)
    may allocate once, in a step that happened to be recorded.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.core import quantities
from analyzer.core.activity import Activity
from analyzer.core.finding import Finding
from analyzer.rules.facts import Facts
from analyzer.rules.places import NOTED_SHARE, activity_of, claimed_ns, region_place, share_of_step
from analyzer.rules.rule import Rule

_ID: Final = "allocator_churn"
_FREES: Final = (
    "take torch.cuda.empty_cache() out of the step; without one, memory is short: "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or a smaller batch"
)
_GROWS: Final = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and steps of few fixed shapes"
_PINS: Final = "pin host memory once, outside the step"

_FREEING: Final = re.compile(r"(?:cuda|hip|cuMem)\w*(?:Free|Trim|Unmap|Release)\w*")
_PINNING: Final = re.compile(r"(?:cuda|hip|cuMem)(?:\w*Host\w*)")


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    share = share_of_step(activity, activity.allocation_cost_ns)
    if not activity.allocations or share < NOTED_SHARE:
        return ()
    dearest = max(activity.allocations, key=lambda calls: calls.host_ns)
    return (
        Finding(
            rule=_ID,
            message=f"memory from the driver takes {quantities.share(share)} of the step: {_calls(activity)}",
            where=region_place(facts.capture, dearest.region),
            ns_per_step=claimed_ns(activity, activity.allocation_cost_ns),
            remedy=_remedy(activity),
            count=max(1, round(sum(calls.count for calls in activity.allocations))),
        ),
    )


def _calls(activity: Activity) -> str:
    counts: dict[str, float] = {}
    for calls in activity.allocations:
        counts[calls.call] = counts.get(calls.call, 0.0) + calls.count
    return ", ".join(f"{quantities.count(count)} {call}" for call, count in counts.items())


def _remedy(activity: Activity) -> str:
    names = [calls.call for calls in activity.allocations]
    if all(_PINNING.fullmatch(name) for name in names):
        return _PINS
    return _FREES if any(_FREEING.fullmatch(name) for name in names) else _GROWS


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
