"""Float32 products bound the step, without TF32.

What it finds
    Compute-bound graphs on a CUDA device whose matrix products are float32,
    while torch does not allow TF32 for them (its default).

Why it costs
    Plain float32 products do not use the tensor cores. On an H200 the TF32
    rate is several times the float32 rate.

How it is measured
    The compute part of each such graph's budget, times the share that the two
    measured peaks of this device would save: 1 - float32 / TF32. That is the
    most it can be. Unknown where a peak was not measured.

What to do
    torch.set_float32_matmul_precision("high"). This changes results: inputs of
    a product keep 10 bits of mantissa in place of 23, the sum stays float32.
    Models trained with TF32 or in bfloat16 do not notice; check yours.

When it is wrong
    Numerical work that needs float32 (physics, solvers, small differences of
    large numbers). Convolutions follow another setting, which allows TF32 by
    default.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Budget, Part
from analyzer.core.device import Device
from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Graph
from analyzer.rules.evidence import capture_of, environment_of, regions_of, workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import tried_by
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "tf32_off"
_REMEDY: Final = (
    'torch.set_float32_matmul_precision("high"); it changes results: products keep 10 bits of mantissa; '
    f"{tried_by('tf32')}"
)

_LEAST_RATIO: Final = 1.2
"""TF32 over float32 peak below which the device has no TF32 (before Ampere both are the same rate, within noise)."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    if workload_of(facts).device != "cuda" or environment_of(facts).allows_tf32:
        return ()
    regions_of(facts)
    graphs = [graph for graph in capture_of(facts).graphs if graph.dtype == "float32"]
    budgets = [(graph, budget) for graph in graphs if (budget := _budget(facts, graph)) is not None]
    if graphs and not budgets:
        raise MissingData("the float32 graphs have no budget: the profiled pass is missing")
    bound = [(graph, budget.ns(Part.COMPUTE)) for graph, budget in budgets if _is_compute_bound(budget)]
    saved = _saved_share(facts.device)
    if not bound or saved == 0.0:
        return ()
    dearest, _ = max(bound, key=lambda pair: pair[1])
    message = "float32 matrix products bound this graph, and TF32 is not allowed"
    total_ns = sum(ns for _, ns in bound)
    cost_ns = None if saved is None else round(total_ns * saved)
    return (Finding(_ID, message, dearest.where, cost_ns, _REMEDY, len(bound)),)


def _budget(facts: Facts, graph: Graph) -> Budget | None:
    fact = facts.region(graph.key)
    return fact.budget if fact is not None else None


def _is_compute_bound(budget: Budget) -> bool:
    return bool(budget.parts) and max(budget.parts, key=lambda part: part.ns).part is Part.COMPUTE


def _saved_share(device: Device | None) -> float | None:
    """The share of product time that TF32 saves at most; 0.0 without TF32 on the device, None where it is unknown."""
    plain, tf32 = (device.peak("float32"), device.peak("tf32")) if device is not None else (None, None)
    if plain is None or tf32 is None:
        return None
    return 1 - plain / tf32 if tf32 > _LEAST_RATIO * plain else 0.0


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
