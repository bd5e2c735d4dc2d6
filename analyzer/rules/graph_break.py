"""Capture stops in the middle of the step.

What it finds
    Every place at which Dynamo ended a graph before the function ended, with
    torch's own reason. The same line and reason is one finding with a count.

Why it costs
    What lies between two graphs runs eager, one launch after another. Values
    cross the border in memory, so nothing is fused across it, and each graph
    behind it pays its own guards, wrapper and CUDA-graph replay.

How it is measured
    Breaks come from torch's graph_breaks log. The cost is the eager gap after
    each graph that the break ended, from the pass without the profiler.
    Unknown where the break ended no graph that was measured.

What to do
    Follow torch's hint. Mostly: keep values on the device (no .item(), no
    branch on a tensor), keep prints and logging out of the forward, and
    register a custom operator with torch.library.

When it is wrong
    The gap holds work that some code has to do: fixing the break saves at most
    that. Fusion across the border may save more than it. A break in a path
    that runs once costs nothing in steady state.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.finding import Finding
from analyzer.core.graphs import Capture, GraphBreak, SourceLine
from analyzer.rules.evidence import capture_of
from analyzer.rules.facts import Facts
from analyzer.rules.rule import Rule

_ID: Final = "graph_break"
_REMEDY: Final = "torch.compile(model, fullgraph=True) raises here, with the reason in full"

_Cause = tuple[SourceLine | None, str]


def judge(facts: Facts) -> tuple[Finding, ...]:
    capture = capture_of(facts)
    merged: dict[_Cause, list[GraphBreak]] = {}
    for stop in capture.breaks:
        merged.setdefault(_cause(stop), []).append(stop)
    return tuple(
        Finding(
            rule=_ID,
            message=f"capture stops here: {reason}",
            where=where,
            ns_per_step=_gap_ns(facts, capture, (where, reason)),
            remedy=next((stop.hint for stop in stops if stop.hint), _REMEDY),
            count=sum(stop.count for stop in stops),
        )
        for (where, reason), stops in merged.items()
    )


def _gap_ns(facts: Facts, capture: Capture, cause: _Cause) -> int | None:
    """The eager gaps behind the graphs that this break ended; None where none of them was measured."""
    ended = {graph.key for graph in capture.graphs if graph.ended_by is not None and _cause(graph.ended_by) == cause}
    behind = [fact.elapsed_ns for key, fact in facts.gaps if key.after in ended]
    return sum(behind) if behind else None


def _cause(stop: GraphBreak) -> _Cause:
    return stop.where, stop.reason


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
