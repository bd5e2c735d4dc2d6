"""What each device row of a recording waited for, asked one row at a time: what the walk along a path needs to know."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.distinct import numbered, places_by_value
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Work
from analyzer.derive.nesting import NOBODY, by_thread
from analyzer.derive.path_waits import SKEW_NS, Queue, Streams, ToldWaits, told_waits
from analyzer.derive.window import launched_before

RELEASE_NS: Final = 10_000
"""Within which a row begins once the row of another stream that held it has ended. A choice: collectives of an A100
that wait for each other began up to 7 µs later, in a trace of whole microseconds."""

USUAL_NS: Final = 50_000
"""What a launch, or the turn from one row of a stream to the next, may take. A choice: half of them take 6 to 32 µs in
the public traces. A row that had to wait longer was held by something, whether a call tells of an event or not."""

SHORTEST_LAUNCH_NS: Final = 4_000
"""No kernel begins sooner after its launch call does (the fastest of eight public traces took 4.8 µs, on an H100): one
that follows its stream's last row as closely was launched before that ended."""

MOST_LOOKED_AT: Final = 256
"""Rows that end close behind one moment: a device with more of them has stamps that tell nothing apart."""

_WAIT_EVENT: Final = re.compile(r"(?:cuda|hip|cu)StreamWaitEvent\w*")


@dataclass(frozen=True, slots=True)
class ThreadCalls:
    """Calls of one thread in order: when each began, and the row of `Work` it launched, where it launched one."""

    thread: int
    at_ns: IntColumn
    row: IntColumn


@dataclass(frozen=True, slots=True)
class _Times:
    """Columns of `DeviceQueues`, before it is one."""

    start_ns: IntColumn
    end_ns: IntColumn
    launched_ns: IntColumn
    previous: IntColumn
    thread: IntColumn


@dataclass(frozen=True, slots=True)
class DeviceQueues:
    """Columns over the rows of `Work`, in trace order. `previous` is of the rows before it on its stream the one that
    ends last; NOBODY for the first. `launched_ns` is when its launch call began, its own start where none is known;
    `is_held` whether an event or a branch of its graph may have held it.
    """

    row: IntColumn
    start_ns: IntColumn
    end_ns: IntColumn
    stream: IntColumn
    previous: IntColumn
    launch: IntColumn
    has_launch: BoolColumn
    launched_ns: IntColumn
    is_queued: BoolColumn
    is_held: BoolColumn
    is_branch: BoolColumn
    by_end: IntColumn
    ends_ns: IntColumn
    whole: Queue
    streams: tuple[Queue, ...]
    told: ToldWaits
    launch_thread: IntColumn
    by_call: IntColumn
    calls: IntColumn
    launches: tuple[ThreadCalls, ...]

    def releaser(self, row: int) -> int | None:
        """The row of another stream that this one waited for, by an event or as a branch of one graph; None without.

        Where the recording names no events, that a row had one is taken from a call of cudaStreamWaitEvent between the
        launches of its stream, or from how long it waited; whose it was from who ended right before it began, after
        its launch.
        """
        told = int(self.told.released_by[row])
        if told != NOBODY and self.launched_ns[row] < self.end_ns[told] <= self.start_ns[row] + SKEW_NS:
            return told
        return self._likely_releaser(row)

    def _likely_releaser(self, row: int) -> int | None:
        start, launched, is_told = int(self.start_ns[row]), int(self.launched_ns[row]), bool(self.is_held[row])
        place = int(np.searchsorted(self.ends_ns, start, side="right")) - 1
        earliest = max(start - RELEASE_NS, launched)
        last = place - MOST_LOOKED_AT
        while place >= 0 and place > last and self.ends_ns[place] > earliest:
            other = int(self.by_end[place])
            is_own = self.has_launch[other] and self.launch[other] == self.launch[row]
            if self.stream[other] != self.stream[row] and (is_told or is_own):
                return other
            place -= 1
        return None

    def last_of_call(self, call: int) -> int | None:
        """Of the rows that this call launched the one that ends last; None where it launched none."""
        first, last = np.searchsorted(self.calls, (call, call + 1))
        own = self.by_call[first:last]
        return int(own[np.argmax(self.end_ns[own])]) if own.size else None

    def last_stream(self, thread: int, moment_ns: int) -> int | None:
        """The stream of the row that this thread launched last before this moment; None where it launched none."""
        number = bisect_left(self.launches, thread, key=lambda calls: calls.thread)
        if number == len(self.launches) or self.launches[number].thread != thread:
            return None
        calls = self.launches[number]
        place = int(np.searchsorted(calls.at_ns, moment_ns, side="left")) - 1
        return int(self.stream[calls.row[place]]) if place >= 0 else None


def device_queues(trace: Trace, work: Work) -> DeviceQueues:
    start, end = trace.start_ns[work.row], trace.ends(work.row)
    launched = np.where(work.has_launch, trace.start_ns[work.launch], start)
    _, stream = numbered(trace.device[work.row], trace.stream[work.row])
    stream, previous, streams = _streams(stream, end, launched)
    by_end = np.argsort(end, kind="stable")
    linked = np.flatnonzero(work.has_launch)
    by_call = linked[np.argsort(work.launch[linked], kind="stable")]
    told = told_waits(trace, _named(trace, work, streams, end, launched), end)
    thread = np.where(work.has_launch, trace.thread[work.launch], NOBODY)
    is_branch = np.zeros(start.size, dtype=np.bool_)
    same = work.launch[by_call][1:] == work.launch[by_call][:-1]
    is_branch[by_call[np.append(same, False) | np.append(False, same)]] = True
    return DeviceQueues(
        row=work.row,
        start_ns=start,
        end_ns=end,
        stream=stream,
        previous=previous,
        launch=work.launch,
        has_launch=work.has_launch,
        launched_ns=launched,
        is_queued=launched_before(trace, work),
        is_held=told.is_lost if told.is_told else _held(trace, _Times(start, end, launched, previous, thread)),
        is_branch=is_branch,
        by_end=by_end,
        ends_ns=end[by_end],
        whole=_queue(np.arange(start.size), end, launched),
        streams=streams,
        told=told,
        launch_thread=thread,
        by_call=by_call,
        calls=work.launch[by_call],
        launches=_launches(trace, work, by_call),
    )


def _named(trace: Trace, work: Work, streams: tuple[Queue, ...], end: IntColumn, launched: IntColumn) -> Streams:
    """The queues by the device and stream of their rows."""
    device, stream = trace.device[work.row], trace.stream[work.row]
    firsts = [int(queue.row[0]) for queue in streams]
    numbers = stream[firsts].tolist()
    names = zip(device[firsts].tolist(), numbers, strict=True)
    devices = {number: _queue(own, end, launched) for number, own in places_by_value(device)}
    counts = Counter(numbers)
    by_number = {n: queue if counts[n] == 1 else None for n, queue in zip(numbers, streams, strict=True)}
    return Streams(dict(zip(names, streams, strict=True)), devices, by_number)


def _held(trace: Trace, times: _Times) -> BoolColumn:
    """Which rows waited longer than is usual once they were launched and their stream was free, or had a call of
    cudaStreamWaitEvent between the launch of their stream's last row and their own, on the thread that launched them.
    """
    calls = trace.named(_WAIT_EVENT.fullmatch, EventKind.RUNTIME)
    launched, previous = times.launched_ns, times.previous
    since = np.where(previous == NOBODY, -1, launched[previous])
    free = np.where(previous == NOBODY, launched, np.maximum(launched, times.end_ns[previous]))
    found: BoolColumn = times.start_ns - free > USUAL_NS
    launched_by = dict(places_by_value(times.thread))
    for thread, own in by_thread(trace, calls):
        mine = launched_by.get(thread, np.zeros(0, dtype=np.int64))
        at = trace.start_ns[own]
        found[mine] |= np.searchsorted(at, launched[mine]) > np.searchsorted(at, since[mine])
    return found


def _launches(trace: Trace, work: Work, by_call: IntColumn) -> tuple[ThreadCalls, ...]:
    return tuple(
        ThreadCalls(thread, trace.start_ns[work.launch[by_call[own]]], by_call[own])
        for thread, own in places_by_value(trace.thread[work.launch[by_call]])
    )


def _streams(stream: IntColumn, end: IntColumn, launched: IntColumn) -> tuple[IntColumn, IntColumn, tuple[Queue, ...]]:
    order = np.argsort(stream, kind="stable")
    begins = np.flatnonzero(np.diff(stream[order])) + 1
    previous = np.full(stream.size, NOBODY, dtype=np.int64)
    place = np.empty_like(stream)
    queues = []
    for number, own in enumerate(np.split(order, begins)):
        previous[own[1:]] = _last_to_end(own, end)[:-1]
        place[own] = number
        queues.append(_queue(own, end, launched))
    return place, previous, tuple(queues)


def _queue(own: IntColumn, end: IntColumn, launched: IntColumn) -> Queue:
    own = own[np.argsort(launched[own], kind="stable")]
    return Queue(launched[own], own, _last_to_end(own, end))


def _last_to_end(own: IntColumn, end: IntColumn) -> IntColumn:
    """For each of these rows, of those up to it the one that ends last."""
    reach = np.maximum.accumulate(end[own])
    is_last = end[own] >= reach
    return own[np.maximum.accumulate(np.where(is_last, np.arange(own.size), 0))]
