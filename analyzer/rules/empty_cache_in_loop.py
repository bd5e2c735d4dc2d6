"""The step empties the allocator's cache.

What it finds
    Calls of torch.cuda.empty_cache or torch.accelerator.empty_cache inside a
    step, on a GPU.

Why it costs
    It waits for the device and gives all free blocks back to the driver. The
    next tensors are then allocated anew, each with a call of cudaMalloc, which
    takes tens to hundreds of microseconds where the cache takes one.

How it is measured
    Calls are counted in one eager step. The cost is not known: it depends on
    what the cache held.

What to do
    Take it out of the step. Against fragmentation:
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. If memory is needed for
    another process, empty once, at the end.

When it is wrong
    When the step really has to hand memory to another process or library each
    time.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import ops_of
from analyzer.rules.rule import Rule

_ID: Final = "empty_cache_in_loop"
_REMEDY: Final = "take it out of the step; against fragmentation set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
_CALLS: Final = ("torch.cuda.empty_cache", "torch.accelerator.empty_cache")


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    if workload_of(facts).device == "cpu":
        return ()  # there is no such cache: the call returns at once
    return tuple(
        Finding(
            rule=_ID,
            message=f"{call.name}() runs {_times(call.count)} a step: memory is given back and allocated anew",
            where=call.where,
            ns_per_step=None,
            remedy=_REMEDY,
            count=call.count,
        )
        for call in ops.host_calls
        if call.name in _CALLS
    )


def _times(number: int) -> str:
    return "once" if number == 1 else f"{quantities.count(number)} times"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
