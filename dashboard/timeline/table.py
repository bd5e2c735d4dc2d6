"""The table behind the canvas: the events of one lane in a window, in words, for whoever cannot see or point."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from analyzer.core import quantities
from analyzer.core.trace import IntColumn
from dashboard.timeline.timeline import Timeline
from dashboard.timeline.wire import event_name

MOST_ROWS: Final = 100
"""Rows that a reader goes through; the rest are counted, and seen by zooming in."""
NAME_LIMIT: Final = 120
CSV_NAME_LIMIT: Final = 2_000
CSV_HEADS: Final = ("lane", "event", "start ns", "end ns", "duration ns")
_CSV_ROWS: Final = 4_096
_FORMULA: Final = ("=", "+", "-", "@")
"""A spreadsheet takes text that begins so for a formula, and runs it."""


def lane_table(timeline: Timeline, lane: int, start_ns: int, end_ns: int) -> dict[str, Any]:
    """As JSON. `rows` are `[at, name, start in ns, duration as text]`, by start; `events` counts all of the window."""
    own, touching = timeline.lanes[lane], _touching(timeline, lane, start_ns, end_ns)
    sum_ns = int((np.minimum(own.end_ns[touching], end_ns) - np.maximum(own.start_ns[touching], start_ns)).sum())
    return {
        "title": _title(timeline, lane),
        "events": int(touching.size),
        "sum": quantities.duration(sum_ns),
        "rows": [_row(timeline, lane, at) for at in touching[:MOST_ROWS].tolist()],
    }


def lane_csv(timeline: Timeline, lane: int, start_ns: int, end_ns: int) -> Iterator[bytes]:
    """All of those events as a table for other programs, some thousand rows at a time; times in ns of the trace."""
    touching = _touching(timeline, lane, start_ns, end_ns)
    yield _csv([CSV_HEADS])
    title = _title(timeline, lane)
    for first in range(0, touching.size, _CSV_ROWS):
        yield _csv([_csv_row(timeline, lane, at, title) for at in touching[first : first + _CSV_ROWS].tolist()])


def _csv(rows: list[tuple[Any, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _csv_row(timeline: Timeline, lane: int, at: int, title: str) -> tuple[Any, ...]:
    own = timeline.lanes[lane]
    start, end = int(own.start_ns[at]), int(own.end_ns[at])
    name = event_name(timeline, lane, at, CSV_NAME_LIMIT)
    return title, f"'{name}" if name.startswith(_FORMULA) else name, start, end, end - start


def _touching(timeline: Timeline, lane: int, start_ns: int, end_ns: int) -> IntColumn:
    own = timeline.lanes[lane]
    last = int(np.searchsorted(own.start_ns, end_ns, side="left"))
    return np.flatnonzero((own.end_ns[:last] > start_ns) | (own.start_ns[:last] >= start_ns)).astype(np.int64)


def _title(timeline: Timeline, lane: int) -> str:
    group = timeline.group_of(lane)
    level = f", level {lane - group.first + 1} of {group.count}" if group.count > 1 else ""
    return f"{group.label}{level}"


def _row(timeline: Timeline, lane: int, at: int) -> list[Any]:
    own = timeline.lanes[lane]
    start, end = int(own.start_ns[at]), int(own.end_ns[at])
    return [at, event_name(timeline, lane, at, NAME_LIMIT), start, quantities.duration(end - start)]
