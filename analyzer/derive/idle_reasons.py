"""Why the device was idle in each stretch of a recorded window. The rows are the profiled run's own: nothing is scaled.

The same three reasons as in `host_time`, but found from the device's side: a stretch belongs to the row that ended it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.budget import HostKind
from analyzer.core.distinct import distinct, distinct_of_ordered
from analyzer.core.intervals import Intervals, union
from analyzer.core.trace import BoolColumn, IntColumn, Trace
from analyzer.derive.attribution import Attribution, Work
from analyzer.derive.host_rows import KINDS, LONGEST_BYTECODE_NS, UNSEEN, WAITS, host_codes, own_cost
from analyzer.derive.nesting import NOBODY, innermost
from analyzer.derive.steps import Steps
from analyzer.derive.window import Window, launched_before

QUEUED: Final = WAITS + 1
"""The next row had been launched before the device fell idle, or is not the first of its launch."""
REFILL: Final = WAITS + 2
"""After a wait for a busy device: without the wait the host would have launched that much earlier."""
PROFILER: Final = WAITS + 3
"""The profiler's own rows (a buffer is flushed)."""
OUTSIDE: Final = WAITS + 4
"""Outside of every marked step, where the host ran nothing that was recorded: no part of the program to be recorded."""
UNTOLD: Final = WAITS + 5
"""No launch row tells when the next row was launched, or what was recorded cannot be (LONGEST_QUEUED_NS,
LONGEST_LAUNCH_NS)."""
CODES: Final = WAITS + 6

LONGEST_QUEUED_NS: Final = 50_000
"""Between rows that were launched in time. Longer ones are no gap of the device's: something ran there that was not
recorded, or was waited for. A choice between what was seen, and on the same files, so that it is no measurement of
others: in 14 whole public traces of A100s to B300s and MI210s to MI300s all but two of 37,000 such gaps are below
24 µs; one trace of an A100 whose graph replays were recorded in part has 261 above it, up to 65 ms."""

LONGEST_LAUNCH_NS: Final = 1_000_000
"""Of a launch call while the device is idle. Calls take some µs; the first use of a kernel loads its code (463 ms in a
public trace of an MI300X). That is no cost of a step."""

_PYTHON: Final = KINDS.index(HostKind.PYTHON)
_BYTECODE: Final = KINDS.index(HostKind.BYTECODE)
_LAUNCH: Final = KINDS.index(HostKind.LAUNCH)


@dataclass(frozen=True, slots=True)
class IdleReasons:
    """The idle stretches of a window in order of time, those that hold OUTSIDE cut where steps begin and end: line `i`
    is a piece of stretch `stretch[i]`. `ns[i, code]` add up to it. Codes below WAITS index `KINDS`.
    """

    start_ns: IntColumn
    end_ns: IntColumn
    stretch: IntColumn
    ns: IntColumn


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Idle time by reason, in any order. None straddles the begin or end of a step that lies in a late stretch."""

    start_ns: IntColumn
    length_ns: IntColumn
    code: IntColumn


def idle_reasons(attribution: Attribution, found: Window, steps: Steps) -> IdleReasons:
    """The reasons of every idle stretch of a device's window."""
    work, length = attribution.work, found.idle_end_ns - found.idle_start_ns
    queued = _is_queued(attribution.trace, work, found)
    is_late = ~queued & work.has_launch[found.idle_before]
    code = np.where(queued & (length <= LONGEST_QUEUED_NS), QUEUED, UNTOLD)
    in_time = _Pieces(found.idle_start_ns[~is_late], length[~is_late], code[~is_late])
    return _reasons(found, steps, in_time, _spent(attribution, found, steps, np.flatnonzero(is_late)))


def host_idle_reasons(found: Window, steps: Steps) -> IdleReasons:
    """Those of a CPU, where what is no work of an operator is the host's own."""
    at, length = _cut(found.idle_start_ns, found.idle_end_ns, steps.start_ns, steps.end_ns)
    return _reasons(found, steps, _Pieces(at, length, np.where(_is_outside(at, steps), OUTSIDE, _PYTHON)))


def _reasons(found: Window, steps: Steps, *given: _Pieces) -> IdleReasons:
    at = np.concatenate([pieces.start_ns for pieces in given])
    length = np.concatenate([pieces.length_ns for pieces in given])
    code = np.concatenate([pieces.code for pieces in given])
    holds = np.zeros(found.idle_before.size, dtype=np.bool_)
    holds[np.searchsorted(found.idle_start_ns, at[code == OUTSIDE], side="right") - 1] = True
    # Where a step begins as the last one ends, nothing lies between them.
    edges = np.setxor1d(steps.start_ns, steps.end_ns)
    edges = edges[_within(edges, found.idle_start_ns[holds], found.idle_end_ns[holds])]
    start = np.sort(np.concatenate((found.idle_start_ns, edges)))
    stretch = np.searchsorted(found.idle_start_ns, start, side="right") - 1
    end = np.minimum(found.idle_end_ns[stretch], np.append(start[1:], np.iinfo(np.int64).max)[: start.size])
    ns = np.zeros((start.size, CODES), dtype=np.int64)
    np.add.at(ns, (np.searchsorted(start, at, side="right") - 1, code), length)
    return IdleReasons(start, end, stretch, ns)


def _within(points: IntColumn, starts: IntColumn, ends: IntColumn) -> BoolColumn:
    """Which of the points lie inside one of these disjoint stretches, at none of their ends."""
    number = np.searchsorted(starts, points, side="left") - 1
    found: BoolColumn = number >= 0
    found[found] = points[found] < ends[number[found]]
    return found


def _cut(starts: IntColumn, ends: IntColumn, *edges: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Disjoint stretches cut at every edge: where each piece begins, and how long it is."""
    points = distinct_of_ordered(starts, ends, *edges)
    at, length = points[:-1], np.diff(points)
    stretch = np.searchsorted(starts, at, side="right") - 1
    keep = (stretch >= 0) & (at < ends[np.maximum(stretch, 0)])
    return at[keep], length[keep]


def _is_queued(trace: Trace, work: Work, found: Window) -> BoolColumn:
    before = found.idle_before
    launch = work.launch[before]
    first = np.zeros(len(work), dtype=np.bool_)
    # Rows of one launch come in order of start: the first of each is the one that its call was late for.
    order = np.lexsort((trace.start_ns[work.row], work.launch))
    first[order[np.unique(work.launch[order], return_index=True)[1]]] = True
    in_time = work.has_launch[before] & (~first[before] | (trace.ends(launch) <= found.idle_start_ns))
    is_queued: BoolColumn = in_time | launched_before(trace, work)[before]
    return is_queued


def _spent(attribution: Attribution, found: Window, steps: Steps, late: IntColumn) -> _Pieces:
    """The late stretches: cut at every edge of the host's rows, each piece goes to the innermost."""
    trace, work, view = attribution.trace, attribution.work, attribution.host_view
    codes = host_codes(trace) if view is None else view.codes
    threads = distinct(trace.thread[work.launch[work.has_launch]])
    rows = np.flatnonzero((codes != UNSEEN) & np.isin(trace.thread, threads)).astype(np.int64)
    starts, ends = found.idle_start_ns[late], found.idle_end_ns[late]
    if not rows.size or not late.size:
        return _Pieces(starts, ends - starts, np.full_like(starts, UNTOLD))
    # Of the same rows it has been made already: a third of a second of a million.
    is_made = view is not None and np.array_equal(view.rows, rows)
    inner = (view.inner if view is not None and is_made else None) or innermost(trace, rows)
    busy = union(trace.start_ns[work.row], trace.ends(work.row))
    refill = _refill(trace, rows[codes[rows] == WAITS], busy)
    profiler = own_cost(trace)
    at, length = _cut(
        starts, ends, inner.start_ns, refill.start_ns, refill.end_ns, profiler.start_ns, profiler.end_ns,
        steps.start_ns, steps.end_ns,
    )  # fmt: skip
    owner = inner.at(at)
    code = np.where(owner == NOBODY, _PYTHON, codes[owner])
    code = np.where((code == _BYTECODE) & (inner.length_at(at) > LONGEST_BYTECODE_NS), _PYTHON, code)
    code = np.where((code != WAITS) & refill.contains(at), REFILL, code)
    is_loading = (code == _LAUNCH) & (trace.duration_ns[np.maximum(owner, 0)] > LONGEST_LAUNCH_NS)
    code = np.where(is_loading, UNTOLD, code)
    code = np.where((owner == NOBODY) & _is_outside(at, steps), OUTSIDE, code)
    code = np.where(profiler.contains(at), PROFILER, code)
    return _Pieces(at, length, code)


def _is_outside(points_ns: IntColumn, steps: Steps) -> BoolColumn:
    """Outside of every marked step: what the host did there is no part of the program that was to be recorded."""
    return ~steps.hold(points_ns) if len(steps) else np.zeros(points_ns.size, dtype=np.bool_)


def _refill(trace: Trace, waits: IntColumn, busy: Intervals) -> Intervals:
    start, end = trace.start_ns[waits], trace.ends(waits)
    return union(end, end + busy.before(end) - busy.before(start))
