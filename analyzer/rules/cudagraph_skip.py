"""Torch refused to run a graph as a CUDA graph.

What it finds
    Graphs for which CUDA graphs were asked and refused, with torch's reason;
    and graphs that torch takes apart, to leave out what none can hold.

Why it costs
    Without a CUDA graph the host launches every kernel again in every step.
    Where it launches slower than the device computes, the device starves.

How it is measured
    From torch's own log, in a run that asks for them: the trials of the
    candidate cuda_graphs, or a plan. The cost is the graph's starved time in
    the default run: what a CUDA graph would save at most. Unknown where the
    graph has no budget, and where it was taken apart: the rest is recorded.

What to do
    Remove the reason: a tensor left on the CPU, an input written in place, an
    operator that copies to the host. The C++ wrapper shortens the launches of
    a graph that cannot become a CUDA graph.

When it is wrong
    A graph whose kernels are long starves little: nothing is lost. What is
    left out of a CUDA graph may cost no more outside of it. Torch names it when
    it compiles, and not where it finds the graph in its cache.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Part
from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import CudaGraphSkip, GraphKey, SourceLine
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import SKIP_OTHERWISE, SKIPS, remedy
from analyzer.rules.rule import Rule

_ID: Final = "cudagraph_skip"
_WHOLE: Final = "torch will not run this graph as a CUDA graph"
_PART: Final = "torch takes this graph apart, and runs a part of it outside of its CUDA graphs"


def judge(facts: Facts) -> tuple[Finding, ...]:
    merged: dict[tuple[GraphKey | None, SourceLine | None, str], list[CudaGraphSkip]] = {}
    for skip in capture_of(facts).skips:
        merged.setdefault((skip.key, skip.where if skip.is_partial else None, skip.reason), []).append(skip)
    return tuple(
        Finding(
            rule=_ID,
            message=f"{_PART if group[0].is_partial else _WHOLE}: {reason}",
            where=next((skip.where for skip in group if skip.where is not None), None),
            ns_per_step=None if group[0].is_partial else _starved_ns(facts, key),
            remedy=remedy(reason, SKIPS, SKIP_OTHERWISE),
            count=len(group),
        )
        for (key, _, reason), group in merged.items()
    )


def _starved_ns(facts: Facts, key: GraphKey | None) -> int | None:
    fact = facts.region(key)
    return fact.budget.ns(Part.STARVED) if fact is not None and fact.budget is not None else None


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
