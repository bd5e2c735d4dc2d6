"""An eager gap takes a large part of the step.

What it finds
    Eager gaps, before, between and after graphs, of over a tenth of the step.

Why it costs
    What runs there was not compiled: each operation is dispatched and launched
    alone, and reads and writes memory. On a GPU the device waits for the host
    while it does; a gap without a kernel is host work alone.

How it is measured
    The gap's time in the pass without the profiler, against the step. What it
    is made of comes from its budget and its kernels.

What to do
    Fix the graph break before it, or move work that does not change out of the
    step. Before the first graph it is Python, input copies and guards; after
    the last one, whatever your step does with the output.

When it is wrong
    Work that is needed and cannot be compiled (a loader, a host library, the
    optimizer of a training step) has to run somewhere.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.graphs import Capture, GapKey, GraphKey, SourceLine
from analyzer.rules.evidence import regions_of
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "eager_gap_heavy"
_BETWEEN: Final = "fix the graph break before it, or move what does not change out of the step"
_AT_START: Final = (
    "it is the step's own Python, input copies and the guards of the compiled code: take out of the step what does not "
    "change, or do more in one step"
)
_AT_END: Final = "it is what the step does with the output, and its way back to Python: see what of it is needed"

HEAVY_SHARE: Final = 0.1
"""Of a step. A choice: twice the few per cent by which a step repeats (design, measuring)."""


def judge(facts: Facts) -> tuple[Finding, ...]:
    regions_of(facts)
    step_ns = facts.step_ns
    if not step_ns:
        raise MissingData("the step was not timed without the profiler")
    return tuple(
        Finding(
            _ID, _message(key, fact, step_ns), _where(facts.capture, key), fact.elapsed_ns, _remedy(facts.capture, key)
        )
        for key, fact in facts.gaps
        # Without any graph the whole step is one gap: that is no_graph_captured, said there.
        if key != GapKey(None, None) and fact.elapsed_ns > HEAVY_SHARE * step_ns
    )


def _message(key: GapKey, fact: RegionFacts, step_ns: int) -> str:
    share = quantities.share(min(fact.elapsed_ns / step_ns, 1.0))
    return f"{_place(key)} takes {share} of the step: {_content(fact)}"


def _place(key: GapKey) -> str:
    if key.after is None:
        return "what runs before the first graph"
    return "what runs after the last graph" if key.before is None else "the eager gap between two graphs"


def _remedy(capture: Capture | None, key: GapKey) -> str:
    if _ended_at(capture, key.after) is not None:
        return _BETWEEN
    if key.after is None:
        return _AT_START
    return _AT_END if key.before is None else _BETWEEN


def _content(fact: RegionFacts) -> str:
    kernels = fact.kernels_per_step
    known = "kernels not recorded" if kernels is None else f"{quantities.count(kernels)} kernels"
    if fact.budget is None or not fact.budget.parts:
        return f"{known}, no budget"
    largest = max(fact.budget.parts, key=lambda part: part.ns)
    return f"{known}, {quantities.share(fact.budget.share(largest.part))} of it {largest.part.value}"


def _where(capture: Capture | None, key: GapKey) -> SourceLine | None:
    """The line that ended the graph before the gap, else the first line of the graph after it."""
    before = _ended_at(capture, key.after)
    return before if before is not None else _starts_at(capture, key.before)


def _ended_at(capture: Capture | None, key: GraphKey | None) -> SourceLine | None:
    graphs = capture.graphs if capture is not None else ()
    return next((graph.ended_by.where for graph in graphs if graph.key == key and graph.ended_by is not None), None)


def _starts_at(capture: Capture | None, key: GraphKey | None) -> SourceLine | None:
    graphs = capture.graphs if capture is not None else ()
    return next((graph.where for graph in graphs if graph.key == key), None)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge)
