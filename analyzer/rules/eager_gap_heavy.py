"""An eager gap takes a large part of the step.

What it finds
    Eager gaps, before, between and after graphs, of over a tenth of the step.
    Before the first graph, after the last one and between the calls of two
    sets of inputs, where no kernel runs there, only what is more than entering
    compiled code: that is guard_cost.

Why it costs
    What runs there was not compiled: each operation is dispatched and launched
    alone, and reads and writes memory. On a GPU the device waits for the host
    while it does; a gap without a kernel is host work alone.

How it is measured
    The gap's time in the pass without the profiler, against the step. What it
    is made of comes from its budget and its kernels.

What to do
    Fix the graph break before it, or the one for which torch left a function
    eager; or move work that does not change out of the step. Without either it
    is, before the first graph, Python, input copies and guards; between the
    forward and the backward, the loss and autograd itself; between the calls
    of two sets of inputs, the way out of one and into the next; after the last
    graph, operators that nobody compiled, or what your step does at its end.

When it is wrong
    Work that is needed and cannot be compiled (a loader, a host library, the
    optimizer of a training step) has to run somewhere.
"""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import HostKind, Part
from analyzer.core.finding import Confidence, Finding
from analyzer.core.graphs import Capture, Direction, GapKey, SourceLine
from analyzer.rules.evidence import ended_by, left_eager, regions_of, starts_at
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.places import is_loading
from analyzer.rules.rule import MissingData, Rule

_ID: Final = "eager_gap_heavy"
_BETWEEN: Final = "fix the graph break before it, or move what does not change out of the step"
_AT_START: Final = (
    "it is the step's own Python, input copies and the guards of the compiled code: take out of the step what does not "
    "change, or do more in one step"
)
_AT_END: Final = "it is what the step does after its last graph, and its way back to Python: see what of it is needed"
_AT_END_WORK: Final = (
    "operators run there uncompiled, of the model or of what the step does with its output: compile them with the "
    "rest, or see what of them is needed"
)
_BETWEEN_SETS: Final = (
    "it is the way out of one call and into the next: Python, input copies and the guards of the compiled code; do "
    "more in one call"
)
_BETWEEN_SETS_WORK: Final = (
    "operators run there uncompiled, behind the last graph of one set or before the first of the next: compile those "
    "of the model with the rest; in training, that is also where gradients are added up"
)
_TO_BACKWARD: Final = (
    "it is the loss, and autograd's own way into the backward: compile the loss in one function with the model, or do "
    "more in one step"
)
_LOADER: Final = (
    "a data loader makes its batches there (input_starved): make them beside the step, in workers of the loader"
)
_LEFT: Final = (
    "mend the graph break at {place}, for which torch left a whole function eager: what that function does outside the "
    "graphs runs here"
)

_WORK: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS, Part.COPIES)

HEAVY_SHARE: Final = 0.1
"""Of a step. A choice: twice the few per cent by which a step repeats (design, measuring)."""


ENTRY_NS: Final = 50_000
"""What calling and leaving one compiled model takes outside of every row of a trace: 12 to 46 µs for models of one
graph on two cores that were shared (torch 2.13)."""

_ENTRY_KINDS: Final = (HostKind.GUARDS, HostKind.BYTECODE, HostKind.PROLOGUE)


def judge(facts: Facts) -> tuple[Finding, ...]:
    regions_of(facts)
    step_ns = facts.step_ns
    if not step_ns:
        raise MissingData("the step was not timed without the profiler")
    return tuple(
        Finding(_ID, _message(facts, key, fact), _where(facts.capture, key), fact.elapsed_ns, _remedy(facts, key, fact))
        for key, fact in facts.gaps
        # Without any graph the whole step is one gap: that is no_graph_captured, said there.
        if key != GapKey(None, None) and fact.elapsed_ns > HEAVY_SHARE * step_ns and not _is_entry(facts, key, fact)
    )


def _is_entry(facts: Facts, key: GapKey, fact: RegionFacts) -> bool:
    """Whether the gap is next to nothing but calling compiled code, or coming back from it."""
    is_between_sets = _is_between_sets(facts, key)
    is_edge = key.after is None or key.before is None or is_between_sets
    budget = fact.budget
    if not is_edge or fact.kernels_per_step != 0 or budget is None or budget.starved is None:
        return False
    own_ns = fact.elapsed_ns - sum(part.ns for part in budget.starved if part.kind in _ENTRY_KINDS)
    entries = facts.input_sets - 1 if is_between_sets else 1
    return own_ns <= max(HEAVY_SHARE * (facts.step_ns or 0), ENTRY_NS * entries)


def _message(facts: Facts, key: GapKey, fact: RegionFacts) -> str:
    share = quantities.share(min(fact.elapsed_ns / (facts.step_ns or 1), 1.0))
    return f"{_place(facts, key)} takes {share} of the step: {_content(fact)}"


def _place(facts: Facts, key: GapKey) -> str:
    if key.after is None:
        return "what runs before the first graph"
    if _is_to_backward(key):
        return "what runs between the forward and the backward"
    if _is_between_sets(facts, key):
        return "what runs between the calls of two sets of inputs"
    return "what runs after the last graph" if key.before is None else "the eager gap between two graphs"


def _is_to_backward(key: GapKey) -> bool:
    before, after = key.before, key.after
    is_backward = before is not None and before.direction is Direction.BACKWARD
    return is_backward and after is not None and after.direction is not Direction.BACKWARD


def _is_between_sets(facts: Facts, key: GapKey) -> bool:
    """Whether one set's call ends in the gap and the next one's begins: nothing else is known to part the graphs."""
    if facts.input_sets == 1 or key.after is None or key.before is None or _is_to_backward(key):
        return False
    return ended_by(facts.capture, key.after) is None and left_eager(facts.capture) is None


def _remedy(facts: Facts, key: GapKey, fact: RegionFacts) -> str:
    if is_loading(facts, fact):
        return _LOADER
    if ended_by(facts.capture, key.after) is not None:
        return _BETWEEN
    left = left_eager(facts.capture)
    if left is not None:
        return _LEFT.format(place=left.where or "a place that torch does not name")
    if key.after is None:
        return _AT_START
    if _is_to_backward(key):
        return _TO_BACKWARD
    if _is_between_sets(facts, key):
        return _BETWEEN_SETS_WORK if _has_work(facts, key, fact) else _BETWEEN_SETS
    if key.before is not None:
        return _BETWEEN
    return _AT_END_WORK if _has_work(facts, key, fact) else _AT_END


def _has_work(facts: Facts, key: GapKey, fact: RegionFacts) -> bool:
    """Whether operators that work were seen in the gap, by its kernels or by what its budget holds of them."""
    if fact.kernels_per_step:
        return True
    return fact.budget is not None and any(fact.budget.ns(part) for part in _WORK)


def _content(fact: RegionFacts) -> str:
    kernels = fact.kernels_per_step
    known = "kernels not recorded" if kernels is None else quantities.average_of(kernels, "kernel")
    if fact.budget is None or not fact.budget.parts:
        return f"{known}, no budget"
    largest = max(fact.budget.parts, key=lambda part: part.ns)
    return f"{known}, {quantities.share(fact.budget.share(largest.part))} of it {largest.part.value}"


def _where(capture: Capture | None, key: GapKey) -> SourceLine | None:
    """The line that ended the graph before the gap, else the one for which torch left a function eager, else the first
    line of the graph after it.
    """
    stops = (ended_by(capture, key.after), left_eager(capture))
    cause = next((stop.where for stop in stops if stop is not None and stop.where is not None), None)
    return cause if cause is not None else starts_at(capture, key.before)


RULE: Final = Rule(id=_ID, doc=__doc__ or "", judge=judge, confidence=Confidence.CERTAIN, is_timed=True)
