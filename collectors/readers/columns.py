"""Lays events out as the columns of a `Trace`, and counts what has no place in them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from collectors.readers.dialects import kind_of
from collectors.readers.events import Args, DetailText, DeviceProperties, Event, detail_text, op_detail
from collectors.readers.exact import integer, nanoseconds

_Text = TypeVar("_Text", str, DetailText)

_NO_ARGS: Final = Args()
_ABSENT: Final = np.iinfo(np.int64).min
"""Marks a missing value while the columns are filled; it becomes a mask before anything leaves this module."""
_SPAN_CATEGORY: Final = "Trace"
"""The category of the profiler's own bar over the whole recording."""
_PHASES: Final = {
    "M": "rows of metadata",
    "s": "flow arrows (links come from correlation ids)",
    "f": "flow arrows (links come from correlation ids)",
    "t": "flow arrows (links come from correlation ids)",
    "i": "instant events",
    "I": "instant events",
    "C": "counter samples",
    "": "rows without a phase",
}


@dataclass(slots=True)
class _Filling:
    """The columns while they are filled; private to this module."""

    names: dict[str, int] = field(default_factory=dict)
    details: dict[DetailText, int] = field(default_factory=dict)
    threads: dict[tuple[bytes, bytes], int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    values: array[int] = field(default_factory=lambda: array("q"))


_FIELDS: Final = ("name", "kind", "start", "duration", "thread", "device", "stream", "correlation", "detail")


def assemble(
    events: Iterable[Event], properties: tuple[DeviceProperties, ...], base_text: bytes, notes: Iterable[str]
) -> Trace:
    """The `Trace` of these events. `base_text` is the JSON text of what the file's times count from, in ns."""
    filling = _Filling()
    # 2.5 µs an event (240,000 events: 0.6 s); the text of each number has to be looked at anyway to stay exact.
    for event in events:
        _add(filling, event)
    table = np.asarray(filling.values, dtype=np.int64).reshape(-1, len(_FIELDS))
    column = {name: table[:, i].copy() for i, name in enumerate(_FIELDS)}
    names, column["name"] = _ranked(filling.names, column["name"])
    details, column["detail"] = _ranked(filling.details, column["detail"])
    column["thread"] = _thread_numbers(filling, column["thread"])
    order = np.lexsort((*(column[f] for f in _TIE_BREAKERS), -column["duration"], column["start"]))
    column = {name: values[order] for name, values in column.items()}
    first_ns = int(column["start"][0]) if order.size else 0
    detail_id, has_detail = _masked(column["detail"])
    stream, has_stream = _masked(column["stream"])
    correlation, has_correlation = _masked(column["correlation"])
    return Trace(
        names=names,
        name_id=column["name"],
        kind=column["kind"],
        start_ns=column["start"] - first_ns,
        duration_ns=column["duration"],
        thread=column["thread"],
        device=column["device"],
        stream=stream,
        has_stream=has_stream,
        correlation=correlation,
        has_correlation=has_correlation,
        detail_id=detail_id,
        has_detail=has_detail,
        details=tuple(op_detail(text) for text in details),
        base_ns=first_ns + (integer(base_text) or 0),
        device_name=_device_name(properties, column["device"][np.isin(column["kind"], DEVICE_KINDS)]),
        notes=(*notes, *_sentences(filling)),
    )


_TIE_BREAKERS: Final = ("detail", "name", "correlation", "stream", "device", "thread", "kind")
"""Rows of one start and duration come in an order of their own, so that shuffling a file changes nothing."""


def _add(filling: _Filling, event: Event) -> None:
    if event.ph != "X":
        filling.left_out[_PHASES.get(event.ph, f"rows of phase {event.ph!r}")] += 1
        return
    if event.cat == _SPAN_CATEGORY:
        filling.left_out["bars over the whole recording"] += 1
        return
    start, duration = nanoseconds(bytes(event.ts)), _duration(filling, event)
    if start is None:
        filling.left_out["rows whose start is missing or does not fit 64 bits"] += 1
        return
    if duration is None:
        return
    kind = kind_of(event.cat, event.name)
    args = event.args or _NO_ARGS
    is_device = kind in DEVICE_KINDS or kind is EventKind.DEVICE_RANGE
    filling.values.extend(
        (
            filling.names.setdefault(event.name, len(filling.names)),
            kind,
            start,
            duration,
            _thread(filling, event) if not is_device else _ABSENT,
            _device(event, args) if is_device else 0,
            _stream(event, args) if is_device else _ABSENT,
            _correlation(filling, args),
            _detail(filling, args, kind),
        )
    )


def _duration(filling: _Filling, event: Event) -> int | None:
    text = bytes(event.dur)
    duration = nanoseconds(text)
    if duration is None:
        filling.left_out["rows without a duration" if not text else "rows whose duration is no number"] += 1
    elif duration < 0:
        # A start rounded up and an end rounded down (HTA#317).
        filling.mended["negative durations were read as 0"] += 1
        return 0
    return duration


def _thread(filling: _Filling, event: Event) -> int:
    return filling.threads.setdefault((bytes(event.pid), bytes(event.tid)), len(filling.threads))


def _device(event: Event, args: Args) -> int:
    device = integer(bytes(args.device))
    return device if device is not None else (integer(bytes(event.pid)) or 0)


def _stream(event: Event, args: Args) -> int:
    for text in (bytes(args.stream), bytes(event.tid)):
        stream = integer(text)
        if stream is not None:
            return stream
    return _ABSENT


def _correlation(filling: _Filling, args: Args) -> int:
    text = bytes(args.correlation)
    if not text:
        return _ABSENT
    value = integer(text)
    if value is None:
        filling.mended["correlation ids are no number of 64 bits and were read as unknown"] += 1
    # 0 and -1 stand for "none"; joining on them would link everything with everything (roctracer#100).
    return value if value is not None and value > 0 else _ABSENT


def _detail(filling: _Filling, args: Args, kind: EventKind) -> int:
    if args is _NO_ARGS or kind not in (*DEVICE_KINDS, EventKind.CPU_OP):
        return _ABSENT
    text = detail_text(args)
    return filling.details.setdefault(text, len(filling.details)) if text else _ABSENT


def _ranked(ids_by_text: dict[_Text, int], ids: IntColumn) -> tuple[tuple[_Text, ...], IntColumn]:
    """The texts in their own order, and the ids that point into it: the order of a file's rows leaves no mark."""
    texts = tuple(ids_by_text)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[order] = np.arange(len(texts))
    known = ids != _ABSENT
    ranked = np.full_like(ids, _ABSENT)
    ranked[known] = rank[ids[known]]
    return tuple(texts[i] for i in order), ranked


def _thread_numbers(filling: _Filling, ids: IntColumn) -> IntColumn:
    """The file's own thread numbers where they name one thread each; numbers above them for the rest."""
    keys = sorted(filling.threads)
    numbers: dict[tuple[bytes, bytes], int] = {}
    taken: set[int] = set()
    for key in keys:
        number = integer(key[1])
        if number is not None and number not in taken:
            numbers[key] = number
            taken.add(number)
    free = max(taken, default=-1) + 1
    for key in keys:
        if key not in numbers:
            numbers[key] = free
            free += 1
    by_id = np.asarray([numbers[key] for key in filling.threads], dtype=np.int64)
    of_rows = np.zeros_like(ids)
    of_rows[ids != _ABSENT] = by_id[ids[ids != _ABSENT]]
    return of_rows


def _masked(values: NDArray[np.int64]) -> tuple[IntColumn, BoolColumn]:
    known = values != _ABSENT
    return np.where(known, values, 0), known


def _device_name(properties: tuple[DeviceProperties, ...], devices: IntColumn) -> str | None:
    """The name of the device that most device rows ran on, or of the only kind there is."""
    names = {p.id: p.name for p in properties if p.name}
    if devices.size:
        numbers, counts = np.unique(devices, return_counts=True)
        busiest = int(numbers[np.argmax(counts)])
        if busiest in names:
            return names[busiest]
    distinct = set(names.values())
    return distinct.pop() if len(distinct) == 1 else None


def _sentences(filling: _Filling) -> tuple[str, ...]:
    left_out = (f"{count} {what} were left out" for what, count in sorted(filling.left_out.items()))
    mended = (f"{count} {what}" for what, count in sorted(filling.mended.items()))
    return (*left_out, *mended)
