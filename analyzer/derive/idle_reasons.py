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
UNTOLD: Final = WAITS + 4
"""No launch row tells when the next row was launched, or the time was not recorded, or what was recorded cannot be
(LONGEST_QUEUED_NS, LONGEST_LAUNCH_NS)."""
CODES: Final = WAITS + 5

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
    """`ns[j, code]` of idle stretch `j`; a line adds up to the stretch. `codes` below WAITS index `KINDS`."""

    ns: IntColumn


def idle_reasons(attribution: Attribution, found: Window, steps: Steps) -> IdleReasons:
    """The reasons of every idle stretch of the window."""
    trace, work = attribution.trace, attribution.work
    ns = np.zeros((found.idle_before.size, CODES), dtype=np.int64)
    length = found.idle_end_ns - found.idle_start_ns
    queued = _is_queued(trace, work, found)
    is_short = length <= LONGEST_QUEUED_NS
    ns[queued & is_short, QUEUED] = length[queued & is_short]
    ns[queued & ~is_short, UNTOLD] = length[queued & ~is_short]
    known = work.has_launch[found.idle_before]
    untold = ~queued & ~known
    ns[untold, UNTOLD] = length[untold]
    late = np.flatnonzero(~queued & known)
    _spend(attribution, found, steps, late, ns)
    return IdleReasons(ns)


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


def _spend(attribution: Attribution, found: Window, steps: Steps, late: IntColumn, ns: IntColumn) -> None:
    """Fills in the late stretches: cut at every edge of the host's rows, each piece goes to the innermost."""
    if not late.size:
        return
    trace, work, view = attribution.trace, attribution.work, attribution.host_view
    codes = host_codes(trace) if view is None else view.codes
    threads = distinct(trace.thread[work.launch[work.has_launch]])
    rows = np.flatnonzero((codes != UNSEEN) & np.isin(trace.thread, threads)).astype(np.int64)
    if not rows.size:
        ns[late, UNTOLD] = found.idle_end_ns[late] - found.idle_start_ns[late]
        return
    # Of the same rows it has been made already: a third of a second of a million.
    is_made = view is not None and np.array_equal(view.rows, rows)
    inner = (view.inner if view is not None and is_made else None) or innermost(trace, rows)
    busy = union(trace.start_ns[work.row], trace.ends(work.row))
    refill = _refill(trace, rows[codes[rows] == WAITS], busy)
    profiler = own_cost(trace)
    starts, ends = found.idle_start_ns[late], found.idle_end_ns[late]
    points = distinct_of_ordered(
        starts, ends, inner.start_ns, refill.start_ns, refill.end_ns, profiler.start_ns, profiler.end_ns,
        steps.start_ns, steps.end_ns,
    )  # fmt: skip
    at, length = points[:-1], np.diff(points)
    stretch = np.searchsorted(starts, at, side="right") - 1
    keep = (stretch >= 0) & (at < ends[np.maximum(stretch, 0)])
    at, length, stretch = at[keep], length[keep], stretch[keep]
    owner = inner.at(at)
    code = np.where(owner == NOBODY, _PYTHON, codes[owner])
    code = np.where((code == _BYTECODE) & (inner.length_at(at) > LONGEST_BYTECODE_NS), _PYTHON, code)
    code = np.where((code != WAITS) & refill.contains(at), REFILL, code)
    is_loading = (code == _LAUNCH) & (trace.duration_ns[np.maximum(owner, 0)] > LONGEST_LAUNCH_NS)
    code = np.where(is_loading, UNTOLD, code)
    code = np.where((owner == NOBODY) & _is_outside(at, steps), UNTOLD, code)
    code = np.where(profiler.contains(at), PROFILER, code)
    np.add.at(ns, (late[stretch], code), length)


def _is_outside(points_ns: IntColumn, steps: Steps) -> BoolColumn:
    """Outside of every marked step: what the host did there is no part of the program that was to be recorded."""
    return ~steps.hold(points_ns) if len(steps) else np.zeros(points_ns.size, dtype=np.bool_)


def _refill(trace: Trace, waits: IntColumn, busy: Intervals) -> Intervals:
    start, end = trace.start_ns[waits], trace.ends(waits)
    return union(end, end + busy.before(end) - busy.before(start))
