"""A CUDA graph is recorded again in a steady step.

What it finds
    Steps after warm-up in which a CUDA graph is captured, in place of being
    replayed.

Why it costs
    Recording runs every kernel's launch once more, makes a graph of it and
    gives it memory of its own: milliseconds, where a replay takes some
    microseconds. Steps whose shapes never settle pay it for each new shape.

How it is measured
    Begin and end of each capture, and of what makes a graph of it, are calls
    in the trace. The step is played again without them, with their time
    brought to the pass without the profiler. The warm-up run that torch does
    before a capture is not counted. Unknown without the clean pass.

What to do
    Give it few fixed shapes: pad to a few sizes. Keep static inputs at their
    addresses. Or leave changing shapes to ordinary launches:
    torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True.

When it is wrong
    Few recorded steps may catch the last of the captures that warm-up needs.
    Code that captures CUDA graphs of its own, on purpose, looks the same.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.rules.facts import Facts
from analyzer.rules.places import activity_of, claimed_ns, region_place
from analyzer.rules.rule import Rule

_ID: Final = "cudagraph_rerecord"
_REMEDY: Final = (
    "pad the inputs to a few fixed sizes, or torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = activity_of(facts)
    replays = activity.replays
    if replays is None or replays.captures <= 0:
        return ()
    times = f"{quantities.count(replays.captures)} in each" if replays.captures >= 1 else "not in each"
    message = (
        f"{replays.maker} graphs are recorded again in steady steps, {times}: "
        f"{quantities.duration(replays.capture_ns)} a step, "
        f"beside {quantities.count(replays.launches)} replays"
    )
    where = region_place(facts.capture, replays.region) if replays.region is not None else None
    return (
        Finding(
            rule=_ID,
            message=message,
            where=where,
            ns_per_step=claimed_ns(activity, replays.cost_ns),
            remedy=_REMEDY,
            count=max(1, round(replays.captures)),
        ),
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
