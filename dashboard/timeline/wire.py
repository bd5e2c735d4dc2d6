"""The answer that the canvas draws: a window of some lanes as bytes, little-endian, described here and nowhere else.

    u32 magic, u32 lanes, u32 marks, u32 bins
    f64 sum_ns[lanes]
    u32 lane[lanes], u32 events[lanes], u32 marks_of[lanes]
    u32 event[marks], u16 left[marks], u16 right[marks], u8 shade[marks], u8 cover[marks], u8 is_hit[marks]
    u32 length, and so many bytes of UTF-8 JSON: {"names": [text], "of": [[mark, name], …]}, for wide marks

`left` and `right` are sixteenths of a bin; `bins` may be fewer than were asked for, where the answer would be too long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.trace import IntColumn
from analyzer.reporting.plain_text import plain
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.level_of_detail import PARTS, Marks, marks, shown
from dashboard.timeline.shades import fixed_label
from dashboard.timeline.timeline import Timeline

MAGIC: Final = 0x31544247
"""`GBT1`."""

MOST_MARKS: Final = 28_000
"""11 bytes each, and names: under 400 kB an answer (issue 6)."""

FEWEST_BINS: Final = 64
NAMED_PX: Final = 42
"""A bar narrower than this holds no word."""
NAME_LIMIT: Final = 64
MOST_NAMED: Final = 1_200


@dataclass(frozen=True, slots=True)
class AskedLane:
    """A lane of a timeline. `number` is what the page calls it, `hits` what is searched for in it."""

    timeline: Timeline
    lane: int
    number: int
    origin_ns: int
    hits: IntColumn | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A window in nanoseconds from each lane's origin, on `bins` pixels."""

    start_ns: int
    end_ns: int
    bins: int
    by_bound: bool
    lanes: tuple[AskedLane, ...]


def answer(asked: Asked) -> bytes:
    """The window as bytes. Raises ValueError for one that cannot be shown."""
    bins = asked.bins
    while True:
        found, bins_used = _marks(asked, bins)
        if sum(one.event.size for one in found) <= MOST_MARKS or bins <= FEWEST_BINS:
            return _bytes(asked, found, bins_used)
        bins //= 2


def _marks(asked: Asked, bins: int) -> tuple[list[Marks], int]:
    found = []
    for one in asked.lanes:
        view = shown(asked.start_ns + one.origin_ns, asked.end_ns + one.origin_ns, bins)
        bins = view.bins
        found.append(marks(one.timeline.lanes[one.lane], view, one.hits))
    return found, bins


def _bytes(asked: Asked, found: Sequence[Marks], bins: int) -> bytes:
    shades = [
        (one.timeline.lanes[one.lane].by_bound if asked.by_bound else one.timeline.lanes[one.lane].by_graph)[own.event]
        for one, own in zip(asked.lanes, found, strict=True)
    ]
    total = sum(own.event.size for own in found)
    head = np.asarray([MAGIC, len(found), total, bins], dtype="<u4")
    texts = json.dumps(_names(asked, found), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return b"".join(
        (
            head.tobytes(),
            np.asarray([own.sum_ns for own in found], dtype="<f8").tobytes(),
            np.asarray([one.number for one in asked.lanes], dtype="<u4").tobytes(),
            np.asarray([own.events for own in found], dtype="<u4").tobytes(),
            np.asarray([own.event.size for own in found], dtype="<u4").tobytes(),
            *(own.event.astype("<u4").tobytes() for own in found),
            *(own.left.astype("<u2").tobytes() for own in found),
            *(own.right.astype("<u2").tobytes() for own in found),
            *(one.tobytes() for one in shades),
            *(own.cover.tobytes() for own in found),
            *(own.is_hit.astype(np.uint8).tobytes() for own in found),
            np.asarray([len(texts)], dtype="<u4").tobytes(),
            texts,
        )
    )


def _names(asked: Asked, found: Sequence[Marks]) -> dict[str, list[object]]:
    """The text of the widest marks, each name once."""
    pairs = [(one, own, index) for one, own in zip(asked.lanes, found, strict=True) for index in _wide(own)]
    offsets = np.cumsum([0, *(own.event.size for own in found)]).tolist()
    starts = {id(own): offset for own, offset in zip(found, offsets, strict=False)}
    texts: dict[str, int] = {}
    of: list[object] = []
    # At most MOST_NAMED a round, 2 µs each.
    for one, own, index in pairs[:MOST_NAMED]:
        text = event_name(one.timeline, one.lane, int(own.event[index]), NAME_LIMIT)
        of.append([starts[id(own)] + index, texts.setdefault(text, len(texts))])
    return {"names": list(texts), "of": of}


def _wide(own: Marks) -> list[int]:
    width = own.right.astype(np.int64) - own.left
    return [int(index) for index in np.flatnonzero(width >= NAMED_PX * PARTS)]


def event_name(timeline: Timeline, lane: int, at: int, limit: int) -> str:
    """What is written on an event: its name, of derived ones that of their graph or cause. Plain text."""
    own, kind = timeline.lanes[lane], timeline.group_of(lane).kind
    row = int(own.row[at])
    if kind is LaneKind.GAPS:
        return fixed_label(int(own.by_graph[at]))
    if kind is LaneKind.GRAPHS:
        return plain(timeline.graph_labels.get(row, timeline.recording.trace.name(row)), limit)
    if kind is LaneKind.DEVICE_GRAPHS:
        return plain(timeline.region_labels[int(timeline.stretches.region[row])], limit)
    return plain(timeline.recording.trace.name(row), limit)
