"""Capture stops in the middle of the step.

What it finds
    Every place at which Dynamo ended a graph before the function ended, with
    torch's own reason. The same line and reason is one finding. It counts once
    for each chain of calls that reaches it: torch tells a break in a called
    function of the caller too, of each type of inputs, and of a loop once.

Why it costs
    What lies between two graphs runs eager, one launch after another. Values
    cross the border in memory, so nothing is fused across it, and each graph
    behind it pays its own guards, wrapper and CUDA-graph replay.

How it is measured
    Breaks come from torch's graph_breaks log. The cost is the eager gap after
    each graph that the break ended, from the pass without the profiler; where
    torch left a whole function eager for it, the gaps around the graphs of what
    it calls. It is the most that the break costs. Unknown where the break ended
    no graph that was measured, or where several functions were left eager.

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

import re
from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Capture, GraphBreak
from analyzer.rules.evidence import Cause, capture_of, cause_of, is_left_eager, left_eager
from analyzer.rules.facts import Facts
from analyzer.rules.remedies import own_reason
from analyzer.rules.rule import Rule

_ID: Final = "graph_break"
_REMEDY: Final = "torch.compile(model, fullgraph=True) raises here, with the reason in full"
_OUTSIDE: Final = (
    "move what is called here out of the forward, or register it as a custom operator with torch.library: "
    "torch.compile cannot look into it"
)

_ASKS_TORCH: Final = re.compile(r"\b(?:file|report) an issue\b")
"""In torch's hints of 2.11 to 2.14: to wait for its next release mends no model."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    capture = capture_of(facts)
    merged: dict[Cause, list[GraphBreak]] = {}
    for stop in capture.breaks:
        merged.setdefault(cause_of(stop), []).append(stop)
    return tuple(
        Finding(
            rule=_ID,
            message=_message(reason, stops, cost := _gap_ns(facts, capture, (where, reason))),
            where=where,
            ns_per_step=cost,
            remedy=_remedy(stops),
            count=_count(stops),
        )
        for (where, reason), stops in merged.items()
    )


def _message(reason: str, stops: list[GraphBreak], cost_ns: int | None) -> str:
    more = next((text for stop in stops for text in (own_reason(stop.reason)[1],) if text), "")
    most = "" if cost_ns is None else ", which costs at most the eager gap that it leaves"
    return f"capture stops here{more}{most}: {reason}"


def _remedy(stops: list[GraphBreak]) -> str:
    """Torch's own hint, unless it is only to ask torch for support."""
    hints = [stop.hint for stop in stops if stop.hint]
    usable = [hint for hint in hints if _ASKS_TORCH.search(hint) is None]
    return next(iter(usable), _OUTSIDE if hints else _REMEDY)


def _count(stops: list[GraphBreak]) -> int:
    """By how many chains of calls it was met; of a recording that does not say how often torch told it, a break from
    which torch cannot resume apart, which it tells once more of the function that has it.
    """
    ways = {way for stop in stops for way in stop.ways}
    if ways:
        return len(ways)
    counts = [stop.count for stop in stops if not own_reason(stop.reason)[1]]
    return sum(counts or [stop.count for stop in stops])


def _gap_ns(facts: Facts, capture: Capture, cause: Cause) -> int | None:
    """The eager gaps behind the graphs that this break ended, or of the function left eager for it; None where none of
    them was measured.
    """
    ended = {graph.key for graph in capture.graphs if graph.ended_by is not None and cause_of(graph.ended_by) == cause}
    left = left_eager(capture)
    is_left = left is not None and cause_of(left) == cause
    behind = [
        fact.elapsed_ns for key, fact in facts.gaps if key.after in ended or (is_left and is_left_eager(capture, key))
    ]
    return sum(behind) if behind else None


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN)
