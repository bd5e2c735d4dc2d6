"""A CUDA graph is recorded again in a steady step.

What it finds
    Steps after warm-up in which a CUDA graph is captured, in place of being
    replayed. And, before it comes to that, a plan that replays a graph of a
    model that torch compiled again for inputs of another size.

Why it costs
    Recording runs every kernel's launch once more, makes a graph of it and
    gives it memory of its own: milliseconds, where a replay takes some
    microseconds. Steps whose shapes never settle pay it for each new shape.

How it is measured
    Begin and end of each capture, and of what makes a graph of it, are calls
    in the trace. The step is played again without them, with their time
    brought to the pass without the profiler. The warm-up run that torch does
    before a capture is not counted. Unknown without the clean pass. Sizes that
    change are known from the guards that failed in the run, and on the inputs
    of get_input_variants; what they would cost is not measured.

What to do
    Give it few fixed shapes: pad to a few sizes. Keep static inputs at their
    addresses. Or leave changing shapes to ordinary launches:
    torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True.

When it is wrong
    Few recorded steps may catch the last of the captures that warm-up needs.
    Code that captures CUDA graphs of its own, on purpose, looks the same. Where
    the inputs have few sizes, each is recorded once, and then replayed.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.rules.facts import Facts
from analyzer.rules.places import activity_of, claimed_ns, region_place
from analyzer.rules.remedies import guard_text, is_resize
from analyzer.rules.rule import Rule

_ID: Final = "cudagraph_rerecord"
_REMEDY: Final = (
    "pad the inputs to a few fixed sizes, or torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = True"
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    activity = facts.activity
    changing = _changing_sizes(facts)
    if changing and (activity is None or activity.missing is not None):
        return changing
    activity = activity_of(facts)
    replays = activity.replays
    if replays is None or replays.captures <= 0:
        return changing
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
        *changing,
    )


def _changing_sizes(facts: Facts) -> tuple[Finding, ...]:
    """Inputs of changing size in a model of which the plan replays a graph: a replay is of one size."""
    replayed = [fact for fact in facts.regions if fact.planned is not None and fact.planned.has_cuda_graph]
    recompiles = facts.capture.recompiles if facts.capture is not None else ()
    resized = [recompile for recompile in recompiles if is_resize(recompile.guard)]
    if not replayed or not resized:
        return ()
    return (
        Finding(
            rule=_ID,
            message=(
                "a CUDA graph is of one size of the inputs, and torch compiled again for another: the plan's is of the "
                'size that was measured, and mode="reduce-overhead" records one more for each size; '
                f"{guard_text(resized[0].guard)}"
            ),
            where=resized[0].where,
            ns_per_step=None,
            remedy=_REMEDY,
            count=len(resized),
        ),
    )


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
