"""Where a host thread waited for the device, and where it handed work to another thread: turns of a critical path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from analyzer.core.distinct import distinct, places_by_value
from analyzer.core.intervals import Intervals, union
from analyzer.core.trace import EventKind, IntColumn, Trace
from analyzer.derive.activity_calls import FREEING
from analyzer.derive.activity_waits import holding_copies
from analyzer.derive.nesting import NOBODY, by_thread
from analyzer.derive.path_device import MOST_LOOKED_AT, DeviceQueues
from analyzer.derive.path_waits import SKEW_NS

HOST_ROWS: Final = (
    EventKind.CPU_OP, EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC, EventKind.RANGE, EventKind.PYTHON,
)  # fmt: skip

RETURN_NS: Final = 20_000
"""Within which a wait returns for a row that is not known to be its own. A choice, several times what a wait takes to
return (3 to 12 µs in the public traces)."""

UNWINDING: Final = 0.1
"""Of a burst, at its end: a thread that wakes another one is still closing its own rows when that goes on. A choice."""

_STREAM_SYNC: Final = re.compile(r"(?:cuda|hip|cu)StreamSynchronize\w*")
_EVENT_SYNC: Final = re.compile(r"(?:cuda|hip|cu)EventSynchronize\w*|.*Event.*(?:Wait|Synchronize).*")


@dataclass(frozen=True, slots=True)
class HostTurns:
    """Of one `thread`, in order of time. Waits: their trace rows and when they were over. Handovers: when this thread
    goes on from what another one did, and which that is.
    """

    thread: int
    wait: IntColumn
    wait_end_ns: IntColumn
    handover_ns: IntColumn
    handover_to: IntColumn


def main_thread(trace: Trace, marks: IntColumn) -> int | None:
    """The thread that marks the steps, else the one that launches most; None without either."""
    rows = marks if marks.size else trace.rows(EventKind.LAUNCH)
    if not rows.size:
        return None
    found, counts = np.unique(trace.thread[rows], return_counts=True)
    return int(found[np.argmax(counts)])


def host_turns(trace: Trace, main: int, device: DeviceQueues) -> tuple[HostTurns, ...]:
    """The turns of the main thread and of every other one that launches device work."""
    threads = sorted({main, *distinct(trace.thread[device.launch[device.has_launch]]).tolist()})
    handovers = _handovers(trace, main, threads)
    waits = _waits(trace, device)
    ends = trace.ends(waits)
    waits_of = dict(places_by_value(trace.thread[waits]))
    found = []
    for thread in threads:
        own = waits_of.get(thread, np.zeros(0, dtype=np.int64))
        own = own[np.argsort(ends[own], kind="stable")]
        changes = sorted(handovers.get(thread, []))
        found.append(
            HostTurns(
                thread=thread,
                wait=waits[own],
                wait_end_ns=ends[own],
                handover_ns=np.asarray([ns for ns, _ in changes], dtype=np.int64),
                handover_to=np.asarray([to for _, to in changes], dtype=np.int64),
            )
        )
    return tuple(found)


def waited_for(trace: Trace, device: DeviceQueues, wait: int) -> int | None:
    """The row of `device` that a waiting call waited for; None where the device had nothing to wait for.

    Where the device's own recorder does not tell, a stream's wait is taken for one of the stream that its thread
    launched to last.
    """
    begin, end = int(trace.start_ns[wait]), int(trace.start_ns[wait] + trace.duration_ns[wait])
    told = device.told.of_call(wait)
    if told is not None and (told == NOBODY or device.end_ns[told] <= end + SKEW_NS):
        return told if told != NOBODY and device.end_ns[told] > begin else None
    name = trace.name(wait)
    if trace.kind[wait] == EventKind.LAUNCH:
        return device.last_of_call(wait)
    if _EVENT_SYNC.fullmatch(name):
        return _ended_last(device, begin, end)
    if _STREAM_SYNC.fullmatch(name):
        stream = device.last_stream(int(trace.thread[wait]), begin)
        found = device.streams[stream].before(begin) if stream is not None else None
    else:
        found = device.whole.before(begin)
    if found is not None and begin < device.end_ns[found] <= end + SKEW_NS:
        return found
    return None if FREEING.fullmatch(name) else _ended_last(device, begin, end)


def _ended_last(device: DeviceQueues, begin: int, end: int) -> int | None:
    """Of the rows launched before the wait the last that ended in it, where it returned right behind that."""
    place = int(np.searchsorted(device.ends_ns, end + SKEW_NS, side="right")) - 1
    earliest = max(begin, end - RETURN_NS)
    last = place - MOST_LOOKED_AT
    while place >= 0 and place > last and device.ends_ns[place] > earliest:
        if device.launched_ns[device.by_end[place]] < begin:
            return int(device.by_end[place])
        place -= 1
    return None


def _waits(trace: Trace, device: DeviceQueues) -> IntColumn:
    is_copy = device.has_launch & trace.are(device.row, EventKind.COPY)
    copies, _ = holding_copies(trace, device.row[is_copy], device.launch[is_copy])
    rows = np.concatenate((trace.rows(EventKind.SYNC), trace.named(FREEING.fullmatch, EventKind.RUNTIME), copies))
    return rows[trace.duration_ns[rows] > 0]


def _handovers(trace: Trace, main: int, threads: list[int]) -> dict[int, list[tuple[int, int]]]:
    """Where the main thread falls silent until another one, which was at rest, has begun and ended a burst of rows, it
    waits for that one: the path leads from its next row back to the burst, and from the burst's begin back to it. A
    burst beside which the main thread goes on was only begun by it, and one within an operator of the main thread's is
    another thread's own.
    """
    own = dict(by_thread(trace, trace.rows(*HOST_ROWS)))
    mine = own.get(main)
    found: dict[int, list[tuple[int, int]]] = {main: []}
    if mine is None:
        return found
    mine = mine[~_autograd(trace, mine).contains(trace.start_ns[mine])]
    edges = np.sort(np.concatenate((trace.start_ns[mine], trace.ends(mine))))
    working = _operators(trace, mine)
    if not edges.size:
        return found
    for thread in threads:
        rows = own.get(thread)
        if thread == main or rows is None:
            continue
        busy = union(trace.start_ns[rows], trace.ends(rows))
        seen = np.searchsorted(edges, busy.start_ns, side="right")
        gone = np.searchsorted(edges, busy.end_ns, side="left")
        is_working = working.contains(busy.start_ns)
        # A stretch begins a burst where the main thread did something since the last one ended.
        begins = np.flatnonzero(np.append(seen[:1] > 0, seen[1:] > gone[:-1]))
        found[thread] = [(int(busy.start_ns[i]), main) for i in begins.tolist()]
        for first, after in pairwise([*begins.tolist(), len(busy)]):
            begin, end = int(busy.start_ns[first]), int(busy.end_ns[after - 1])
            resumed_ns = int(edges[seen[first]]) if seen[first] < edges.size else end
            if resumed_ns > end - UNWINDING * (end - begin) and not is_working[first]:
                found[main].append((min(resumed_ns, end), thread))
    return found


def _autograd(trace: Trace, rows: IntColumn) -> Intervals:
    """When a thread works for the autograd engine: one that waits for a backward pass runs the CPU's part of it."""
    is_engine = np.asarray([name.startswith("autograd::engine::") for name in trace.names], dtype=np.bool_)
    kept = rows[is_engine[trace.name_id[rows]]]
    return union(trace.start_ns[kept], trace.ends(kept))


def _operators(trace: Trace, rows: IntColumn) -> Intervals:
    """When one of these rows is an operator or a call, which waits for no other thread."""
    is_operator = np.asarray(["::" in name for name in trace.names], dtype=np.bool_)
    is_call = trace.are(rows, EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)
    kept = rows[is_call | ((trace.kind[rows] == EventKind.CPU_OP) & is_operator[trace.name_id[rows]])]
    return union(trace.start_ns[kept], trace.ends(kept))
