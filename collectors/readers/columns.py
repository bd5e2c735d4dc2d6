"""One chunk of events as compact columns with tables of its own, and what has no place in them, counted."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress, count
from operator import attrgetter
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn
from collectors.readers.details import NO_KERNEL_DETAIL, NO_OP_DETAIL, DetailText, device_texts, op_texts
from collectors.readers.dialects import is_unread_device, kind_of
from collectors.readers.events import Args, Event, Scalar
from collectors.readers.exact import (
    EXACT_US,
    INT64_MAX,
    integer,
    nanosecond_column,
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
_PHASE, _THREAD = attrgetter("ph"), attrgetter("pid", "tid")
_CORRELATION, _EXTERNAL, _OLD_EXTERNAL = (attrgetter(f) for f in ("correlation", "external_id", "old_external_id"))
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
_ON_DEVICE: Final = (*DEVICE_KINDS, EventKind.DEVICE_RANGE)

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


def part_of(events: Sequence[Event]) -> Part:
    """The part that these events make: 1 µs an event, decoding apart."""
    left_out, mended = Counter[str](), Counter[str]()
    rows = [e for e in events if e.ph == "X" and e.cat != _SPAN_CATEGORY]
    _count_others(events, len(rows), left_out)
    start, has_start = nanosecond_column(b"\n".join(map(_TS, rows)).split(b"\n") if rows else ())
    duration, has_duration = _durations(list(map(_DUR, rows)), left_out, has_start)
    left_out["rows whose start is missing or does not fit 64 bits"] += int((~has_start).sum())
    keep = has_start & has_duration & _ends_in_time(start, duration, left_out)
    if not keep.all():
        rows = [e for e, k in zip(rows, keep.tolist(), strict=True) if k]
        start, duration = start[keep], duration[keep]
    backward = duration < 0
    # A start rounded up and an end rounded down (HTA#317).
    mended["negative durations were read as 0"] += int(backward.sum())
    names, name_id = _interned(map(_NAME, rows))
    kind, unread = _kinds(map(_CAT, rows), names, name_id)
    args = [e.args or NO_ARGS for e in rows]
    on_device = np.isin(kind, _ON_DEVICE)
    threads, thread = _threads(rows, on_device)
    details, detail = _details(args, kind)
    columns = {
        "name": name_id,
        "kind": kind,
        "start": start,
        "duration": np.where(backward, 0, duration),
        "thread": thread,
        "device": _places(rows, args, on_device, _device, 0),
        "stream": _places(rows, args, on_device, _stream, ABSENT),
        "correlation": _links(list(map(_CORRELATION, args)), "correlation ids", mended),
        "external": _links(_externals(args), "external ids", mended),
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


def _count_others(events: Sequence[Event], rows: int, left_out: Counter[str]) -> None:
    for phase, n in Counter(map(_PHASE, events)).items():
        if phase == "X":
            left_out["bars over the whole recording"] += n - rows
        else:
            left_out[_PHASES.get(phase, f"rows of phase {phase[:_LONGEST_PHASE]!r}")] += n


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


def _interned(values: Iterable[_Key]) -> tuple[tuple[_Key, ...], NDArray[np.int64]]:
    """Each value's place in a table without repeats, in order of first sight."""
    table: defaultdict[_Key, int] = defaultdict(count().__next__)
    ids = np.fromiter(map(table.__getitem__, values), dtype=np.int64)
    return tuple(table), ids


def _kinds(categories: Iterable[str], names: tuple[str, ...], name_id: IntColumn) -> tuple[IntColumn, int]:
    """The kind of each row, and how many rows of a device could not be read; asked once a category and name."""
    cats, cat_id = _interned(categories)
    pairs, of = np.unique(cat_id * (len(names) + 1) + name_id, return_inverse=True)
    words = [(cats[p // (len(names) + 1)], names[p % (len(names) + 1)]) for p in pairs.tolist()]
    kinds = np.asarray([kind_of(cat, name) for cat, name in words], dtype=np.int64)
    unread = np.asarray([is_unread_device(cat) for cat, _ in words], dtype=np.bool_)
    return kinds[of], int(unread[of].sum())


def _threads(rows: list[Event], on_device: BoolColumn) -> tuple[tuple[ThreadKey, ...], IntColumn]:
    thread = np.full(len(rows), NO_ID, dtype=np.int64)
    host = ~on_device
    threads, thread[host] = _interned(map(_THREAD, compress(rows, host.tolist())))
    return threads, thread


def _details(args: list[Args], kind: IntColumn) -> tuple[tuple[DetailText, ...], IntColumn]:
    detail = np.full(len(args), NO_ID, dtype=np.int64)
    ops, device = kind == EventKind.CPU_OP, np.isin(kind, DEVICE_KINDS)
    texts = [*op_texts(compress(args, ops.tolist())), *device_texts(compress(args, device.tolist()))]
    # Rows that say nothing of themselves have the first two numbers, and none in the end.
    nothing = (NO_OP_DETAIL, NO_KERNEL_DETAIL)
    table, ids = _interned(chain(nothing, texts))
    number = ids[len(nothing) :] - len(nothing)
    detail[np.concatenate((np.flatnonzero(ops), np.flatnonzero(device)))] = np.where(number < 0, NO_ID, number)
    return table[len(nothing) :], detail


def _places(
    rows: list[Event],
    args: list[Args],
    on_device: BoolColumn,
    place: Callable[[Event, Args], int],
    elsewhere: int,
) -> IntColumn:
    column = np.full(len(rows), elsewhere, dtype=np.int64)
    device = np.flatnonzero(on_device)
    column[device] = [place(rows[i], args[i]) for i in device.tolist()]
    return column


def _device(event: Event, args: Args) -> int:
    device = _number(args.device)
    return device if device is not None else (_number(event.pid) or 0)


def _stream(event: Event, args: Args) -> int:
    for value in (args.stream, event.tid):
        stream = _number(value)
        if stream is not None:
            return stream
    return ABSENT


def _externals(args: list[Args]) -> list[Scalar]:
    told = list(map(_EXTERNAL, args))
    if None not in told:
        return told
    return [new if new is not None else old for new, old in zip(told, map(_OLD_EXTERNAL, args), strict=True)]


def _links(values: list[Scalar], what: str, mended: Counter[str]) -> IntColumn:
    """0 and -1 stand for "none"; joining on them would link everything with everything (roctracer#100)."""
    numbers = [v if type(v) is int and 0 < v <= INT64_MAX else _link(v, what, mended) for v in values]
    return np.asarray(numbers, dtype=np.int64)


def _link(value: Scalar, what: str, mended: Counter[str]) -> int:
    if value is None:
        return ABSENT
    number = _number(value)
    if number is None:
        mended[f"{what} are no number of 64 bits and were read as unknown"] += 1
    return number if number is not None and number > 0 else ABSENT


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
