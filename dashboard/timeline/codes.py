"""Which shade each row of a trace has: by its graph, and by what bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.budget import Part
from analyzer.core.trace import EventKind, IntColumn
from analyzer.derive.regions_from_trace import RegionKind, TraceRegion
from analyzer.derive.window import COLLECTIVES
from dashboard.timeline.lane import Codes
from dashboard.timeline.recording import GRAPH_KINDS, GraphNames, Recording
from dashboard.timeline.shades import FIRST_GRAPH, GRAPH_SHADES, Fixed, part_shade

_BY_KIND: Final[dict[EventKind, Fixed]] = {
    EventKind.OTHER: Fixed.OTHER_ROW,
    EventKind.CPU_OP: Fixed.OPERATOR,
    EventKind.LAUNCH: Fixed.LAUNCH,
    EventKind.RUNTIME: Fixed.RUNTIME,
    EventKind.KERNEL: Fixed.NOT_LINKED,
    EventKind.COPY: Fixed.COPY,
    EventKind.MEMSET: Fixed.COPY,
    EventKind.RANGE: Fixed.RANGE,
    EventKind.DEVICE_RANGE: Fixed.RANGE,
    EventKind.SYNC: Fixed.WAIT,
    EventKind.PYTHON: Fixed.PYTHON,
    EventKind.WAIT: Fixed.WAIT,
}


@dataclass(frozen=True, slots=True)
class RowCodes:
    by_graph: Codes
    by_bound: Codes

    def of(self, rows: IntColumn) -> RowCodes:
        return RowCodes(self.by_graph[rows], self.by_bound[rows])


def row_codes(recording: Recording, names: GraphNames) -> RowCodes:
    """One code a row of the trace. Rows of the host are coloured by what they are; on a CPU, whose operators are its
    kernels, these are coloured as kernels.
    """
    table = np.asarray([_BY_KIND[kind] for kind in EventKind], dtype=np.uint8)
    by_graph = table[recording.trace.kind]
    by_bound = by_graph.copy()
    budget = recording.budget
    if budget is not None:
        rows = recording.attribution.work.row
        by_graph[rows] = region_codes(recording.regions, names)[budget.region_of]
        parts = np.asarray([part_shade(part) for part in Part], dtype=np.uint8)
        bound = parts[budget.part_of]
        bound[budget.window.rank_of == COLLECTIVES] = Fixed.COMMUNICATION
        by_bound[rows] = bound
    return RowCodes(by_graph, by_bound)


def region_codes(regions: Sequence[TraceRegion], names: GraphNames) -> Codes:
    """One code a region."""
    return np.asarray([_region_code(region, names) for region in regions], dtype=np.uint8)


def _region_code(region: TraceRegion, names: GraphNames) -> int:
    if region.kind is RegionKind.UNLINKED:
        return Fixed.NOT_LINKED
    number = names.number(region.key) if region.kind in GRAPH_KINDS else None
    if number is None:
        return Fixed.OTHER_GRAPH if region.kind in GRAPH_KINDS else Fixed.NO_GRAPH
    return FIRST_GRAPH + number if number < GRAPH_SHADES else Fixed.OTHER_GRAPH
