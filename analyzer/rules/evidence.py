"""What several rules ask of the facts first, and what is said when it was not recorded."""

from __future__ import annotations

from analyzer.core.environment import Environment
from analyzer.core.finding import RUN_THE_MODEL
from analyzer.core.graphs import Capture, GapKey, GraphBreak, GraphKey, SourceLine
from analyzer.core.report import WorkloadFacts
from analyzer.rules.facts import Facts, RegionFacts
from analyzer.rules.remedies import own_reason
from analyzer.rules.rule import MissingData


def capture_of(facts: Facts) -> Capture:
    if facts.capture is None:
        raise MissingData(f"the graphs were not captured: {RUN_THE_MODEL}")
    return facts.capture


def workload_of(facts: Facts) -> WorkloadFacts:
    if facts.workload is None:
        raise MissingData(f"the workload is not known: {RUN_THE_MODEL}")
    return facts.workload


def environment_of(facts: Facts) -> Environment:
    if facts.environment is None:
        raise MissingData(f"torch's settings were not recorded: {RUN_THE_MODEL}")
    return facts.environment


def regions_of(facts: Facts) -> tuple[RegionFacts, ...]:
    if not facts.regions:
        raise MissingData(f"no graph or eager gap was measured: {RUN_THE_MODEL}")
    return facts.regions


Cause = tuple[SourceLine | None, str]
"""A place and torch's own reason: one graph break, however often torch tells it."""


def cause_of(stop: GraphBreak) -> Cause:
    return stop.where, own_reason(stop.reason)[0]


def ended_by(capture: Capture | None, key: GraphKey | None) -> GraphBreak | None:
    """The break that ended this graph; None where none did, or that is not known."""
    graphs = capture.graphs if capture is not None else ()
    return next((graph.ended_by for graph in graphs if graph.key == key and graph.ended_by is not None), None)


def starts_at(capture: Capture | None, key: GraphKey | None) -> SourceLine | None:
    """The first user line of this graph; None where it covers none, or is not known."""
    graphs = capture.graphs if capture is not None else ()
    return next((graph.where for graph in graphs if graph.key == key), None)


def left_eager(capture: Capture | None) -> GraphBreak | None:
    """The break for which torch left a function eager that has no graph of its own, so that no graph ended at it.

    What such a function does lies in the gaps around the graphs of what it calls. None where there is no such break, or
    several of them: which gap is whose cannot then be told.
    """
    stops = capture.breaks if capture is not None else ()
    ended = {cause_of(graph.ended_by) for graph in (capture.graphs if capture is not None else ()) if graph.ended_by}
    left = [stop for stop in stops if own_reason(stop.reason)[1] and cause_of(stop) not in ended]
    return left[0] if left and len({cause_of(stop) for stop in left}) == 1 else None


def is_left_eager(capture: Capture | None, key: GapKey) -> bool:
    """Whether a gap may be what `left_eager` names: no break that ended a graph is its cause."""
    return left_eager(capture) is not None and ended_by(capture, key.after) is None
