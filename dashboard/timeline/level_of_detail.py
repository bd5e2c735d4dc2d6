"""What a window of a lane looks like on so many pixels. Nothing is lost: where an event is, there is a mark.

A pixel shows the longest event in it, and how much of the pixel is covered by any. Pure, and a few hundred
microseconds a lane whatever the lane holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import BoolColumn, IntColumn
from dashboard.timeline.lane import Codes, Lane

PARTS: Final = 16
"""Positions that a pixel is divided into: more than a screen with four device pixels a pixel can show."""

MOST_BINS: Final = 65_535 // PARTS
"""A position fits into two bytes."""

FULL: Final = 255


@dataclass(frozen=True, slots=True)
class Shown:
    """A window of time, `end_ns` not included, on `bins` pixels; no pixel is shorter than a nanosecond."""

    start_ns: int
    end_ns: int
    bins: int

    @property
    def edges_ns(self) -> IntColumn:
        span = self.end_ns - self.start_ns
        return self.start_ns + span * np.arange(self.bins + 1, dtype=np.int64) // self.bins


@dataclass(frozen=True, slots=True)
class Marks:
    """`event[i]` indexes the lane. `left` and `right` are in `PARTS` of a pixel from the window's left edge, `cover` in
    255ths; `is_hit` where an event that is searched for is in the mark. `events` touch the window; `sum_ns` is the
    sum of what of their durations lies in it.
    """

    event: NDArray[np.uint32]
    left: NDArray[np.uint16]
    right: NDArray[np.uint16]
    cover: Codes
    is_hit: BoolColumn
    events: int
    sum_ns: int


def shown(start_ns: int, end_ns: int, bins: int) -> Shown:
    """Raises ValueError for an empty window, or one too long to be counted in nanoseconds."""
    if not 0 < end_ns - start_ns < 2**50 or abs(start_ns) >= 2**60:
        raise ValueError("no such window")
    return Shown(start_ns, end_ns, max(1, min(bins, MOST_BINS, end_ns - start_ns)))


def marks(lane: Lane, view: Shown, hits: IntColumn | None = None) -> Marks:
    """The marks of a lane. `hits` are the events that are searched for, in order; None for no search."""
    edges = view.edges_ns
    begins = np.searchsorted(lane.start_ns, edges, side="left")
    best, is_shared = _longest(lane, edges, begins)
    used = best >= 0
    event = lane.at_rank[np.where(used, best, 0)] if len(lane) else np.zeros_like(best)
    is_short = (
        (lane.end_ns[event] - lane.start_ns[event]) * view.bins < view.end_ns - view.start_ns if len(lane) else used
    )
    opens = used & np.concatenate(([True], ~used[:-1] | (event[1:] != event[:-1]) | is_short[1:]))
    first = np.flatnonzero(opens)
    # A run ends before the next one opens, or where no event is.
    closes = used & np.concatenate((opens[1:] | ~used[1:], [True]))
    last = np.flatnonzero(closes)
    own, short = event[first], is_short[first]
    left, right = edges[first], edges[last + 1]
    if len(lane):
        # To its ends exactly, unless it stands there for others that are not drawn.
        left = np.where(short | is_shared[first], left, np.maximum(left, lane.start_ns[own]))
        right = np.where(short | is_shared[last], right, np.minimum(right, lane.end_ns[own]))
    busy = lane.busy_until(edges)
    events, sum_ns = _sums(lane, view, (int(begins[0]), int(begins[-1])), int(busy[-1] - busy[0]))
    return Marks(
        event=own.astype(np.uint32),
        left=_position(left, view),
        right=_position(right, view),
        cover=_cover(busy, edges, first, short),
        is_hit=_hits(lane, edges, first, hits),
        events=events,
        sum_ns=sum_ns,
    )


def _longest(lane: Lane, edges: IntColumn, begins: IntColumn) -> tuple[IntColumn, BoolColumn]:
    """The highest rank in each pixel, -1 where no event is: of those that begin in it, and of the one that reaches in.
    And whether they are several.

    Where events of a lane overlap, the one that reaches furthest stands for those that reach in.
    """
    best = np.full(edges.size - 1, -1, dtype=np.int64)
    several = begins[1:] - begins[:-1]
    filled = np.flatnonzero(several)
    if filled.size:
        best[filled] = np.maximum.reduceat(lane.rank[: begins[-1]], begins[filled])
    before = np.flatnonzero(begins[:-1] > 0)
    if before.size:
        last = begins[before] - 1
        at = last if lane.reach_at is None else lane.reach_at[last].astype(np.int64)
        reaches = lane.end_ns[at] > edges[before]
        best[before] = np.maximum(best[before], np.where(reaches, lane.rank[at], -1))
        several[before] += reaches
    return best, several > 1


def _position(moments_ns: IntColumn, view: Shown) -> NDArray[np.uint16]:
    span = view.end_ns - view.start_ns
    # Beyond 2**47 ns a product with the number of positions would leave 64 bits.
    parts = (moments_ns - view.start_ns) / span * (view.bins * PARTS)
    return np.clip(np.rint(parts), 0, view.bins * PARTS).astype(np.uint16)


def _cover(busy_ns: IntColumn, edges: IntColumn, first: IntColumn, short: BoolColumn) -> Codes:
    """An event longer than a pixel is drawn to its ends, and so is full; a shorter one is as full as its pixel."""
    share = np.diff(busy_ns)[first] / np.diff(edges)[first]
    cover = np.where(short, np.rint(share * FULL), FULL)
    return np.clip(cover, 1, FULL).astype(np.uint8)


def _hits(lane: Lane, edges: IntColumn, first: IntColumn, hits: IntColumn | None) -> BoolColumn:
    if hits is None or not hits.size or not first.size:
        return np.zeros(first.size, dtype=np.bool_)
    begins = np.searchsorted(lane.start_ns[hits], edges, side="left")
    at = hits[np.maximum(begins[:-1] - 1, 0)]
    inside = (begins[1:] > begins[:-1]) | ((begins[:-1] > 0) & (lane.end_ns[at] > edges[:-1]))
    found: BoolColumn = np.logical_or.reduceat(inside, first)
    return found


def _sums(lane: Lane, view: Shown, begins: tuple[int, int], busy_ns: int) -> tuple[int, int]:
    """How many events touch the window, of which those of `begins` begin in it, and the sum of what lies in it."""
    first, last = begins
    # Where no two events overlap, only the one before can reach in.
    earlier = np.arange(0 if lane.reach_at is not None else max(first - 1, 0), first)
    reaching = earlier[lane.end_ns[earlier] > view.start_ns]
    events = last - first + int(reaching.size)
    if lane.reach_at is None:
        return events, busy_ns
    own = np.concatenate((reaching, np.arange(first, last)))
    inside = np.minimum(lane.end_ns[own], view.end_ns) - np.maximum(lane.start_ns[own], view.start_ns)
    return events, int(inside.sum())
