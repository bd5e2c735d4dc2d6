"""Idle time stream by stream, as HolisticTraceAnalysis counts it: a device that works on another stream is idle here.

For people who come from that tool, and to hold the two against each other. Verdicts never use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analyzer.derive.attribution import Attribution


@dataclass(frozen=True, slots=True)
class StreamIdle:
    """The gaps between neighbouring rows of one stream. `host_ns`: the later one was launched after the earlier one had
    ended. `queued_ns`: it had been launched before. `unknown_ns`: it has no launch row. A later row that begins before
    the earlier one ended counts as a gap below zero, as there.
    """

    device: int
    stream: int
    host_ns: int
    queued_ns: int
    unknown_ns: int


def stream_idle(attribution: Attribution) -> tuple[StreamIdle, ...]:
    """One entry for every stream with a row; rows without a stream are left out."""
    trace, work = attribution.trace, attribution.work
    rows = np.flatnonzero(trace.has_stream[work.row])
    found = []
    keys = np.unique(np.column_stack((trace.device[work.row[rows]], trace.stream[work.row[rows]])), axis=0)
    for device, stream in keys.tolist():
        own = rows[(trace.device[work.row[rows]] == device) & (trace.stream[work.row[rows]] == stream)]
        own = own[np.argsort(trace.start_ns[work.row[own]], kind="stable")]
        before = trace.ends(work.row[own[:-1]])
        later = own[1:]
        gap = trace.start_ns[work.row[later]] - before
        known = work.has_launch[later]
        is_late = known & (trace.start_ns[work.launch[later]] > before)
        found.append(
            StreamIdle(
                device,
                stream,
                host_ns=int(gap[is_late].sum()),
                queued_ns=int(gap[known & ~is_late].sum()),
                unknown_ns=int(gap[~known].sum()),
            )
        )
    return tuple(found)
