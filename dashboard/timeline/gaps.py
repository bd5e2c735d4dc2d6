"""When no kernel computes, and why: the stretches of a window that belong to no computing kernel, by their cause."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.intervals import EMPTY, subtract, union
from analyzer.core.trace import IntColumn
from analyzer.derive.attribution import Attribution
from analyzer.derive.host_rows import WAITS
from analyzer.derive.idle_reasons import OUTSIDE, QUEUED, REFILL
from analyzer.derive.trace_budget import TraceBudget
from analyzer.derive.window import COLLECTIVES, COPIES, KERNELS
from dashboard.timeline.shades import Fixed

CAUSES: Final = (
    Fixed.GAP_STARVED,
    Fixed.GAP_SYNC,
    Fixed.GAP_QUEUED,
    Fixed.GAP_OUTSIDE,
    Fixed.GAP_UNEXPLAINED,
    Fixed.GAP_COMMUNICATION,
    Fixed.GAP_COPY,
)


@dataclass(frozen=True, slots=True)
class Gaps:
    """Sorted, disjoint stretches; `ns[i, j]` is how much of stretch `i` has `CAUSES[j]`. The lines add up to their
    stretches, and all of them to the window without the union of its computing kernels.
    """

    start_ns: IntColumn
    end_ns: IntColumn
    ns: IntColumn

    @property
    def cause(self) -> IntColumn:
        """The code of the shade of the largest cause of each."""
        codes = np.asarray(CAUSES, dtype=np.int64)
        return codes[np.argmax(self.ns, axis=1)] if self.ns.size else np.empty(0, dtype=np.int64)


NOTHING: Final = Gaps(EMPTY.start_ns, EMPTY.end_ns, np.empty((0, len(CAUSES)), dtype=np.int64))


def gaps_of(attribution: Attribution, budget: TraceBudget | None) -> Gaps:
    """The gaps of the recorded window, cut where steps begin and end if a part of one lies outside of every step. On a
    CPU, whose kernels are operators: the time between operators.
    """
    if budget is None:
        return NOTHING
    found, reasons = budget.idle, budget.idle.ns
    idle = np.zeros((found.start_ns.size, len(CAUSES)), dtype=np.int64)
    idle[:, 0] = reasons[:, :WAITS].sum(axis=1)
    idle[:, 1] = reasons[:, WAITS] + reasons[:, REFILL]
    idle[:, 2] = reasons[:, QUEUED]
    idle[:, 3] = reasons[:, OUTSIDE]
    idle[:, 4] = found.end_ns - found.start_ns - idle.sum(axis=1)
    pieces = [((found.start_ns, found.end_ns), idle)]
    if not attribution.is_host:
        pieces += _alone(attribution, budget)
    start = np.concatenate([one[0] for one, _ in pieces])
    order = np.argsort(start, kind="stable")
    end = np.concatenate([one[1] for one, _ in pieces])
    return Gaps(start[order], end[order], np.concatenate([ns for _, ns in pieces])[order])


def _alone(attribution: Attribution, budget: TraceBudget) -> list[tuple[tuple[IntColumn, IntColumn], IntColumn]]:
    """When collectives run with no computing kernel beside them, and copies with neither."""
    trace, work, rank = attribution.trace, attribution.work, budget.window.rank_of
    start, end = trace.start_ns[work.row], trace.end_ns[work.row]
    taken = union(start[rank == KERNELS], end[rank == KERNELS])
    pieces = []
    for level, column in ((COLLECTIVES, CAUSES.index(Fixed.GAP_COMMUNICATION)), (COPIES, CAUSES.index(Fixed.GAP_COPY))):
        own = subtract(union(start[rank == level], end[rank == level]), taken)
        taken = union(np.concatenate((taken.start_ns, own.start_ns)), np.concatenate((taken.end_ns, own.end_ns)))
        ns = np.zeros((len(own), len(CAUSES)), dtype=np.int64)
        ns[:, column] = own.end_ns - own.start_ns
        pieces.append(((own.start_ns, own.end_ns), ns))
    return pieces
