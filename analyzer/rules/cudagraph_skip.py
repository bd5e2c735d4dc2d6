"""Torch refused to run a graph as a CUDA graph.

What it finds
    Graphs for which CUDA graphs were asked and refused, with torch's reason.

Why it costs
    Without a CUDA graph the host launches every kernel again in every step.
    Where it launches slower than the device computes, the device starves.

How it is measured
    From torch's own log. The cost is the graph's starved time in the default
    run: what a CUDA graph would save at most. Unknown where the graph has no
    budget.

What to do
    Remove the reason: a tensor left on the CPU, an input written in place, an
    operator that copies to the host. The C++ wrapper shortens the launches of
    a graph that cannot become a CUDA graph.

When it is wrong
    A graph whose kernels are long starves little: nothing is lost. With graph
    partition, torch may refuse a part of the graph and record the rest.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Part
from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import CudaGraphSkip, GraphKey
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import SKIP_OTHERWISE, SKIPS, remedy
from analyzer.rules.rule import Rule

_ID: Final = "cudagraph_skip"


def judge(facts: Facts) -> tuple[Finding, ...]:
    merged: dict[tuple[GraphKey | None, str], list[CudaGraphSkip]] = {}
    for skip in capture_of(facts).skips:
        merged.setdefault((skip.key, skip.reason), []).append(skip)
    return tuple(
        Finding(
            rule=_ID,
            message=f"torch will not run this graph as a CUDA graph: {reason}",
            where=next((skip.where for skip in group if skip.where is not None), None),
            ns_per_step=_starved_ns(facts, key),
            remedy=remedy(reason, SKIPS, SKIP_OTHERWISE),
            count=len(group),
        )
        for (key, reason), group in merged.items()
    )


def _starved_ns(facts: Facts, key: GraphKey | None) -> int | None:
    fact = facts.region(key)
    return fact.budget.ns(Part.STARVED) if fact is not None and fact.budget is not None else None


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
