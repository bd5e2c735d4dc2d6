"""Products run in a wide type, and bound the step.

What it finds
    Compute-bound graphs whose matrix products are in a type that this device
    multiplies more slowly than a narrower one it was measured with: bfloat16
    for float32, and in inference int8 or float8 for any float.

Why it costs
    Each halving of the width about doubles what tensor cores (on a CPU: its
    matrix instructions) multiply in a second, and halves the bytes beside.

How it is measured
    The compute part of each such graph's budget, times what the two measured
    peaks would save: 1 - present rate / narrower rate. That is the most it can
    be: converting the inputs is not taken off. For float32 under TF32 the
    present rate is that of TF32. A peak that was not measured finds nothing.

What to do
    Have it tried, with its error shown: --allow bf16 (torch.autocast around
    the graph), --allow int8 or --allow fp8 (torchao's quantised linear layers).
    All change results: bfloat16 keeps 7 bits of mantissa, float8 3.

When it is wrong
    Numerical work that needs its width. Where the products are small, peaks
    are never reached in any type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.finding import Finding
from analyzer.core.graphs import Graph
from analyzer.core.settings import Mode
from analyzer.rules.evidence import capture_of, environment_of, regions_of, workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.op_evidence import HALF_TYPES
from analyzer.rules.remedies import tried_by
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "narrower_products"

_LEAST_RATIO: Final = 1.2
"""Narrower over present peak, from which on it is faster beyond noise: as for TF32."""


@dataclass(frozen=True, slots=True)
class _Narrower:
    """A type to multiply in: the change that brings it, and what it is called among the measured peaks."""

    change: str
    dtype: str
    of: tuple[str, ...]
    is_for_training: bool


_TYPES: Final = (
    _Narrower("bf16", "bfloat16", ("float32",), is_for_training=True),
    _Narrower("int8", "int8", ("float32", *HALF_TYPES), is_for_training=False),
    _Narrower("fp8", "float8_e4m3fn", ("float32", *HALF_TYPES), is_for_training=False),
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    workload, environment = workload_of(facts), environment_of(facts)
    regions_of(facts)
    if facts.device is None:
        raise MissingData("how fast this device multiplies is not known: the run ended before it was measured")
    graphs = [graph for graph in capture_of(facts).graphs if graph.dtype in ("float32", *HALF_TYPES)]
    budgets = [(graph, budget) for graph in graphs if (budget := _budget(facts, graph)) is not None]
    if graphs and not budgets:
        raise MissingData("the graphs with products have no budget: no step in steady state was seen to call them")
    bound = [(graph, budget.ns(Part.COMPUTE)) for graph, budget in budgets if _is_compute_bound(budget)]
    is_training = workload.mode == Mode.TRAINING
    found = (
        _finding(facts, one, bound, allows_tf32=environment.allows_tf32 and workload.device == "cuda")
        for one in _TYPES
        if one.is_for_training or not is_training
    )
    return tuple(finding for finding in found if finding is not None)


def _finding(facts: Facts, one: _Narrower, bound: list[tuple[Graph, int]], *, allows_tf32: bool) -> Finding | None:
    savings = [(graph, ns * saved) for graph, ns in bound if (saved := _saved(facts, one, graph, allows_tf32)) > 0]
    if not savings:
        return None
    dearest, _ = max(savings, key=lambda pair: pair[1])
    what = "one graph is" if len(savings) == 1 else f"{quantities.count(len(savings))} graphs are"
    message = f"{what} bound by products that this device does faster in {one.dtype}"
    remedy = f"{tried_by(one.change)}; it changes results, and saves this at most"
    return Finding(_ID, message, dearest.where, round(sum(ns for _, ns in savings)), remedy, len(savings))


def _saved(facts: Facts, one: _Narrower, graph: Graph, allows_tf32: bool) -> float:
    """The share of a graph's product time that the narrower type saves at most; 0 where it does not, or is unknown."""
    if facts.device is None or graph.dtype not in one.of:
        return 0.0
    present = "tf32" if graph.dtype == "float32" and allows_tf32 else graph.dtype
    now, narrower = facts.device.peak(present), facts.device.peak(one.dtype)
    if now is None or narrower is None or narrower < _LEAST_RATIO * now:
        return 0.0
    return 1 - now / narrower


def _budget(facts: Facts, graph: Graph) -> Budget | None:
    fact = facts.region(graph.key)
    return fact.budget if fact is not None else None


def _is_compute_bound(budget: Budget) -> bool:
    return bool(budget.parts) and max(budget.parts, key=lambda part: part.ns).part is Part.COMPUTE


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
