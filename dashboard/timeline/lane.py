"""One lane of a timeline: events as columns, sorted so that any window of them is found at once. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.intervals import union
from analyzer.core.trace import IntColumn

Small = NDArray[np.int32]
Codes = NDArray[np.uint8]

MOST_LEVELS: Final = 64
"""Lanes that one thread or stream is spread over. Python stacks in public traces reach some 60 levels; what is deeper
shares the last lane, in which events then overlap."""


class LaneKind(StrEnum):
    STEPS = "steps"
    GRAPHS = "graphs"
    HOST = "host"
    GAPS = "gaps"
    DEVICE_GRAPHS = "device graphs"
    STREAM = "stream"


@dataclass(frozen=True, slots=True)
class Lane:
    """`n` events as columns, sorted by start. `row[i]` is the trace row of event `i`, in lanes that were derived the
    number in the table they came from. `by_graph` and `by_bound` are its two shades.

    `rank[i]` is its place by duration and `at_rank` the inverse: a pixel's longest event is then a maximum. `busy_…`
    are the stretches in which anything runs, `before_ns` how much of them lies before each. `reach_at[i]` is the event
    that ends last of those up to `i`; None where no two events overlap, so that it is `i` itself.
    """

    start_ns: IntColumn
    end_ns: IntColumn
    row: Small
    by_graph: Codes
    by_bound: Codes
    rank: Small
    at_rank: Small
    busy_start_ns: IntColumn
    busy_end_ns: IntColumn
    before_ns: IntColumn
    reach_at: Small | None

    def __len__(self) -> int:
        return int(self.start_ns.size)

    def busy_until(self, moments_ns: IntColumn) -> IntColumn:
        """The time before each moment in which an event runs."""
        if not len(self):
            return np.zeros_like(moments_ns)
        number = np.searchsorted(self.busy_start_ns, moments_ns, side="right") - 1
        at = np.maximum(number, 0)
        length = self.busy_end_ns[at] - self.busy_start_ns[at]
        found: IntColumn = np.where(
            number >= 0, self.before_ns[at] + np.minimum(moments_ns - self.busy_start_ns[at], length), 0
        )
        return found


def lane_of(start_ns: IntColumn, end_ns: IntColumn, row: IntColumn, by_graph: Codes, by_bound: Codes) -> Lane:
    """A lane of events that come sorted by start."""
    duration = end_ns - start_ns
    # Of equal ones the first counts as the longest.
    at_rank = np.lexsort((-np.arange(duration.size), duration)).astype(np.int32)
    rank = np.empty_like(at_rank)
    rank[at_rank] = np.arange(at_rank.size, dtype=np.int32)
    overlaps = bool((start_ns[1:] < end_ns[:-1]).any())
    busy_start, busy_end, reach_at = start_ns, end_ns, None
    if overlaps:
        busy = union(start_ns, end_ns)
        busy_start, busy_end = busy.start_ns, busy.end_ns
        grows = np.concatenate(([True], end_ns[1:] > np.maximum.accumulate(end_ns)[:-1]))
        reach_at = np.maximum.accumulate(np.where(grows, np.arange(end_ns.size), 0)).astype(np.int32)
    length = busy_end - busy_start
    return Lane(
        start_ns=start_ns,
        end_ns=end_ns,
        row=row.astype(np.int32),
        by_graph=by_graph,
        by_bound=by_bound,
        rank=rank,
        at_rank=at_rank,
        busy_start_ns=busy_start,
        busy_end_ns=busy_end,
        before_ns=np.cumsum(length) - length,
        reach_at=reach_at,
    )


def levels(start_ns: IntColumn, end_ns: IntColumn, most: int = MOST_LEVELS) -> list[IntColumn]:
    """Events by the level they are drawn on: on each but the last of `most` no two overlap, and every event is on one.

    `start_ns` is sorted, of equal starts the longer event first; so nested calls lie under what holds them.
    """
    found: list[IntColumn] = []
    left = np.arange(start_ns.size, dtype=np.int64)
    while left.size and len(found) < most - 1:
        start, end = start_ns[left], end_ns[left]
        following = np.maximum(np.searchsorted(start, end, side="left"), np.arange(1, left.size + 1)).tolist()
        chosen, at = [], 0
        # 0.1 µs an event, over all levels together.
        while at < left.size:
            chosen.append(at)
            at = following[at]
        found.append(left[chosen])
        keep = np.ones(left.size, dtype=np.bool_)
        keep[chosen] = False
        left = left[keep]
    return [*found, left] if left.size else found
