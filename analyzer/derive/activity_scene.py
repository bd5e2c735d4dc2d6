"""The recorded steps of a profiled pass, laid out for questions: what ran where, and under which operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.graphs import Region
from analyzer.core.intervals import Intervals, intersect, union
from analyzer.core.timing import Timing
from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.attribution import Attribution
from analyzer.derive.host_work import OPERATOR
from analyzer.derive.nesting import NOBODY
from analyzer.derive.timeline import Timeline, cut


@dataclass(frozen=True, slots=True)
class Scene:
    """`starts_ns` and `ends_ns` are those of the recorded steps. `busy` is when the device worked at all.

    `host_scale` brings the host's time of this pass to the clean one: at most 1, and 1 where there is no clean pass.
    `closing` are the rows with which the steps wait for the device at their end.
    """

    attribution: Attribution
    timeline: Timeline
    starts_ns: IntColumn
    ends_ns: IntColumn
    busy: Intervals
    host_scale: float
    step_ns: int
    closing: IntColumn

    @property
    def trace(self) -> Trace:
        return self.attribution.trace

    @property
    def steps(self) -> int:
        return int(self.starts_ns.size)

    def inside(self, rows: IntColumn) -> IntColumn:
        """Those of these host rows that start in a recorded step."""
        return rows[self.is_recorded(self.trace.start_ns[rows])]

    def is_recorded(self, moments_ns: IntColumn) -> BoolColumn:
        return _within(self.starts_ns, self.ends_ns, moments_ns)

    def regions_of(self, rows: IntColumn) -> tuple[Region, ...]:
        """The region of each of these host rows, which must lie inside steps."""
        numbers = self.timeline.region_at(self.trace.start_ns[rows], self.trace.thread[rows])
        return tuple(self.timeline.regions[number] for number in numbers.tolist())

    def inner_ops(self, rows: IntColumn) -> IntColumn:
        """The innermost operator row around each of these host rows; NOBODY where there is none."""
        return self.attribution.ops.at(self.trace.start_ns[rows], self.trace.thread[rows])

    def path(self, op: int) -> tuple[str, ...]:
        """The operators from the outermost down to the row `op`, as far as they went through the dispatcher.

        Empty for NOBODY.
        """
        if op == NOBODY:
            return ()
        names = []
        row = op
        while True:
            name = self.trace.name(row)
            if OPERATOR.fullmatch(name):
                names.append(name)
            if not self.attribution.has_parent_op[row]:
                return tuple(reversed(names))
            row = int(self.attribution.parent_op[row])

    def scaled(self, profiled_ns: float) -> int:
        return round(profiled_ns * self.host_scale)

    def a_step(self, total_ns: float) -> int:
        """A total over all recorded steps, for the average one."""
        return round(total_ns / self.steps) if self.steps else 0


def scene(attribution: Attribution, timing: Timing | None) -> Scene:
    trace, timeline = attribution.trace, cut(attribution.trace)
    recorded = np.asarray(attribution.recorded_steps, dtype=np.int64)
    starts, ends = timeline.step_start_ns[recorded], timeline.step_end_ns[recorded]
    rows = trace.rows(*DEVICE_KINDS)
    busy = union(trace.start_ns[rows], trace.ends(rows))
    profiled = int((ends - starts).sum())
    # The device's time is not stretched: only what is left of a step without it is.
    fixed = intersect(busy, union(starts, ends)).length_ns if not attribution.is_host else 0
    clean = timing.step_ns.median_ns if timing is not None else None
    return Scene(
        attribution=attribution,
        timeline=timeline,
        starts_ns=starts,
        ends_ns=ends,
        busy=busy,
        host_scale=_host_scale(clean, profiled, fixed, int(recorded.size)),
        step_ns=clean if clean is not None else round(profiled / max(1, recorded.size)),
        closing=_closing(attribution, starts, ends),
    )


def _host_scale(clean_ns: int | None, profiled_ns: int, busy_ns: int, steps: int) -> float:
    if clean_ns is None or profiled_ns <= busy_ns:
        return 1.0
    return min(1.0, max(0.0, (clean_ns * steps - busy_ns) / (profiled_ns - busy_ns)))


def _closing(attribution: Attribution, starts: IntColumn, ends: IntColumn) -> IntColumn:
    """The last wait of each step that no launch follows, no operator holds and that waits for the whole device."""
    trace = attribution.trace
    syncs = trace.rows(EventKind.SYNC)
    launch_ns = trace.start_ns[trace.rows(EventKind.LAUNCH)]
    last = np.searchsorted(trace.start_ns[syncs], ends) - 1
    has_one = (last >= 0) & (trace.start_ns[syncs[last]] >= starts) if syncs.size else np.zeros(starts.size, np.bool_)
    rows, until = syncs[last[has_one]], ends[has_one]
    at = trace.start_ns[rows]
    is_followed = np.searchsorted(launch_ns, until) > np.searchsorted(launch_ns, at, side="right")
    is_inside = attribution.ops.at(at, trace.thread[rows]) != NOBODY
    is_whole = np.asarray([trace.name(row).startswith(_WHOLE_DEVICE) for row in rows.tolist()], dtype=np.bool_)
    found: IntColumn = rows[is_whole & ~is_inside & ~is_followed]
    return found


_WHOLE_DEVICE: Final = ("cudaDeviceSynchronize", "cuCtxSynchronize", "hipDeviceSynchronize")


def _within(starts: IntColumn, ends: IntColumn, moments: IntColumn) -> BoolColumn:
    if not starts.size:
        return np.zeros(moments.size, dtype=np.bool_)
    step = np.searchsorted(starts, moments, side="right") - 1
    return np.asarray((step >= 0) & (moments < ends[step]), dtype=np.bool_)


def covered_ns(what: Intervals, start_ns: IntColumn, end_ns: IntColumn) -> IntColumn:
    """How much of each of these stretches, which may overlap, `what` covers."""
    return what.before(end_ns) - what.before(start_ns)
