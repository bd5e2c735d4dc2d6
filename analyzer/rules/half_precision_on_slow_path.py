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
    Keep float32 on this device: model.float(). On a GPU older than Ampere
    take float16 in place of bfloat16.

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
from analyzer.rules.op_evidence import by_line, ops_of, times, unless_cut
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "half_precision_on_slow_path"

_HALF: Final = ("bfloat16", "float16")
_FULL: Final = "float32"
_PRODUCT_NAMES: Final = (
    "mm addmm bmm baddbmm mv addmv linear convolution convolution_backward mkldnn_convolution mkldnn_rnn_layer "
    "_scaled_dot_product_flash_attention_for_cpu"
)
_PRODUCTS: Final = frozenset(f"aten::{name}" for name in _PRODUCT_NAMES.split())

_SLOW_RATIO: Final = 0.9
"""Of the float32 rate: below it a half type loses by more than the few per cent to which rates repeat."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    ops = ops_of(facts)
    device = workload_of(facts).device
    products = [call for call in ops.calls if _dtype(call) is not None]
    findings = []
    for dtype in _HALF:
        calls = [call for call in products if _dtype(call) == dtype]
        if calls and _is_slow(facts, device, dtype):
            findings.append(_finding(facts, device, dtype, calls))
    return unless_cut(ops, tuple(findings))


def _dtype(call: OpCall) -> str | None:
    """The half type that a product works in; None for anything else."""
    if call.op not in _PRODUCTS or not call.inputs:
        return None
    dtype = call.inputs[0].dtype
    return dtype if dtype in _HALF else None


def _is_slow(facts: Facts, device: str, dtype: str) -> bool:
    """Raises MissingData where neither rates nor flags tell."""
    ratio = _ratio(facts, dtype)
    if ratio is not None:
        return ratio < _SLOW_RATIO
    known = facts.environment.cpu_half_dtypes if facts.environment is not None and device == "cpu" else None
    if known is None:
        raise MissingData(f"how fast this device is in {dtype} was not measured: analyze doctor measures it")
    return dtype not in known


def _ratio(facts: Facts, dtype: str) -> float | None:
    """The device's rate in `dtype` over its float32 rate; None where one was not measured."""
    half, full = (facts.device.peak(dtype), facts.device.peak(_FULL)) if facts.device is not None else (None, None)
    return half / full if half is not None and full else None


def _finding(facts: Facts, device: str, dtype: str, calls: list[OpCall]) -> Finding:
    ratio = _ratio(facts, dtype)
    lines = by_line(calls)
    dearest = max(lines, key=lambda where: times(lines[where]))
    how = "has no instruction for it" if ratio is None else f"has {quantities.ratio(ratio)} its float32 rate in it"
    number = times(calls)
    what = "one product is" if number == 1 else f"{quantities.count(number)} products of a step are"
    where = "this CPU" if device == "cpu" else "this device"
    remedy = (
        "model.float(): keep float32 on this CPU" if device == "cpu" else "use float32 here, or the other half type"
    )
    return Finding(_ID, f"{what} in {dtype}, and {where} {how}", dearest, _cost(facts, dtype, ratio), remedy, number)


def _cost(facts: Facts, dtype: str, ratio: float | None) -> int | None:
    if ratio is None or facts.capture is None:
        return None
    regions = [facts.region(graph.key) for graph in facts.capture.graphs if graph.dtype == dtype]
    budgets = [fact.budget for fact in regions if fact is not None and fact.budget is not None]
    if not budgets:
        return None
    return round(sum(budget.ns(Part.COMPUTE) for budget in budgets) * (1 - ratio))


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
