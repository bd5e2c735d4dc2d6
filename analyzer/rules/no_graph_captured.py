"""Nothing was captured: the whole step runs eager.

What it finds
    A workload that was compiled, ran, and left Dynamo without a single graph.
    Nothing warns of it: the step gives the right result, at eager speed.

Why it costs
    Nothing is fused, no CUDA graph can be recorded, and every step still
    passes through Dynamo's guards. There is nothing here to optimise.

How it is measured
    The capture is empty after the first calls. The cost is not known, since
    there is no compiled run to compare with.

What to do
    Look at the graph breaks, if there are any: the first one tells why Dynamo
    gave up on the frame. torch.compile(model, fullgraph=True) raises at that
    place. Look for torch._dynamo.disable, torch.jit.script, a model whose
    forward is written in C++, and for frames inside a skipped library. Where
    torch.compile is switched off (TORCH_COMPILE_DISABLE=1), it says so.

When it is wrong
    A model without any tensor operation has no graph to capture.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import own_reason
from analyzer.rules.rule import Rule

_ID: Final = "no_graph_captured"
_REMEDY: Final = "torch.compile(model, fullgraph=True) raises where capture stops"
_SWITCHED_OFF: Final = "torch.compile is switched off here, and so captured no graph; the whole step runs eager"
_SWITCH_ON: Final = (
    "unset TORCH_COMPILE_DISABLE and TORCHDYNAMO_DISABLE, and do not set torch._dynamo.config.disable in the program"
)


def judge(facts: Facts) -> tuple[Finding, ...]:
    capture = capture_of(facts)
    if capture.graphs:
        return ()
    if facts.environment is not None and facts.environment.is_compile_disabled:
        return (Finding(_ID, _SWITCHED_OFF, None, None, _SWITCH_ON),)
    reason = own_reason(capture.breaks[0].reason)[0].rstrip(".") if capture.breaks else None
    why = f", which broke with: {reason}" if reason is not None else ""
    message = f"torch.compile captured no graph{why}; the whole step runs eager"
    where = next((stop.where for stop in capture.breaks if stop.where is not None), None)
    return (Finding(_ID, message, where, None, _REMEDY),)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
