"""Weights are cast to a half type in every step.

What it finds
    Parameters that a step casts from float32 to a half type: in inference any
    of them, in training those that one step casts more than once.

Why it costs
    A cast reads the float32 weight and writes a half copy, six bytes an
    element, before the product reads two: three times as many bytes on top,
    and a launch for each.

How it is measured
    Casts of parameters with two or more dimensions among the operators of one
    eager step. The cost is their bytes at the measured memory bandwidth, for
    weights larger than the last cache of the device; else it is not known.

What to do
    In inference: model.to(torch.bfloat16) once, in place of autocast. In
    training: one autocast block around the whole forward, with its cache on.

When it is wrong
    When other code needs the same weights in float32. In training a cast of
    each weight in each step is how autocast works, and is not counted. Silent
    where half_precision_on_slow_path holds: there the half type has to go.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.core.ops import OpCall
from analyzer.core.settings import Mode
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import by_line, casts_weight, is_half_slow, ops_of, times, traffic_ns, unless_cut
from analyzer.rules.rule import Rule

_ID: Final = "autocast_recast"


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    is_training = workload_of(facts).mode == Mode.TRAINING
    # Where the half type is the slow one, the cast is not what to mend: half_precision_on_slow_path says what is.
    casts = [c for c in ops.calls if _casts_weight(c) and not is_half_slow(facts, c.outputs[0].dtype)]
    often = Counter[str]()
    for call in casts:
        often[call.inputs[0].parameter or ""] += call.count
    if is_training:
        casts = [call for call in casts if often[call.inputs[0].parameter or ""] > 1]
    if not casts:
        return unless_cut(ops, ())
    lines = by_line(casts)
    dearest = max(lines, key=lambda where: _bytes(lines[where]))
    names = {call.inputs[0].parameter for call in casts}
    return (
        Finding(
            rule=_ID,
            message=_message(len(names), casts, is_training),
            where=dearest,
            ns_per_step=_cost(facts, casts, is_training, len(names)),
            remedy=_remedy(casts[0].outputs[0].dtype, is_training),
            count=times(casts),
        ),
    )


def _casts_weight(call: OpCall) -> bool:
    return casts_weight(call) and len(call.inputs[0].shape) > 1


def _bytes(calls: list[OpCall]) -> int:
    """Read and written."""
    return sum(((c.inputs[0].bytes or 0) + (c.outputs[0].bytes or 0)) * c.count for c in calls)


def _message(weights: int, casts: list[OpCall], is_training: bool) -> str:
    what = "one weight is" if weights == 1 else f"{quantities.count(weights)} weights are"
    size = quantities.byte_count(_bytes(casts))
    if is_training:
        return f"{what} cast to {casts[0].outputs[0].dtype} {times(casts)} times in one step, {size} moved"
    return f"{what} cast to {casts[0].outputs[0].dtype} in every step, {size} moved"


def _cost(facts: Facts, casts: list[OpCall], is_training: bool, weights: int) -> int | None:
    moved = _bytes(casts)
    if is_training:  # the first cast of each is needed
        moved = round(moved * (1 - weights / times(casts)))
    return traffic_ns(facts, moved, min(c.outputs[0].bytes or 0 for c in casts))


def _remedy(dtype: str, is_training: bool) -> str:
    if is_training:
        return "one torch.autocast block around the whole forward, with cache_enabled=True"
    return f"model.to(torch.{dtype}) once, in place of a cast in every step"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
