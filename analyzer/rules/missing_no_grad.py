"""Gradients are recorded in an inference step.

What it finds
    An inference workload whose step runs with gradients on, or whose graphs
    were compiled in two halves, forward and backward, as training needs them.

Why it costs
    Every operation notes what its gradient would need, activations stay in
    memory until the output is dropped, and a compiled forward writes out what
    only a backward would read. It also keeps torch from some fusions, and from
    CUDA graphs while a backward may still come.

How it is measured
    From the operators of one eager step that record a gradient, and from the
    direction of the captured graphs. Its time is not known.

What to do
    Put the step under torch.no_grad() or torch.inference_mode().

When it is wrong
    When the step takes gradients on purpose, through torch.func; where a
    backward was seen in it (saliency, forces), nothing is found.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Direction, Graph
from analyzer.core.settings import Mode
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "missing_no_grad"
_REMEDY: Final = "with torch.no_grad(): around the step"


def judge(facts: Facts) -> tuple[Finding, ...]:
    if workload_of(facts).mode != Mode.INFERENCE:
        return ()
    ops = facts.ops
    if ops is not None and any(call.is_backward for call in ops.calls):
        return ()
    setting = facts.environment.is_grad_enabled if facts.environment is not None else None
    graphs = facts.capture.graphs if facts.capture is not None else ()
    if setting is None and not graphs and ops is None:
        raise MissingData("neither the gradient mode of the step nor a graph was recorded")
    use = ops.mode("gradients") if ops is not None else None
    halves = [graph for graph in graphs if graph.key.direction is not Direction.INFERENCE]
    if not setting and not halves and use is None:
        return ()
    where = halves[0].where if halves else use.where if use is not None else None
    return (Finding(_ID, _message(halves), where, None, _REMEDY, max(len(halves), 1)),)


def _message(halves: list[Graph]) -> str:
    if halves:
        return "this inference step was compiled for training: its graphs keep activations for a backward"
    return "gradients are on in this inference step"


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
