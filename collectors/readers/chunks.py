"""The events of a chunk of text as parts; runs in the reading process or in one beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from collectors.readers.borders import guessed_border
from collectors.readers.columns import Counts, Part, part_of
from collectors.readers.events import FAILURES, Event, decode_list, decode_one
from collectors.readers.mending import Mender
from collectors.readers.tables import Tables

STRETCH_BYTES: Final = 1 << 20
"""How much is decoded at a time: 3,500 rows. Shorter stretches stay nearer to the processor, so that decoding and
freeing take less (by a third at 96 KiB), but each costs 0.3 ms in calls of numpy; longer ones are slower again.
"""
NO_EVENTS = "rows are not events (a field has another type) and"
NOT_JSON = "rows are not JSON and"


def whole_parts(text: bytes, end: int | None = None, tables: Tables | None = None) -> list[Part] | None:
    """The parts of text, up to `end`, that holds complete events with commas between; None where it is not that.

    They point into `tables`, or into one of their own.
    """
    tables = Tables() if tables is None else tables
    whole = memoryview(text)[:end]
    guessed = _guesses(text, len(whole))
    # A guess may be wrong: an argument that is a list of rows looks like rows.
    for borders in (guessed, [len(whole)]) if len(guessed) > 1 else (guessed,):
        try:
            return [_part(whole[begin:border], tables) for begin, border in _stretches(borders)]
        except FAILURES:
            continue
    return None


def _part(text: memoryview, tables: Tables) -> Part:
    events, others = decode_list(b"".join((b"[", text, b"]")))
    part = part_of(events, tables)
    if others:
        part.left_out[NO_EVENTS] = others
    return part


def _guesses(text: bytes, end: int) -> list[int]:
    """Borders of stretches that are as long as is decoded at a time, and the end."""
    borders, begin = [], 0
    while end - begin > STRETCH_BYTES:
        border = guessed_border(text, begin, begin + STRETCH_BYTES)
        if border is None:
            break
        borders.append(border)
        begin = border + 1
    return [*borders, end]


def _stretches(borders: list[int]) -> Iterator[tuple[int, int]]:
    return zip((0, *(border + 1 for border in borders)), borders, strict=False)


@dataclass(slots=True)
class Piecewise:
    """Events read one by one out of broken text, and where the first of each kind of damage lies."""

    mender: Mender
    events: list[Event] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    first_byte: dict[str, int] = field(default_factory=dict)

    def part(self, tables: Tables) -> Part:
        part = part_of(self.events, tables)
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
