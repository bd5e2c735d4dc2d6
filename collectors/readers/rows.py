"""The rows of a stretch of text that take time, a sequence a field; the others are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from operator import attrgetter, is_
from typing import Final, NamedTuple

from msgspec import Raw
from msgspec.structs import astuple

from analyzer.core.trace import BoolColumn
from collectors.readers.arguments import Arguments
from collectors.readers.events import Args, Bar, Event, Scalar, decode_bars

_NO_ARGS: Final = Args()
_PHASE: Final = attrgetter("ph")
_ARROWS: Final = "flow arrows (links come from correlation ids)"
_PHASES: Final = {
    "M": "rows of metadata",
    "s": _ARROWS,
    "f": _ARROWS,
    "t": _ARROWS,
    "i": "instant events",
    "I": "instant events",
    "C": "counter samples",
    "": "rows without a phase",
}
_LONGEST_PHASE: Final = 8


class Rows(NamedTuple):
    """In the order of the fields of `Bar` and `Event`. `args` are all still text, or all decoded."""

    cat: Sequence[str] = ()
    name: Sequence[str] = ()
    pid: Sequence[Scalar] = ()
    tid: Sequence[Scalar] = ()
    ts: Sequence[Raw] = ()
    dur: Sequence[Scalar] = ()
    args: Arguments = ()

    def kept(self, keep: BoolColumn) -> Rows:
        chosen = keep.tolist()
        return Rows._make(list(compress(column, chosen)) for column in self)


def rows_of_stretches(stretches: Iterable[bytes], left_out: Counter[str]) -> Rows:
    """The rows of several JSON arrays. Raises as `decode_bars` does.

    Short arrays, one after another, stay near to the processor until all is taken from them: each row is touched once.
    """
    return _joined([_rows_of_bars(decode_bars(text), left_out) for text in stretches])


def _rows_of_bars(events: list[Bar], left_out: Counter[str]) -> Rows:
    types = list(map(type, events))
    for kind in set(types):
        _count_phase(_PHASE(kind), types.count(kind), left_out)
    bars = list(map(astuple, compress(events, map(is_, types, repeat(Bar)))))
    return Rows._make(zip(*bars, strict=True)) if bars else Rows()


def _joined(several: list[Rows]) -> Rows:
    return (
        several[0]
        if len(several) == 1
        else Rows._make(list(chain.from_iterable(c)) for c in zip(*several, strict=True))
    )


def rows_of_events(events: Iterable[Event], left_out: Counter[str]) -> Rows:
    """The same of events that were decoded whole."""
    for phase, n in Counter(map(_PHASE, events)).items():
        _count_phase(phase, n, left_out)
    bars = [event for event in events if event.ph == Bar.ph]
    return Rows(
        [e.cat for e in bars], [e.name for e in bars], [e.pid for e in bars], [e.tid for e in bars],
        [e.ts for e in bars], [e.dur for e in bars], [e.args or _NO_ARGS for e in bars],
    )  # fmt: skip


def _count_phase(phase: str, count: int, left_out: Counter[str]) -> None:
    if phase != Bar.ph:
        left_out[_PHASES.get(phase, f"rows of phase {phase[:_LONGEST_PHASE]!r}")] += count
