"""Gradients are recorded in an inference step.

What it finds
    An inference workload whose step runs with gradients on, or whose graphs
    were compiled in two halves, forward and backward, as training needs them.
    Of a step of your own (Workload.of(..., step=...)) also that it leaves
    gradients on: that nothing in it turns them off.

Why it costs
    Every operation notes what its gradient would need, activations stay in
    memory until the output is dropped, and a compiled forward writes out what
    only a backward would read. It also keeps torch from some fusions, and from
    CUDA graphs while a backward may still come.

How it is measured
    From the operators of one eager step that record a gradient, and from the
    direction of the captured graphs. An inference step is measured under
    torch.no_grad(), so these show only what turns gradients on again inside.
    A step of your own is run once more with gradients on, as far as its first
    operator that records one. Its time is not known.

What to do
    Put the step under torch.no_grad() or torch.inference_mode().

When it is wrong
    When the step takes gradients on purpose, through torch.func; where a
    backward was seen in it (saliency, forces), nothing is found. When what
    calls your own step turns gradients off. Without a step of your own it
    cannot tell whether your program calls the model under torch.no_grad(), or
    whether one inside the model is gone: the model is called under one here.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Direction, SourceLine
from analyzer.core.settings import Mode
from analyzer.rules.evidence import workload_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "missing_no_grad"
_REMEDY: Final = "with torch.no_grad(): around the step"
_TRAINED: Final = "this inference step was compiled for training: its graphs keep activations for a backward"
_ON: Final = "gradients are on in this inference step"
_LEFT_ON: Final = (
    "this step of your own leaves gradients on: it was measured under torch.no_grad() here, and where nothing else "
    "turns them off it keeps activations for a backward"
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    if workload_of(facts).mode != Mode.INFERENCE:
        return ()
    ops = facts.ops
    if ops is not None and any(call.is_backward for call in ops.calls):
        return ()
    environment = facts.environment
    setting = environment.is_grad_enabled if environment is not None else None
    graphs = facts.capture.graphs if facts.capture is not None else ()
    if setting is None and not graphs and ops is None:
        raise MissingData("neither the gradient mode of the step nor a graph was recorded")
    use = ops.mode("gradients") if ops is not None else None
    halves = [graph for graph in graphs if graph.key.direction is not Direction.INFERENCE]
    if halves:
        return (_finding(_TRAINED, halves[0].where, len(halves)),)
    if use is not None:
        return (_finding(_ON, use.where),)
    return (_finding(_LEFT_ON, environment.grad_line),) if environment is not None and setting else ()


def _finding(message: str, where: SourceLine | None, count: int = 1) -> Finding:
    return Finding(_ID, message, where, None, _REMEDY, count)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
