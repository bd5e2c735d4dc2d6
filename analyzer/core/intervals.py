"""Sets of time, as sorted disjoint half-open intervals in integer nanoseconds; overlaps count once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    pieces = _pieces(_within(left, right), _within(right, left))
    inside = pieces.in_left & pieces.in_right
    return union(pieces.start_ns[inside], pieces.end_ns[inside])


def subtract(left: Intervals, right: Intervals) -> Intervals:
    """The time in `left` and not in `right`."""
    pieces = _pieces(left, _within(right, left))
    inside = pieces.in_left & ~pieces.in_right
    return union(pieces.start_ns[inside], pieces.end_ns[inside])


def _within(intervals: Intervals, other: Intervals) -> Intervals:
    """Those that the span of `other` touches: a few waits need not be held against all kernels."""
    if not len(other):
        return EMPTY
    first = int(np.searchsorted(intervals.end_ns, other.start_ns[0], side="right"))
    last = int(np.searchsorted(intervals.start_ns, other.end_ns[-1], side="left"))
    return Intervals(intervals.start_ns[first:last], intervals.end_ns[first:last])


def _edges(intervals: Intervals) -> IntColumn:
    return np.column_stack((intervals.start_ns, intervals.end_ns)).ravel()


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The stretches between neighbouring edges of two sets, in order, and in which of them each lies. Some are
    empty.
    """

    start_ns: IntColumn
    end_ns: IntColumn
    in_left: NDArray[np.bool_]
    in_right: NDArray[np.bool_]


def _pieces(left: Intervals, right: Intervals) -> _Pieces:
    edges = np.concatenate((_edges(left), _edges(right)))
    # Both are in order already: numpy's stable sort merges them.
    order = np.argsort(edges, kind="stable")
    points, is_right = edges[order], order >= 2 * len(left)
    # Behind an odd number of edges of a set lies time that is in it.
    seen_right = np.cumsum(is_right)
    seen_left = np.arange(1, order.size + 1) - seen_right
    return _Pieces(points[:-1], points[1:], (seen_left % 2 == 1)[:-1], (seen_right % 2 == 1)[:-1])
