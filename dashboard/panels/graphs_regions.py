"""The graphs and eager gaps of a report, by the key that stands in the address of the page."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from analyzer.core.budget import Budget
from analyzer.core.graphs import Region
from analyzer.core.report import GapReport, GraphReport, Report
from analyzer.core.verdict import Verdict
from analyzer.reporting.rows import EAGER, RegionRow, graph_label, region_rows


@dataclass(frozen=True, slots=True)
class ShownRegion:
    """`row` is what every format says of it; one of `graph` and `gap` is what the report has beyond that. `key` is its
    own on the page, also where the report has a key twice.
    """

    key: str
    row: RegionRow
    graph: GraphReport | None
    gap: GapReport | None
    is_in_step: bool = True

    @property
    def kind(self) -> str:
        if self.graph is None:
            return "eager gap"
        return self.graph.kind if self.graph.label is not None else f"{self.graph.key.direction.value} graph"

    @property
    def budget_after(self) -> Budget | None:
        return self.graph.budget_after if self.graph is not None else None

    @property
    def verdict_after(self) -> Verdict | None:
        return self.row.verdict_after

    @property
    def chosen(self) -> str:
        return self.row.chosen or EAGER


def shown_regions(report: Report) -> tuple[ShownRegion, ...]:
    """In the order of a step, those that no step calls any more last."""
    graphs: dict[Region, GraphReport] = {graph.key: graph for graph in report.graphs}
    gaps: dict[Region, GapReport] = {gap.key: gap for gap in report.eager_gaps}
    seen: Counter[str] = Counter()
    found = []
    for row in region_rows(report):
        key = _own_key(str(row.region), seen)
        found.append(ShownRegion(key, row, graphs.get(row.region), gaps.get(row.region)))
    for graph in report.graphs:
        if not graph.is_in_step:
            key = _own_key(str(graph.key), seen)
            found.append(ShownRegion(key, _row_of(graph), graph, None, is_in_step=False))
    return tuple(found)


def region_of(report: Report, key: str | None) -> ShownRegion | None:
    """The region of this key; for None the one that takes longest. None where there is no such region."""
    regions = shown_regions(report)
    if key is not None:
        return next((region for region in regions if region.key == key), None)
    return max(regions, key=lambda region: (region.is_in_step, region.row.before_ns or 0), default=None)


def _own_key(key: str, seen: Counter[str]) -> str:
    seen[key] += 1
    return key if seen[key] == 1 else f"{key}~{seen[key]}"


def _row_of(graph: GraphReport) -> RegionRow:
    return RegionRow(
        region=graph.key,
        label=graph_label(graph),
        verdict=graph.verdict,
        verdict_after=graph.verdict_after,
        share=None,
        budget=graph.budget,
        chosen=graph.chosen,
        before_ns=graph.before_ns,
        after_ns=graph.after_ns,
    )
