"""Finds events by a part of their name: in the distinct names first, of which there are few."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import Final

import numpy as np

from analyzer.core.trace import IntColumn
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.timeline import Timeline

MOST_QUERY: Final = 200
"""Characters that are searched for."""
KEPT: Final = 8
"""Searches whose events are kept: of two browsers that type at once."""


@dataclass(frozen=True, slots=True)
class Hits:
    """`rows` are the trace rows found, by start. `by_lane[i]` are their places in lane `i`, empty in derived lanes."""

    rows: IntColumn
    by_lane: tuple[IntColumn, ...]
    names: int
    sum_ns: int

    def number(self, row: int) -> int:
        """Which of them a row found is, counted from 1."""
        return int(np.searchsorted(self.rows, row)) + 1


def find(timeline: Timeline, query: str) -> Hits:
    """Every row whose name holds `query`, upper and lower case alike; an empty query finds nothing."""
    wanted = query.strip()[:MOST_QUERY].casefold()
    trace = timeline.recording.trace
    named = np.asarray([bool(wanted) and wanted in name.casefold() for name in trace.names] or [False], dtype=np.bool_)
    nothing = np.empty(0, dtype=np.int64)
    rows = np.flatnonzero(named[trace.name_id]) if named.any() else nothing
    by_lane = [nothing] * len(timeline.lanes)
    if rows.size:
        for group in timeline.groups:
            if group.kind in (LaneKind.HOST, LaneKind.STREAM):
                for number in range(group.first, group.first + group.count):
                    by_lane[number] = np.flatnonzero(named[trace.name_id[timeline.lanes[number].row]])
    return Hits(rows, tuple(by_lane), int(named.sum()), int(trace.duration_ns[rows].sum()))


class Searches:
    """The latest searches of one timeline. Safe to be asked from several threads."""

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self._found: OrderedDict[str, Hits] = OrderedDict()
        self._lock = Lock()

    def of(self, query: str) -> Hits | None:
        """None for no query; of a long one its first MOST_QUERY characters."""
        query = query[:MOST_QUERY]
        if not query.strip():
            return None
        with self._lock:
            hits = self._found.pop(query, None) or find(self._timeline, query)
            self._found[query] = hits
            while len(self._found) > KEPT:
                self._found.popitem(last=False)
            return hits


def next_hit(timeline: Timeline, hits: Hits, after_row: int | None, moment_ns: int, *, back: bool) -> int | None:
    """The row after (or before) `after_row` by start, from `moment_ns` on for None; past the end it goes round."""
    if not hits.rows.size:
        return None
    if after_row is not None:
        at = int(np.searchsorted(hits.rows, after_row, side="left" if back else "right"))
    else:
        at = int(np.searchsorted(timeline.recording.trace.start_ns[hits.rows], moment_ns, side="left"))
    return int(hits.rows[(at - 1 if back else at) % hits.rows.size])
