"""One chunk of events as compact columns with tables of its own, and what has no place in them, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, compress
from itertools import count as numbers
from operator import attrgetter
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyzer.core.distinct import places_among
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn
from collectors.readers.details import NO_KERNEL_DETAIL, NO_OP_DETAIL, DetailText, device_texts, op_texts
from collectors.readers.dialects import is_unread_device, kind_of
from collectors.readers.events import NO_LINK, Args, Bar, Event, Read, Scalar
from collectors.readers.exact import (
    EXACT_US,
    INT64_MAX,
    integer,
    nanosecond_texts,
    nanoseconds,
    nanoseconds_of_doubles,
)

ABSENT: Final = int(np.iinfo(np.int64).min)
"""Marks a missing value until the columns of a trace are made; there it becomes a mask."""
NO_ID: Final = -1
"""The same in the 32-bit columns that point into a table."""

ThreadKey = tuple[Scalar, Scalar]
_Key = TypeVar("_Key", bound=Hashable)
NO_ARGS: Final = Args()
# In C: half of what a Python loop takes a row.
_TS, _DUR, _NAME, _CAT = attrgetter("ts"), attrgetter("dur"), attrgetter("name"), attrgetter("cat")
_PHASE, _PID, _TID, _ARGS = attrgetter("ph"), attrgetter("pid"), attrgetter("tid"), attrgetter("args")
_CORRELATION, _EXTERNAL, _OLD_EXTERNAL = (attrgetter(f) for f in ("correlation", "external_id", "old_external_id"))
_DEVICE, _STREAM = attrgetter("device"), attrgetter("stream")
_SPAN_CATEGORY: Final = "Trace"
"""The category of the profiler's own bar over the whole recording."""
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
_IS_DEVICE: Final = np.isin(np.arange(len(EventKind)), DEVICE_KINDS)
_IS_ON_DEVICE: Final = np.isin(np.arange(len(EventKind)), (*DEVICE_KINDS, EventKind.DEVICE_RANGE))
"""By kind."""
_INT: Final = frozenset((int,))

Counts = dict[str, int]


@dataclass(slots=True)
class Part:
    """The rows of one chunk: `columns` by name, whose ids point into the tables; counts of what else there was."""

    columns: dict[str, NDArray[np.signedinteger]]
    names: tuple[str, ...]
    threads: tuple[ThreadKey, ...]
    details: tuple[DetailText, ...]
    left_out: Counts = field(default_factory=dict)
    mended: Counts = field(default_factory=dict)
    unread_device_rows: int = 0


COLUMNS: Final = {
    "name": np.int32,
    "kind": np.int8,
    "start": np.int64,
    "duration": np.int64,
    "thread": np.int32,
    "device": np.int64,
    "stream": np.int64,
    "correlation": np.int64,
    "external": np.int64,
    "detail": np.int32,
}


def part_of(events: Sequence[Read]) -> Part:
    """The part that these events make: 1 µs an event, decoding apart."""
    left_out, mended = Counter[str](), Counter[str]()
    rows = _bars(events, left_out)
    cats, cat_id = _interned(map(_CAT, rows), len(rows))
    if _SPAN_CATEGORY in cats:
        is_span = cat_id == cats.index(_SPAN_CATEGORY)
        left_out["bars over the whole recording"] += int(is_span.sum())
        rows, cat_id = list(compress(rows, (~is_span).tolist())), cat_id[~is_span]
    start, duration, keep = _times(rows, left_out, mended)
    if not keep.all():
        rows = list(compress(rows, keep.tolist()))
        start, duration, cat_id = start[keep], duration[keep], cat_id[keep]
    names, name_id = _interned(map(_NAME, rows), len(rows))
    kind, unread = _kinds(cats, cat_id, names, name_id)
    args = [a or NO_ARGS for a in map(_ARGS, rows)]
    device, is_device = np.flatnonzero(_IS_ON_DEVICE[kind]), _IS_ON_DEVICE[kind].tolist()
    on_device = _Placed(device, list(compress(rows, is_device)), list(compress(args, is_device)))
    threads, thread = _threads(rows, ~_IS_ON_DEVICE[kind])
    details, detail = _details(args, kind)
    columns = {
        "name": name_id,
        "kind": kind,
        "start": start,
        "duration": duration,
        "thread": thread,
        "device": on_device.column(len(rows), _DEVICE, _PID, 0, 0),
        "stream": on_device.column(len(rows), _STREAM, _TID, ABSENT, ABSENT),
        "correlation": _links(args, _CORRELATION, "correlation ids", mended),
        "external": _externals(args, mended),
        "detail": detail,
    }
    return Part(
        columns={name: columns[name].astype(dtype, copy=False) for name, dtype in COLUMNS.items()},
        names=names,
        threads=threads,
        details=details,
        left_out={what: n for what, n in left_out.items() if n},
        mended={what: n for what, n in mended.items() if n},
        unread_device_rows=unread,
    )


def _times(rows: list[Read], left_out: Counter[str], mended: Counter[str]) -> tuple[IntColumn, IntColumn, BoolColumn]:
    """Start and duration of each row, and which of them have both."""
    start, has_start = nanosecond_texts(list(map(_TS, rows)))
    duration, has_duration = _durations(list(map(_DUR, rows)), left_out, has_start)
    left_out["rows whose start is missing or does not fit 64 bits"] += int((~has_start).sum())
    keep = has_start & has_duration & _ends_in_time(start, duration, left_out)
    backward = duration < 0
    # A start rounded up and an end rounded down (HTA#317).
    mended["negative durations were read as 0"] += int((backward & keep).sum())
    return start, np.where(backward, 0, duration), keep


def _bars(events: Sequence[Read], left_out: Counter[str]) -> list[Read]:
    """The events that take time; the others are counted."""
    types = Counter(map(type, events))
    if Event in types:
        for phase, n in Counter(map(_PHASE, events)).items():
            _count_phase(phase, n, left_out)
        return [event for event in events if event.ph == Bar.ph]
    for kind, n in types.items():
        _count_phase(_PHASE(kind), n, left_out)
    return [event for event in events if type(event) is Bar]


def _count_phase(phase: str, count: int, left_out: Counter[str]) -> None:
    if phase != Bar.ph:
        left_out[_PHASES.get(phase, f"rows of phase {phase[:_LONGEST_PHASE]!r}")] += count


def _durations(values: list[Scalar], left_out: Counter[str], has_start: BoolColumn) -> tuple[IntColumn, BoolColumn]:
    known = np.ones(len(values), dtype=np.bool_)
    doubles = _doubles(values)
    if doubles is not None and (not values or np.abs(doubles).max() < EXACT_US):
        return nanoseconds_of_doubles(doubles), known
    exact = [nanoseconds(str(v).encode()) if v is not None else None for v in values]
    known = np.asarray([v is not None for v in exact], dtype=np.bool_)
    is_absent = np.asarray([v is None for v in values], dtype=np.bool_)
    left_out["rows without a duration"] += int((is_absent & has_start).sum())
    left_out["rows whose duration is no number"] += int((~known & ~is_absent & has_start).sum())
    return np.asarray([v or 0 for v in exact], dtype=np.int64), known


def _doubles(values: list[Scalar]) -> NDArray[np.float64] | None:
    """The values as doubles; None where one is no number, or is too large for a double."""
    if not {int, float}.issuperset(map(type, values)):
        return None
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        return None


def _ends_in_time(start: IntColumn, duration: IntColumn, left_out: Counter[str]) -> BoolColumn:
    """Rows whose end fits 64 bits too: sums of hostile times must not wrap round."""
    fits = duration <= INT64_MAX - np.maximum(start, 0)
    left_out["rows whose end does not fit 64 bits"] += int((~fits).sum())
    return fits


def _interned(values: Iterable[_Key], count: int) -> tuple[tuple[_Key, ...], IntColumn]:
    """The different values in order of first appearance, and for each of these `count` values its number."""
    table: defaultdict[_Key, int] = defaultdict(numbers().__next__)
    ids = np.fromiter(map(table.__getitem__, values), dtype=np.int64, count=count)
    return tuple(table), ids


def _kinds(
    cats: tuple[str, ...], cat_id: IntColumn, names: tuple[str, ...], name_id: IntColumn
) -> tuple[IntColumn, int]:
    """The kind of each row, and how many rows of a device could not be read; asked once a category and name."""
    width = len(names) + 1
    pairs, of = places_among(cat_id * width + name_id, len(cats) * width)
    words = [(cats[p // width], names[p % width]) for p in pairs.tolist()]
    kinds = np.asarray([kind_of(cat, name) for cat, name in words], dtype=np.int64)
    unread = np.asarray([is_unread_device(cat) for cat, _ in words], dtype=np.bool_)
    return kinds[of], int(unread[of].sum()) if unread.any() else 0


def _threads(rows: list[Read], is_host: BoolColumn) -> tuple[tuple[ThreadKey, ...], IntColumn]:
    thread = np.full(len(rows), NO_ID, dtype=np.int64)
    own = list(compress(rows, is_host.tolist()))
    pids, pid = _processes(own)
    # Apart, as a pair of each row would have to be made first.
    tids, tid = _interned(map(_TID, own), len(own))
    pairs, thread[is_host] = places_among(pid * len(tids) + tid, len(pids) * len(tids))
    return tuple((pids[p // len(tids)], tids[p % len(tids)]) for p in pairs.tolist()), thread


def _processes(rows: list[Read]) -> tuple[tuple[Scalar, ...], IntColumn]:
    pids = list(map(_PID, rows))
    if pids and type(pids[0]) is int and pids.count(pids[0]) == len(pids):
        return (pids[0],), np.zeros(len(pids), dtype=np.int64)
    return _interned(pids, len(pids))


def _details(args: list[Args], kind: IntColumn) -> tuple[tuple[DetailText, ...], IntColumn]:
    detail = np.full(len(args), NO_ID, dtype=np.int64)
    ops, device = kind == EventKind.CPU_OP, _IS_DEVICE[kind]
    texts = [*op_texts(list(compress(args, ops.tolist()))), *device_texts(list(compress(args, device.tolist())))]
    # Rows that say nothing of themselves have the first two numbers, and none in the end.
    nothing = (NO_OP_DETAIL, NO_KERNEL_DETAIL)
    table, ids = _interned(chain(nothing, texts), len(nothing) + len(texts))
    number = ids[len(nothing) :] - len(nothing)
    detail[np.concatenate((np.flatnonzero(ops), np.flatnonzero(device)))] = np.where(number < 0, NO_ID, number)
    return table[len(nothing) :], detail


@dataclass(frozen=True, slots=True)
class _Placed:
    """The rows of a device, with their arguments, and where they stand among all."""

    at: IntColumn
    rows: list[Read]
    args: list[Args]

    def column(
        self, size: int, told: Callable[[Args], Scalar], instead: Callable[[Read], Scalar], unknown: int, elsewhere: int
    ) -> IntColumn:
        """What each row is told to be on, or what stands `instead` of that; `unknown` where neither is a number, and
        `elsewhere` for rows of no device.
        """
        column = np.full(size, elsewhere, dtype=np.int64)
        values = list(map(told, self.args))
        plain = _plain(values)
        if plain is not None:
            column[self.at] = plain
            return column
        column[self.at] = [
            next((n for v in (value, instead(row)) if (n := _number(v)) is not None), unknown)
            for value, row in zip(values, self.rows, strict=True)
        ]
        return column


def _externals(args: list[Args], mended: Counter[str]) -> IntColumn:
    told = _links(args, _EXTERNAL, "external ids", mended)
    if set(map(_OLD_EXTERNAL, args)) <= {NO_LINK}:
        return told
    return np.where(told != ABSENT, told, _links(args, _OLD_EXTERNAL, "external ids", mended))


def _links(args: list[Args], told: Callable[[Args], Scalar], what: str, mended: Counter[str]) -> IntColumn:
    """0 and -1 stand for "none"; joining on them would link everything with everything (roctracer#100)."""
    values = list(map(told, args))
    if _INT.issuperset(map(type, values)):
        numbers = _whole_numbers(values)
        if numbers is not None:
            # Those without a sign are as wide as "none" of 2022: the largest number of 64 bits.
            fits = numbers <= INT64_MAX
            if not fits.all():
                mended[_no_link(what)] += int((~fits).sum())
            return np.where(fits & (numbers > 0), numbers.view(np.int64), ABSENT)
    return np.asarray([_link(value, what, mended) for value in values], dtype=np.int64)


def _whole_numbers(values: list[Scalar]) -> NDArray[np.integer] | None:
    """These whole numbers in 64 bits, with a sign or without one; None where neither holds them all."""
    for dtype in (np.int64, np.uint64):
        with suppress(OverflowError):
            return np.fromiter(values, dtype=dtype, count=len(values))
    return None


def _no_link(what: str) -> str:
    return f"{what} are no number of 64 bits and were read as unknown"


def _link(value: Scalar, what: str, mended: Counter[str]) -> int:
    if value is None:
        return ABSENT
    number = _number(value)
    if number is None:
        mended[_no_link(what)] += 1
    return number if number is not None and number > 0 else ABSENT


def _plain(values: list[Scalar]) -> IntColumn | None:
    """The values where all of them are whole numbers that `_number` gives as they are; else None."""
    if not _INT.issuperset(map(type, values)):
        return None
    found = _whole_numbers(values)
    if found is None or found.dtype != np.int64 or found.min(initial=0) <= ABSENT:
        return None
    return found.astype(np.int64, copy=False)


def _number(value: Scalar) -> int | None:
    match value:
        case None:
            return None
        case int():
            return value if -INT64_MAX <= value <= INT64_MAX else None
        case float():
            return int(value) if value.is_integer() and abs(value) <= INT64_MAX else None
        case str():
            return integer(value.encode("utf-8", "replace"))
