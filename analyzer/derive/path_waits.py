"""What the device's own recorder says of waits: Kineto's `cuda_sync` rows, which a recording has when it was asked for
them (`enable_cuda_sync_events`). It tells who waits and for what; when each began and ended, the calls tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.nesting import NOBODY

SKEW_NS: Final = 2_000
"""By which a row may seem to end after the wait for it: both clocks are brought together only so well."""

STREAM_WAITS: Final = "Stream Wait Event"
EVENT_SYNC: Final = "Event Sync"
STREAM_SYNC: Final = "Stream Sync"
CONTEXT_SYNC: Final = "Context Sync"
"""Kineto's names of CUPTI's kinds of synchronization."""

_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)


@dataclass(frozen=True, slots=True)
class Queue:
    """The rows of one stream, or of all, in order of launch. `last[i]` ends last of those up to `i`."""

    launched_ns: IntColumn
    row: IntColumn
    last: IntColumn

    def before(self, moment_ns: int) -> int | None:
        """Of the rows launched before this moment the one that ends last; None where there is none."""
        place = int(np.searchsorted(self.launched_ns, moment_ns, side="left")) - 1
        return int(self.last[place]) if place >= 0 else None

    def first_from(self, moment_ns: int) -> int | None:
        """The first row launched at this moment or later; None where there is none."""
        place = int(np.searchsorted(self.launched_ns, moment_ns, side="left"))
        return int(self.row[place]) if place < self.row.size else None


@dataclass(frozen=True, slots=True)
class ToldWaits:
    """`is_told`: whether the recording tells of waits at all; where it does, a row of which none is told had none.

    `released_by` is, over the rows of `Work`, the row of another stream that this one was told to wait for, of several
    the one that ends last; NOBODY without. `is_lost`: it waited for an event, but not whose is known. `call` are the
    calls that are told to have waited, in order, and `awaited` the row of each; NOBODY where nothing was before it.
    """

    is_told: bool
    released_by: IntColumn
    is_lost: BoolColumn
    call: IntColumn
    awaited: IntColumn

    def of_call(self, call: int) -> int | None:
        """The row that this call waited for, or NOBODY; None where nothing is told of it."""
        place = int(np.searchsorted(self.call, call))
        return int(self.awaited[place]) if place < self.call.size and self.call[place] == call else None


@dataclass(frozen=True, slots=True)
class Streams:
    """The queues of a recording: by device and stream, of each device as a whole, and by the number of a stream that
    one device alone has. None: several have it, as every device counts its streams alike, and an event may be any's.
    """

    of: Mapping[tuple[int, int], Queue]
    of_device: Mapping[int, Queue]
    of_number: Mapping[int, Queue | None]


def told_waits(trace: Trace, streams: Streams, end_ns: IntColumn) -> ToldWaits:
    """What the recording tells of waits. `end_ns` is of the rows of `Work`, which the queues hold."""
    rows = trace.rows(EventKind.WAIT)
    released = np.full(end_ns.size, NOBODY, dtype=np.int64)
    is_lost = np.zeros(end_ns.size, dtype=np.bool_)
    calls, records = _calls(trace, rows)
    awaited: dict[int, int] = {}
    # 6 µs a wait, of which a recording has one for some ten kernels.
    for row, call, record in zip(rows.tolist(), calls.tolist(), records.tolist(), strict=True):
        if call == NOBODY:
            continue
        begin_ns = int(trace.start_ns[call])
        if trace.name(row) == STREAM_WAITS:
            held = _held_row(trace, streams, row, begin_ns)
            if held is None:
                continue
            source = _recorded(trace, streams, row, record)
            if source is None:
                is_lost[held] = True
            elif source != NOBODY and (released[held] == NOBODY or end_ns[source] > end_ns[released[held]]):
                released[held] = source
        elif (source := _awaited(trace, streams, row, record, begin_ns)) is not None:
            awaited[call] = source
    order = sorted(awaited)
    return ToldWaits(bool(rows.size), released, is_lost, _column(order), _column([awaited[call] for call in order]))


def _held_row(trace: Trace, streams: Streams, wait: int, begin_ns: int) -> int | None:
    """The first row that this stream was given once it was told to wait; those behind it wait for that one."""
    queue = streams.of.get((int(trace.device[wait]), int(trace.stream[wait])))
    return queue.first_from(begin_ns) if queue is not None else None


def _awaited(trace: Trace, streams: Streams, wait: int, record: int, begin_ns: int) -> int | None:
    """What a host that waits since this moment waits for; None where that is not told."""
    name, device = trace.name(wait), int(trace.device[wait])
    if name == EVENT_SYNC:
        return _recorded(trace, streams, wait, record)
    if name == STREAM_SYNC and trace.has_stream[wait]:
        return _last(streams.of.get((device, int(trace.stream[wait]))), begin_ns)
    return _last(streams.of_device.get(device), begin_ns) if name == CONTEXT_SYNC else None


def _recorded(trace: Trace, streams: Streams, wait: int, record: int) -> int | None:
    """The last row that the event of this wait was recorded behind, NOBODY without one; None where the event is lost:
    its recorder's call is not in the file, or nobody knows on which stream of which device it was.
    """
    detail = trace.detail(wait)
    if record == NOBODY or detail is None or detail.wait is None or detail.wait.stream is None:
        return None
    number = detail.wait.stream
    if number not in streams.of_number:
        return NOBODY
    queue = streams.of_number[number]
    return None if queue is None else _last(queue, int(trace.start_ns[record]))


def _last(queue: Queue | None, moment_ns: int) -> int:
    found = queue.before(moment_ns) if queue is not None else None
    return NOBODY if found is None else found


def _calls(trace: Trace, waits: IntColumn) -> tuple[IntColumn, IntColumn]:
    """The call of each wait, and the call that recorded its event; NOBODY where none is known for sure."""
    details = [trace.detail(row) for row in waits.tolist()]
    records = [0 if d is None or d.wait is None or d.wait.record is None else d.wait.record for d in details]
    calls = trace.rows(*_CALLS)
    calls = calls[trace.has_correlation[calls]]
    ids = trace.correlation[calls]
    order = np.argsort(ids, kind="stable")
    calls, ids = calls[order], ids[order]
    own = np.where(trace.has_correlation[waits], trace.correlation[waits], 0)
    return _only(ids, calls, own), _only(ids, calls, _column(records))


def _only(ids: IntColumn, calls: IntColumn, wanted: IntColumn) -> IntColumn:
    """The one call with this id; in a file of several ranks ids collide, and then nobody knows whose it is."""
    first = np.searchsorted(ids, wanted, side="left")
    is_one = np.searchsorted(ids, wanted, side="right") - first == 1
    found = np.full(wanted.size, NOBODY, dtype=np.int64)
    found[is_one] = calls[first[is_one]]
    return found


def _column(values: list[int]) -> IntColumn:
    return np.asarray(values, dtype=np.int64)
