"""The events of one stretch of text as a part; runs in the reading process or in one beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from collectors.readers.columns import Counts, Part, part_of
from collectors.readers.events import FAILURES, Event, decode_list, decode_one
from collectors.readers.mending import Mender

NO_EVENTS = "rows are not events (a field has another type) and"
NOT_JSON = "rows are not JSON and"


def whole_part(text: bytes | memoryview) -> Part | None:
    """The part of text that holds complete events with commas between; None where it is not that."""
    try:
        events, others = decode_list(b"".join((b"[", text, b"]")))
    except FAILURES:
        return None
    part = part_of(events)
    if others:
        part.left_out[NO_EVENTS] = others
    return part


@dataclass(slots=True)
class Piecewise:
    """Events read one by one out of broken text, and where the first of each kind of damage lies."""

    mender: Mender
    events: list[Event] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    first_byte: dict[str, int] = field(default_factory=dict)

    def part(self) -> Part:
        part = part_of(self.events)
        for counts, more in ((part.left_out, self.left_out), (part.mended, self.mended)):
            _add(counts, more)
        return part

    def try_one(self, text: bytes, byte: int) -> bool:
        """Takes in the event that this text is, mended if need be; False where it is none."""
        try:
            self._take(decode_one(text), (), byte)
            return True
        except FAILURES:
            repaired = self.mender.mend(text)
        if repaired is None:
            return False
        self._take(*repaired, byte)
        return True

    def lose_one(self, byte: int) -> None:
        self.left_out[NOT_JSON] += 1
        self.first_byte.setdefault(NOT_JSON, byte)

    def _take(self, event: Event | None, repairs: tuple[str, ...], byte: int) -> None:
        if event is None:
            self.left_out[NO_EVENTS] += 1
        else:
            self.events.append(event)
        for what in repairs:
            self.mended[what] += 1
            self.first_byte.setdefault(what, byte)


def _add(counts: Counts, more: Counter[str]) -> None:
    for what, n in more.items():
        counts[what] = counts.get(what, 0) + n
