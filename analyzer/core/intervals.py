"""Sets of time, as sorted disjoint half-open intervals in integer nanoseconds; overlaps count once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analyzer.core.distinct import distinct
from analyzer.core.trace import IntColumn


@dataclass(frozen=True, slots=True)
class Intervals:
    """`start_ns[i] < end_ns[i] < start_ns[i + 1]`: sorted, not empty, neither overlapping nor touching."""

    start_ns: IntColumn
    end_ns: IntColumn

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def length_ns(self) -> int:
        return int((self.end_ns - self.start_ns).sum())

    def contains(self, points_ns: IntColumn) -> NDArray[np.bool_]:
        """Which of these points lie in one of the intervals (a start does, an end does not)."""
        inside: NDArray[np.bool_] = np.searchsorted(_edges(self), points_ns, side="right") % 2 == 1
        return inside

    def before(self, moments_ns: IntColumn) -> IntColumn:
        """How much of this time lies before each of these moments."""
        if not len(self):
            return np.zeros_like(moments_ns)
        length = self.end_ns - self.start_ns
        number = np.searchsorted(self.start_ns, moments_ns, side="right") - 1
        earlier = np.cumsum(length) - length
        inside = np.minimum(moments_ns - self.start_ns[number], length[number])
        found: IntColumn = np.where(number >= 0, earlier[number] + inside, 0)
        return found


EMPTY = Intervals(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


def union(start_ns: IntColumn, end_ns: IntColumn) -> Intervals:
    """The time covered by any of these intervals, which may overlap and come in any order. Empty ones vanish."""
    keep = end_ns > start_ns
    order = np.argsort(start_ns[keep], kind="stable")
    start, end = start_ns[keep][order], end_ns[keep][order]
    if not start.size:
        return EMPTY
    reach = np.maximum.accumulate(end)
    opens = np.flatnonzero(np.concatenate(([True], start[1:] > reach[:-1])))
    return Intervals(start[opens], reach[np.concatenate((opens[1:] - 1, [start.size - 1]))])


def intersect(left: Intervals, right: Intervals) -> Intervals:
    """The time in both."""
    left, right = _within(left, right), _within(right, left)
    start, end = _pieces(left, right)
    inside = left.contains(start) & right.contains(start)
    return union(start[inside], end[inside])


def subtract(left: Intervals, right: Intervals) -> Intervals:
    """The time in `left` and not in `right`."""
    start, end = _pieces(left, right)
    inside = left.contains(start) & ~right.contains(start)
    return union(start[inside], end[inside])


def _within(intervals: Intervals, other: Intervals) -> Intervals:
    """Those that the span of `other` touches: a few waits need not be held against all kernels."""
    if not len(other):
        return EMPTY
    first = int(np.searchsorted(intervals.end_ns, other.start_ns[0], side="right"))
    last = int(np.searchsorted(intervals.start_ns, other.end_ns[-1], side="left"))
    return Intervals(intervals.start_ns[first:last], intervals.end_ns[first:last])


def _edges(intervals: Intervals) -> IntColumn:
    return np.column_stack((intervals.start_ns, intervals.end_ns)).ravel()


def _pieces(left: Intervals, right: Intervals) -> tuple[IntColumn, IntColumn]:
    """The stretches between neighbouring edges; none of them is crossed by an edge of either set."""
    points = distinct(np.concatenate((_edges(left), _edges(right))))
    return points[:-1], points[1:]
