"""Half-type products run slower here than in float32.

What it finds
    Matrix products and convolutions in a half type, where the device's own
    measured rate for that type is below its float32 rate; or, on a CPU where
    it was not measured, where the CPU has no instruction for it.

Why it costs
    Without such instructions each element is widened, multiplied and rounded,
    often by a plain loop. On an AVX2 CPU a 512 x 512 product was measured to
    take 50 times as long in either half type as in float32.

How it is measured
    The operators of one eager step give the products and their types, the
    measured peaks or the CPU's flags the rest. The cost is the compute part of
    the graphs in that type, times 1 - half rate / float32 rate. Unknown where
    a rate or a budget is.

What to do
    Keep float32 on this device: model.float() where the weights are of a half
    type; where they are float32 and cast in the step, leave out torch.autocast.
    On a GPU older than Ampere take float16 in place of bfloat16.

When it is wrong
    Where memory, not products, bounds the model, a half type still halves the
    bytes. A library may widen whole blocks and lose less than the flags say.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.core.finding import Finding
from analyzer.core.ops import OpCall
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import (
    HALF_TYPES,
    by_line,
    casts_weight,
    half_ratio,
    is_half_slow,
    ops_of,
    times,
    unless_cut,
)
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "half_precision_on_slow_path"

_PRODUCT_NAMES: Final = (
    "mm addmm bmm baddbmm mv addmv linear convolution convolution_backward mkldnn_convolution mkldnn_rnn_layer "
    "_scaled_dot_product_flash_attention_for_cpu"
)
_PRODUCTS: Final = frozenset(f"aten::{name}" for name in _PRODUCT_NAMES.split())


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    products = [call for call in ops.calls if _dtype(call) is not None]
    findings = []
    for dtype in HALF_TYPES:
        calls = [call for call in products if _dtype(call) == dtype]
        if calls and _is_slow(facts, dtype):
            findings.append(_finding(facts, dtype, calls))
    return unless_cut(ops, tuple(findings))


def _dtype(call: OpCall) -> str | None:
    """The half type that a product works in; None for anything else."""
    if call.op not in _PRODUCTS or not call.inputs:
        return None
    dtype = call.inputs[0].dtype
    return dtype if dtype in HALF_TYPES else None


def _is_slow(facts: Facts, dtype: str) -> bool:
    """Raises MissingData where neither rates nor flags tell."""
    is_slow = is_half_slow(facts, dtype)
    if is_slow is None and facts.device is None:
        raise MissingData(f"how fast this device is in {dtype} is not known: the run ended before it was measured")
    if is_slow is None:
        raise MissingData(f"how fast this device is in {dtype} was not measured: analyze doctor measures it")
    return is_slow


def _finding(facts: Facts, dtype: str, calls: list[OpCall]) -> Finding:
    ratio = half_ratio(facts, dtype)
    lines = by_line(calls)
    dearest = max(lines, key=lambda where: times(lines[where]))
    how = "has no instruction for it" if ratio is None else f"has {quantities.ratio(ratio)} its float32 rate in it"
    number = times(calls)
    what = "one product is" if number == 1 else f"{quantities.count(number)} products of a step are"
    where = "this CPU" if workload_of(facts).device == "cpu" else "this device"
    message = f"{what} in {dtype}, and {where} {how}"
    return Finding(_ID, message, dearest, _cost(facts, dtype, ratio), _remedy(facts, dtype, where, calls), number)


def _remedy(facts: Facts, dtype: str, where: str, calls: list[OpCall]) -> str:
    """By where the half type comes from: weights that have it, or casts of float32 weights in the step (autocast)."""
    is_stored = any(tensor.parameter is not None and tensor.dtype == dtype for c in calls for tensor in c.inputs)
    is_cast = any(casts_weight(call) and call.outputs[0].dtype == dtype for call in ops_of(facts).calls)
    other = "" if where == "this CPU" else ", or take the other half type"
    remedies = []
    if is_stored:
        remedies.append(f"model.float(): keep float32 on {where}")
    if is_cast:
        remedies.append(f"the weights are float32 and are cast in the step: leave out torch.autocast on {where}")
    return "; ".join(remedies or [f"compute these in float32 on {where}"]) + other


def _cost(facts: Facts, dtype: str, ratio: float | None) -> int | None:
    if ratio is None or facts.capture is None:
        return None
    regions = [facts.region(graph.key) for graph in facts.capture.graphs if graph.dtype == dtype]
    budgets = [fact.budget for fact in regions if fact is not None and fact.budget is not None]
    if not budgets:
        return None
    return round(sum(budget.ns(Part.COMPUTE) for budget in budgets) * (1 - ratio))


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
