"""The events of a chunk of text as parts; runs in the reading process or in one beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from collectors.readers.borders import guessed_border
from collectors.readers.columns import Part, part_of
from collectors.readers.events import FAILURES, Event, decode_list, decode_one
from collectors.readers.mending import Mender
from collectors.readers.rows import rows_of_events, rows_of_stretches
from collectors.readers.tables import Tables

STRETCH_BYTES: Final = 64 << 10
"""How much is decoded at a time: 230 rows, which stay near to the processor until all is taken from them."""
STRETCHES_AT_ONCE: Final = 64
"""How many of them become one part at most, since numpy's calls take 0.5 ms a part: all of a chunk. Together, a
million events take 0.75 to 0.8 of the CPU time that they took in parts of 1 MiB decoded at once (each chunk read both
ways in turn, in one process)."""
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
            texts = [whole[begin:border] for begin, border in _stretches(borders)]
            return [part for some in _at_once(texts) for part in _parts(some, tables)]
        except FAILURES:
            continue
    return None


def _parts(texts: Sequence[memoryview], tables: Tables) -> list[Part]:
    try:
        left_out = Counter[str]()
        return [part_of(rows_of_stretches(map(_listed, texts), left_out), tables, left_out)]
    except msgspec.ValidationError:
        # Some row is not as it should be, or is of a phase that is not known.
        return [_part_of_any(text, tables) for text in texts]


def _part_of_any(text: memoryview, tables: Tables) -> Part:
    events, others = decode_list(_listed(text))
    left_out = Counter[str]()
    rows = rows_of_events(events, left_out)
    left_out[NO_EVENTS] += others
    return part_of(rows, tables, left_out)


def _listed(text: memoryview) -> bytes:
    return b"".join((b"[", text, b"]"))


def _at_once(texts: list[memoryview]) -> Iterator[list[memoryview]]:
    for begin in range(0, len(texts), STRETCHES_AT_ONCE):
        yield texts[begin : begin + STRETCHES_AT_ONCE]


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


HOLE: Final = b"\0" * 64
"""What is left in a file where nothing was written: no name, however badly written, holds as much."""


@dataclass(slots=True)
class Piecewise:
    """Events read one by one out of broken text, and where the first of each kind of damage lies."""

    mender: Mender
    events: list[Event] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    first_byte: dict[str, int] = field(default_factory=dict)
    lost_bytes: int = 0

    def part(self, tables: Tables) -> Part:
        left_out = Counter(self.left_out)
        part = part_of(rows_of_events(self.events, left_out), tables, left_out)
        for what, n in self.mended.items():
            part.mended[what] = part.mended.get(what, 0) + n
        return part

    def try_one(self, text: bytes, byte: int) -> bool:
        """Takes in the event that this text is, mended if need be; False where it is none, or has a hole in it."""
        if HOLE in text:
            return False
        try:
            self._take(decode_one(text), (), byte)
            return True
        except FAILURES:
            repaired = self.mender.mend(text)
        if repaired is None:
            return False
        self._take(*repaired, byte)
        return True

    def lose_one(self, byte: int, size: int) -> None:
        self.left_out[NOT_JSON] += 1
        self.lost_bytes += size
        self.first_byte.setdefault(NOT_JSON, byte)

    def _take(self, event: Event | None, repairs: tuple[str, ...], byte: int) -> None:
        if event is None:
            self.left_out[NO_EVENTS] += 1
        else:
            self.events.append(event)
        for what in repairs:
            self.mended[what] += 1
            self.first_byte.setdefault(what, byte)
