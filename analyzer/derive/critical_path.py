"""The critical path of a recorded trace: what would have to be shorter for the recording to be shorter.

From the end of the window back along what each thing waited for. A kernel that was launched before its stream's last
one ended waited for that; one that another stream's released, for that; any other one for its launch. A host that waits
leads to the row it waited for; else its own time leads back along its thread. What the device's recorder tells of waits
(`path_waits`) is taken for known, the rest from what ended right before. n log n in the rows of the trace: a million
events take 0.7 s with 12,000 segments on the path, 3.5 s with 290,000 (two shared cores).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.critical_path import CriticalPath, PathKind, PathPart, PathRow, PathSegment
from analyzer.core.intervals import Intervals, union
from analyzer.core.trace import RANGE_PREFIX, EventKind, IntColumn, Trace
from analyzer.derive.activity import NOT_READ
from analyzer.derive.attribution import CUT_OFF, NOT_RECORDED, Attribution
from analyzer.derive.honesty import lost_because
from analyzer.derive.nesting import by_thread, innermost
from analyzer.derive.path_device import DeviceQueues, device_queues
from analyzer.derive.path_host import HOST_ROWS, host_turns, main_thread
from analyzer.derive.path_walk import Ground, walk
from analyzer.derive.steps import Steps, find_steps

MOST_ROWS: Final = 10
"""Rows of a path that are kept, the longest. A choice: a page shows three of them."""

MOST_BETWEEN: Final = 0.05
"""Of a step, from the end of the one before it. A choice: what lies between steps that are further apart is no part of
either (our own recorder puts inputs back there)."""

MOST_UNKNOWN: Final = 0.5
"""Of the window. A choice: with more of it unknown, the rest is no path any more."""

ON_A_CPU: Final = "no device works in it: all of the time is the host's"
NO_LAUNCHES: Final = "no device row is linked to a launch call, so that no wait of any is known: record the CPU too"
NO_STREAMS: Final = "its device rows name no stream, so that nobody knows which of them ran one behind the other"
TOO_LITTLE: Final = (
    "most of it would lead through time that the recording does not explain: kernels without a launch call, or waits "
    "for rows that are not in it"
)
UNNAMED: Final = "Python, or what no row tells of"


@dataclass(frozen=True, slots=True)
class WalkedPath:
    """The path, and its segments in order of time. None where `path.missing` says why."""

    path: CriticalPath
    segments: tuple[PathSegment, ...]


def critical_path(attribution: Attribution) -> WalkedPath:
    """The path of the longest run of marked steps that follow right on each other and lost none of their device rows,
    until the last device row that they launched ended; of the whole recording where no step is marked.

    So its window begins at the step's mark on the host, where the window of the budget begins with the first device
    row: in the public trace of a training step on an H100 the device works 0.27 ms on what was launched before, and a
    path of 49.38 ms stands beside 49.65 ms recorded; both end with the same kernel.
    """
    trace = attribution.trace
    steps = find_steps(trace)
    reason = _missing(attribution)
    main = main_thread(trace, steps.rows) if reason is None else None
    if reason is not None or main is None:
        return WalkedPath(_unknown(reason or NO_LAUNCHES), ())
    device = device_queues(trace, attribution.work)
    run = _run(attribution, steps)
    ground = _ground(trace, device, steps, run, main)
    segments = walk(ground)[::-1]
    path = _path(trace, ground, segments, run)
    if path.ns(PathKind.UNKNOWN) > MOST_UNKNOWN * path.elapsed_ns:
        return WalkedPath(_unknown(TOO_LITTLE), ())
    return WalkedPath(path, segments)


def _missing(attribution: Attribution) -> str | None:
    trace, work = attribution.trace, attribution.work
    if trace.facts.lacks_rows:
        return CUT_OFF
    if attribution.is_host:
        return ON_A_CPU
    if not len(work):
        return NOT_READ if trace.facts.unread_device_rows else NOT_RECORDED
    if not work.has_launch.any():
        return NO_LAUNCHES
    if not trace.has_stream[work.row].all():
        return NO_STREAMS
    return lost_because(trace)


def _unknown(reason: str) -> CriticalPath:
    return CriticalPath(0, 0, 0, (), (), reason)


def _run(attribution: Attribution, steps: Steps) -> tuple[int, int] | None:
    """The first and the last step of the longest run of steps, of several the one of median length; None where none is
    marked.
    """
    runs: list[tuple[int, int]] = []
    for step in attribution.recorded_steps if attribution.steps == len(steps) else range(len(steps)):
        if runs and runs[-1][1] == step - 1 and _follows(steps, step):
            runs[-1] = (runs[-1][0], step)
        else:
            runs.append((step, step))
    most = max((last - first for first, last in runs), default=0)
    longest = [run for run in runs if run[1] - run[0] == most]
    longest.sort(key=lambda run: int(steps.end_ns[run[1]] - steps.start_ns[run[0]]))
    return longest[(len(longest) - 1) // 2] if longest else None


def _follows(steps: Steps, step: int) -> bool:
    gap = int(steps.start_ns[step] - steps.end_ns[step - 1])
    return gap <= MOST_BETWEEN * int(steps.end_ns[step] - steps.start_ns[step])


def _ground(trace: Trace, device: DeviceQueues, steps: Steps, run: tuple[int, int] | None, main: int) -> Ground:
    host = trace.rows(*HOST_ROWS)
    if run is None:
        inside = np.arange(device.row.size)
        begin = min(int(trace.start_ns[host].min()), int(device.start_ns.min()))
        end = int(trace.ends(host[trace.thread[host] == main]).max())
    else:
        begin, end = int(steps.start_ns[run[0]]), int(steps.end_ns[run[1]])
        inside = np.flatnonzero((device.launched_ns >= begin) & (device.launched_ns < end))
    last = int(inside[np.argmax(device.end_ns[inside])]) if inside.size else None
    if last is not None and device.end_ns[last] <= end:
        last = None
    return Ground(
        trace=trace,
        device=device,
        turns=host_turns(trace, main, device),
        main=main,
        start_ns=begin,
        end_ns=end if last is None else int(device.end_ns[last]),
        last=last,
    )


def _path(trace: Trace, ground: Ground, segments: tuple[PathSegment, ...], run: tuple[int, int] | None) -> CriticalPath:
    by_kind: dict[PathKind, int] = defaultdict(int)
    for segment in segments:
        by_kind[segment.kind] += segment.end_ns - segment.start_ns
    parts = sorted(by_kind.items(), key=lambda part: (-part[1], part[0].value))
    rows = [*_rows(trace, segments), *_host_rows(trace, segments)]
    return CriticalPath(
        elapsed_ns=ground.end_ns - ground.start_ns,
        steps=0 if run is None else run[1] - run[0] + 1,
        segments=len(segments),
        parts=tuple(PathPart(kind, ns) for kind, ns in parts),
        rows=tuple(sorted(rows, key=lambda row: (-row.ns, row.name, row.kind.value))[:MOST_ROWS]),
        guessed=_guessed(ground.device, segments),
    )


def _guessed(device: DeviceQueues, segments: tuple[PathSegment, ...]) -> int:
    """Device rows that the path leads through and whose launch is not known."""
    unlinked = set(device.row[~device.has_launch].tolist())
    return len({segment.row for segment in segments} & unlinked)


def _rows(trace: Trace, segments: tuple[PathSegment, ...]) -> list[PathRow]:
    times: dict[tuple[str, PathKind], int] = defaultdict(int)
    seen: dict[tuple[str, PathKind], set[int]] = defaultdict(set)
    for segment in segments:
        if segment.row is not None:
            key = trace.name(segment.row), segment.kind
            times[key] += segment.end_ns - segment.start_ns
            seen[key].add(segment.row)
    return [PathRow(name, kind, ns, len(seen[name, kind])) for (name, kind), ns in times.items()]


def _host_rows(trace: Trace, segments: tuple[PathSegment, ...]) -> list[PathRow]:
    """The host's time on the path by the innermost row of its thread there; UNNAMED outside of all rows."""
    own_ns = np.zeros(len(trace), dtype=np.int64)
    host = [segment for segment in segments if segment.kind is PathKind.HOST]
    rows = dict(by_thread(trace, _named_rows(trace)))
    by_own: dict[int, list[PathSegment]] = defaultdict(list)
    for segment in host:
        if segment.thread is not None:
            by_own[segment.thread].append(segment)
    for thread, mine in by_own.items():
        on_path = union(_column([s.start_ns for s in mine]), _column([s.end_ns for s in mine]))
        if thread in rows:
            _add_own(trace, rows[thread], on_path, own_ns)
    seen = np.flatnonzero(own_ns)
    names = trace.name_id[seen]
    times = np.zeros(len(trace.names), dtype=np.int64)
    np.add.at(times, names, own_ns[seen])
    counts = np.bincount(names, minlength=len(trace.names))
    found = [
        PathRow(trace.names[i], PathKind.HOST, int(times[i]), int(counts[i])) for i in np.flatnonzero(counts).tolist()
    ]
    rest = sum(segment.end_ns - segment.start_ns for segment in host) - int(own_ns.sum())
    return [*found, PathRow(UNNAMED, PathKind.HOST, rest, 1)] if rest else found


def _add_own(trace: Trace, rows: IntColumn, on_path: Intervals, own_ns: IntColumn) -> None:
    if not len(on_path):
        return
    # Of a long recording the path is often a small part.
    is_near = (trace.start_ns[rows] < on_path.end_ns[-1]) & (trace.ends(rows) > on_path.start_ns[0])
    start, end, owner = innermost(trace, rows[is_near]).stretches()
    np.add.at(own_ns, owner, on_path.before(end) - on_path.before(start))


def _named_rows(trace: Trace) -> IntColumn:
    """Rows that say what the host does: marks of steps and our own ranges say only where."""
    is_mark = np.asarray([name.startswith(("ProfilerStep", RANGE_PREFIX)) for name in trace.names], dtype=np.bool_)
    rows = trace.rows(*HOST_ROWS)
    kept: IntColumn = rows[~is_mark[trace.name_id[rows]] | (trace.kind[rows] != EventKind.RANGE)]
    return kept


def _column(values: list[int]) -> IntColumn:
    return np.asarray(values, dtype=np.int64)
