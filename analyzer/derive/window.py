"""The window of a recorded trace, cut so that each nanosecond of it belongs to one device row or to one idle stretch.

The window reaches from the first device row to the last, whether they are linked to a launch or not. Nothing is
judged here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.intervals import EMPTY, Intervals, union
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Work
from analyzer.derive.collectives import is_collective

KERNELS: Final = 0
COLLECTIVES: Final = 1
COPIES: Final = 2
"""Who owns a moment in which several rows run: kernels that compute, then collectives, then copies and memsets. What is
left to a later one is *exposed*: nothing of an earlier kind ran beside it."""


@dataclass(frozen=True, slots=True)
class Window:
    """`exposed_ns[i]` is the time that row `i` of `work` owns; with the idle stretches they add up to the window.

    `rank_of[i]` is KERNELS, COLLECTIVES or COPIES. Idle stretch `j` lies from `idle_start_ns[j]` to `idle_end_ns[j]`
    and ended when row `idle_before[j]` of `work` began.
    """

    start_ns: int
    end_ns: int
    rank_of: IntColumn
    exposed_ns: IntColumn
    idle_start_ns: IntColumn
    idle_end_ns: IntColumn
    idle_before: IntColumn

    @property
    def elapsed_ns(self) -> int:
        return self.end_ns - self.start_ns

    @property
    def idle_ns(self) -> int:
        return int((self.idle_end_ns - self.idle_start_ns).sum())

    @property
    def busy_ns(self) -> int:
        return int(self.exposed_ns.sum())


def window(trace: Trace, work: Work) -> Window | None:
    """The window of the device rows in `work`; None where there are none."""
    if not len(work):
        return None
    start, end = trace.start_ns[work.row], trace.ends(work.row)
    rank = _ranks(trace, work)
    exposed = np.zeros(len(work), dtype=np.int64)
    taken = EMPTY
    for level in (KERNELS, COLLECTIVES, COPIES):
        own = np.flatnonzero(rank == level)
        exposed[own] = _owned(start[own], end[own], taken)
        taken = union(
            np.concatenate((taken.start_ns, start[own])),
            np.concatenate((taken.end_ns, end[own])),
        )
    idle_start, idle_end, before = _idle(start, end)
    return Window(
        start_ns=int(start.min()),
        end_ns=int(end.max()),
        rank_of=rank,
        exposed_ns=exposed,
        idle_start_ns=idle_start,
        idle_end_ns=idle_end,
        idle_before=before,
    )


def _ranks(trace: Trace, work: Work) -> IntColumn:
    collective = np.asarray([is_collective(name) for name in trace.names] or [False], dtype=np.bool_)
    is_copy = trace.are(work.row, EventKind.COPY, EventKind.MEMSET)
    found: IntColumn = np.where(is_copy, COPIES, np.where(collective[trace.name_id[work.row]], COLLECTIVES, KERNELS))
    return found.astype(np.int64)


def _owned(start: IntColumn, end: IntColumn, taken: Intervals) -> IntColumn:
    """What each row has alone: not in `taken`, and of rows that overlap the one that began first keeps the time."""
    owned = np.zeros(start.size, dtype=np.int64)
    if not start.size:
        return owned
    order = np.lexsort((-end, start))
    first, last = start[order], end[order]
    reach = np.concatenate((first[:1], np.maximum.accumulate(last)[:-1]))
    first = np.minimum(np.maximum(first, reach), last)
    owned[order] = (last - first) - (taken.before(last) - taken.before(first))
    return owned


def _idle(start: IntColumn, end: IntColumn) -> tuple[IntColumn, IntColumn, IntColumn]:
    order = np.lexsort((np.arange(start.size), start))
    begins = start[order]
    reach = np.concatenate((begins[:1], np.maximum.accumulate(end[order])[:-1]))
    gap = np.flatnonzero(begins > reach)
    return reach[gap], begins[gap], order[gap].astype(np.int64)


def launched_before(trace: Trace, work: Work) -> BoolColumn:
    """Which rows without a launch row were launched before the recording began, by their correlation id.

    CUPTI and roctracer count the ids of calls upwards: one below that of every recorded call belongs to an earlier
    call. In the public traces that begin in the middle of queued work this holds for all rows without a launch
    (509 of an H100's, 872 of an A100's, 614 of a V100's).
    """
    calls = trace.rows(EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)
    calls = calls[trace.has_correlation[calls]]
    if not calls.size:
        return np.zeros(len(work), dtype=np.bool_)
    first = trace.correlation[calls].min()
    found: BoolColumn = ~work.has_launch & trace.has_correlation[work.row] & (trace.correlation[work.row] < first)
    return found


def host_window(
    work: Work, start: IntColumn, end: IntColumn, owner: IntColumn, whole: tuple[int, int]
) -> Window | None:
    """The window of a CPU: `whole` is when it begins and ends, the stretches are its operators' own time.

    `owner` are trace rows, those of `work`. Of threads that work at once the one that began first owns the moment.
    None where no operator works.
    """
    inside = (start >= whole[0]) & (end <= whole[1])
    start, end, of = start[inside], end[inside], np.searchsorted(work.row, owner[inside]).astype(np.int64)
    if not start.size:
        return None
    exposed = np.zeros(len(work), dtype=np.int64)
    np.add.at(exposed, of, _owned(start, end, EMPTY))
    idle_start, idle_end, before = _idle(np.append(start, whole[1]), np.append(end, whole[1]))
    if start.min() > whole[0]:
        idle_start, idle_end = np.append(whole[0], idle_start), np.append(start.min(), idle_end)
        before = np.append(int(np.argmin(start)), before)
    owners = np.append(of, of[int(np.argmax(end))])
    return Window(
        whole[0], whole[1], np.zeros(len(work), dtype=np.int64), exposed, idle_start, idle_end, owners[before]
    )
