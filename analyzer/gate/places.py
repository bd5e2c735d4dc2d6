"""Where the numbers of a report come from, named so that code which moved is the same place; and what is new of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.baseline import StoredPlace
from analyzer.core.finding import Finding
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.gate.reading import Sources

TIMELESS: Final = (
    "graph_break",
    "recompilation",
    "recompile_limit",
    "no_graph_captured",
    "cudagraph_skip",
    "compile_changes_results",
    "missing_no_grad",
    "host_constant",
    "unused_gradients",
    "float64_leak",
    "tf32_off",
    "anomaly_mode",
    "deterministic_mode",
    "empty_cache_in_loop",
    "gc_collect_in_step",
    "python_custom_op",
    "autocast_recast",
    "moe_expert_loop",
)
"""Rules that judge by what was captured, logged or set, and by no time: they find the same in the same program."""

KERNELS: Final = "kernels"
CODE: Final = "generated_code"
"""In place of a rule, where a graph is the place: its count is its kernels a step, or its bytes of code."""

NOWHERE: Final = ""


@dataclass(frozen=True, slots=True)
class Place:
    """One finding or graph of this run. `stored` is its name without a line, `finding` None for a graph, which covers
    `lines`.
    """

    stored: StoredPlace
    where: SourceLine | None
    finding: Finding | None = None
    lines: tuple[SourceLine, ...] = ()

    def among(self, changed: Collection[SourceLine]) -> Place:
        """A graph at the first of its lines that a change touched, where one did; else as it is."""
        touched = {(line.file, line.line) for line in changed}
        found = next((line for line in self.lines if (line.file, line.line) in touched), None)
        return self if found is None or self.finding is not None else replace(self, where=found)


def places_of(report: Report, sources: Sources) -> tuple[Place, ...]:
    """Every finding of a timeless rule, and every graph with its kernels and code."""
    found = [
        Place(_stored(finding.rule, finding.where, finding.count, sources), finding.where, finding)
        for finding in report.findings
        if finding.rule in TIMELESS
    ]
    return (*found, *_graph_places(report, sources))


def stored_places(places: Iterable[Place]) -> tuple[StoredPlace, ...]:
    """For a baseline: equal ones as one with their counts added, in a fixed order."""
    counts: Counter[StoredPlace] = Counter()
    for place in places:
        counts[replace(place.stored, count=1)] += place.stored.count
    return tuple(sorted(replace(name, count=count) for name, count in counts.items()))


def new_places(places: Sequence[Place], known: Sequence[StoredPlace], rules: Sequence[str]) -> tuple[Place, ...]:
    """Those of these rules that the baseline does not have, or has fewer of; `stored.count` is then how many more.

    The same line in another function or file is code that moved. A line that was edited is matched by its function
    where as many of the rule's vanished there as appeared: the same finding in other words is not new.
    """
    mine = [place for place in places if place.stored.rule in rules]
    before: Counter[StoredPlace] = Counter()
    for old in known:
        if old.rule in rules:
            before[_whole(old)] += old.count
    left = [place.stored.count for place in mine]
    for same in (_whole, _moved, _edited):
        left = [_still_open(place, count, before, same) for place, count in zip(mine, left, strict=True)]
    return tuple(
        replace(place, stored=replace(place.stored, count=count))
        for place, count in zip(mine, left, strict=True)
        if count > 0
    )


def moved_places(places: Sequence[Place], known: Sequence[StoredPlace], rule: str) -> tuple[Place, ...]:
    """Those of this rule that the baseline has in another function or file, and none that is new."""
    before = {_whole(old) for old in known}
    new = {place.stored for place in new_places(places, known, (rule,))}
    mine = [place for place in places if place.stored.rule == rule and place.stored not in new]
    return tuple(place for place in mine if _whole(place.stored) not in before)


def changed_graphs(places: Sequence[Place], known: Sequence[StoredPlace], what: str) -> tuple[Place, ...]:
    """The graphs with more of `what` than the baseline's graph at the same line has, wherever that line is now; the
    largest growth first. None where the baseline has `what` of no graph.
    """
    mine = [place for place in places if place.stored.rule == what]
    before = {_whole(old): old.count for old in known if old.rule == what}
    stayed = {name for place in mine if (name := _whole(place.stored)) in before}
    gone = {_moved(name): count for name, count in before.items() if name not in stayed}
    grown: list[tuple[int, Place]] = []
    for place in mine:
        name = _whole(place.stored)
        was = before[name] if name in stayed else gone.get(_moved(name), 0)
        grown.append((place.stored.count - was, place))
    return tuple(place for more, place in sorted(grown, key=lambda pair: -pair[0]) if more > 0 and before)


def _whole(name: StoredPlace) -> StoredPlace:
    """What is the same where nothing but the line's number changed."""
    return replace(name, count=1)


def _moved(name: StoredPlace) -> StoredPlace:
    """What is the same where the line is in another function or file. Lines that cannot be read are not alike."""
    return replace(name, file=NOWHERE, function=NOWHERE, count=1) if name.text else _whole(name)


def _edited(name: StoredPlace) -> StoredPlace:
    """What is the same where the function has another line for it."""
    return replace(name, text=NOWHERE, count=1)


def _still_open(
    place: Place, count: int, before: Counter[StoredPlace], same: Callable[[StoredPlace], StoredPlace]
) -> int:
    """How many of this place are not among those of before, of which as many are taken as there are."""
    for name in [old for old in before if same(old) == same(place.stored)] if count > 0 else ():
        taken = min(before[name], count)
        before[name] -= taken
        count -= taken
    return count


def _stored(rule: str, where: SourceLine | None, count: int, sources: Sources) -> StoredPlace:
    if where is None:
        return StoredPlace(rule, NOWHERE, NOWHERE, NOWHERE, count)
    return StoredPlace(rule, sources.path(where.file), where.function or NOWHERE, sources.text(where), count)


def _graph_places(report: Report, sources: Sources) -> tuple[Place, ...]:
    kernels = [
        Place(_stored(KERNELS, graph.where, round(graph.kernels_per_step), sources), graph.where, None, graph.source)
        for graph in report.graphs
        if graph.kernels_per_step is not None and graph.is_in_step
    ]
    graphs = report.capture.graphs if report.capture is not None else ()
    code = [
        Place(_stored(CODE, graph.where, graph.code_bytes, sources), graph.where, None, graph.source)
        for graph in graphs
        if graph.code_bytes is not None
    ]
    # Graphs that begin at one line (forward and backward, or two shapes) are one place.
    return (*_added_up(kernels), *_added_up(code))


def _added_up(places: Sequence[Place]) -> tuple[Place, ...]:
    totals: dict[StoredPlace, Place] = {}
    for place in places:
        name = replace(place.stored, count=1)
        known = totals.get(name)
        count = place.stored.count + (known.stored.count if known is not None else 0)
        lines = (*(known.lines if known is not None else ()), *place.lines)
        where = known.where if known is not None else place.where
        totals[name] = Place(replace(place.stored, count=count), where, None, lines)
    return tuple(totals.values())
