"""What the rows of a table of regions say, the same in every format: graphs and eager gaps in the order of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core.budget import Budget
from analyzer.core.graphs import Direction, GapKey, GraphKey, Region, SourceLine
from analyzer.core.quantities import share
from analyzer.core.report import GapReport, GraphReport, Report
from analyzer.core.verdict import Bound, Verdict
from analyzer.reporting.plain_text import file_name, plain

EAGER: Final = "eager"

_SUFFIXES: Final = {Direction.INFERENCE: "", Direction.FORWARD: " fwd", Direction.BACKWARD: " bwd"}


@dataclass(frozen=True, slots=True)
class RegionRow:
    """One graph or eager gap. `chosen` is None for a gap, which has no candidates.

    `share` is of the step before, both from the first clean pass. `before_ns` may be from the comparison with the plan,
    when the machine may have run at another speed: it is no part of that step.
    """

    region: Region
    label: str
    verdict: Verdict
    verdict_after: Verdict | None
    share: float | None
    budget: Budget | None
    chosen: str | None
    before_ns: int | None
    after_ns: int | None


def region_rows(report: Report) -> tuple[RegionRow, ...]:
    """Every graph of the step and every gap; a gap stands after the graph that it follows, the one at the start first.

    A graph that no step calls any more is no part of the step, and has no row.
    """
    whole_ns = step_ns(report)
    graphs = tuple(graph for graph in report.graphs if graph.is_in_step)
    labels = graph_labels(graphs)
    rows = [_gap_row(gap, whole_ns, labels) for gap in report.eager_gaps if gap.key.after is None]
    for graph in graphs:
        rows.append(_graph_row(graph, whole_ns, labels[graph.key]))
        rows.extend(_gap_row(gap, whole_ns, labels) for gap in report.eager_gaps if gap.key.after == graph.key)
    rows.extend(
        _gap_row(g, whole_ns, labels)
        for g in report.eager_gaps
        if g.key.after is not None and g.key.after not in labels
    )
    return tuple(rows)


def step_ns(report: Report) -> int | None:
    """The whole that shares are of: the budget of the step, else its median."""
    if report.step_budget is not None:
        return report.step_budget.elapsed_ns
    return None if report.step_ns is None else report.step_ns.median_ns


def graph_label(graph: GraphReport) -> str:
    """`model.py:41`, with `fwd` or `bwd` for the halves of a training graph."""
    if graph.label is not None:
        return plain(graph.label, 120)
    return (place(graph.where) if graph.where else _nameless(graph)) + _SUFFIXES[graph.key.direction]


def _nameless(graph: GraphReport) -> str:
    """A graph that covers no line of the user's, as an `nn.Sequential` that is the whole model."""
    return f"graph {plain(graph.compile_ids[0], 20)}" if graph.compile_ids else f"graph {graph.key.digest}"


def gap_label(gap: GapReport, labels: Mapping[GraphKey, str]) -> str:
    """`gap model.py:41` where the graph before it ended; else by its place in the step. `labels` are the graphs'."""
    if gap.where is not None:
        return f"gap {place(gap.where)}"
    return f"gap {_edge(gap.key, labels)}"


def place(where: SourceLine | None) -> str:
    """`model.py:41`; the whole path is in report.json. What has no line is of the step as a whole."""
    return "the step" if where is None else f"{plain(file_name(where.file))}:{where.line}"


def inside(where: SourceLine | None) -> str:
    """` in forward`, to stand behind a place; empty where its function is not known."""
    return "" if where is None or where.function is None else f" in {plain(where.function, 60)}"


def bound_word(bound: Bound) -> str:
    """`CPU`, `memory`, …"""
    return "CPU" if bound is Bound.CPU else bound.value


def verdict_text(verdict: Verdict) -> str:
    """`CPU 92 %`: the bound and how sure it is."""
    if verdict.confidence is None:
        return bound_word(verdict.bound)
    return f"{bound_word(verdict.bound)} {share(verdict.confidence)}"


def _edge(key: GapKey, labels: Mapping[GraphKey, str]) -> str:
    if key.after is None:
        return "at the start" if key.before is not None else "all of the step"
    return "at the end" if key.before is None else f"after {labels.get(key.after, key.after.digest)}"


def graph_labels(graphs: Sequence[GraphReport]) -> dict[GraphKey, str]:
    """What each graph is called. Two may begin on the same line, in two layers of one class: then the compile id
    tells them apart.
    """
    counts = Counter(graph_label(graph) for graph in graphs)
    return {
        g.key: graph_label(g)
        + (f" [{plain(g.compile_ids[0], 20)}]" if counts[graph_label(g)] > 1 and g.compile_ids else "")
        for g in graphs
    }


def tried_labels(graphs: Sequence[GraphReport]) -> dict[GraphKey, str]:
    """What each graph is called where its candidates stand: forward and backward of one are tried together, and what
    was measured is of both.
    """
    labels = {g.key: graph_label(g) for g in graphs} | graph_labels([g for g in graphs if g.is_in_step])
    halves = Counter(key.digest for key in labels)
    return {key: _of_both(label, key) if halves[key.digest] > 1 else label for key, label in labels.items()}


def _of_both(label: str, key: GraphKey) -> str:
    half = _SUFFIXES[key.direction]
    return " fwd + bwd".join(label.rsplit(half, 1)) if half else label


def _graph_row(graph: GraphReport, whole_ns: int | None, label: str) -> RegionRow:
    return RegionRow(
        region=graph.key,
        label=label,
        verdict=graph.verdict,
        verdict_after=graph.verdict_after,
        share=_share(graph.budget, whole_ns),
        budget=graph.budget,
        chosen=graph.chosen,
        before_ns=graph.before_ns,
        after_ns=graph.after_ns,
    )


def _gap_row(gap: GapReport, whole_ns: int | None, labels: Mapping[GraphKey, str]) -> RegionRow:
    return RegionRow(
        region=gap.key,
        label=gap_label(gap, labels),
        verdict=gap.verdict,
        verdict_after=None,
        share=_share(gap.budget, whole_ns),
        budget=gap.budget,
        chosen=None,
        before_ns=gap.before_ns,
        after_ns=gap.after_ns,
    )


def _share(part: Budget | None, whole_ns: int | None) -> float | None:
    return part.elapsed_ns / whole_ns if part is not None and whole_ns else None
