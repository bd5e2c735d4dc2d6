"""The table behind the canvas: the events of one lane in a window, in words, for whoever cannot see or point."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from analyzer.core import quantities
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.wire import event_name

MOST_ROWS: Final = 100
"""Rows that a reader goes through; the rest are counted, and seen by zooming in."""
NAME_LIMIT: Final = 120


def lane_table(timeline: Timeline, lane: int, start_ns: int, end_ns: int) -> dict[str, Any]:
    """As JSON. `rows` are `[at, name, start in ns, duration as text]`, by start; `events` counts all of the window."""
    own = timeline.lanes[lane]
    last = int(np.searchsorted(own.start_ns, end_ns, side="left"))
    touching = np.flatnonzero((own.end_ns[:last] > start_ns) | (own.start_ns[:last] >= start_ns))
    group = timeline.group_of(lane)
    level = f", level {lane - group.first + 1} of {group.count}" if group.count > 1 else ""
    sum_ns = int((np.minimum(own.end_ns[touching], end_ns) - np.maximum(own.start_ns[touching], start_ns)).sum())
    return {
        "title": f"{group.label}{level}",
        "events": int(touching.size),
        "sum": quantities.duration(sum_ns),
        "rows": [_row(timeline, lane, at) for at in touching[:MOST_ROWS].tolist()],
    }


def _row(timeline: Timeline, lane: int, at: int) -> list[Any]:
    own = timeline.lanes[lane]
    start, end = int(own.start_ns[at]), int(own.end_ns[at])
    return [at, event_name(timeline, lane, at, NAME_LIMIT), start, quantities.duration(end - start)]
