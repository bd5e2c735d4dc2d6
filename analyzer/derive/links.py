"""Which call launched each device row, by correlation id."""

from __future__ import annotations

import numpy as np

from analyzer.core.trace import EventKind, IntColumn, Trace
from analyzer.derive.nesting import NOBODY


def launches(trace: Trace, rows: IntColumn) -> IntColumn:
    """The host row that launched each of these device rows; NOBODY where no row has its correlation id.

    A row of any runtime call will do, launches first: new launch calls appear faster than lists of their names.
    Where several calls carry one id (ranks merged into a file), the last one before the device row is taken.
    """
    found = np.full(rows.size, NOBODY, dtype=np.int64)
    known = np.flatnonzero(trace.has_correlation[rows])
    for kinds in ((EventKind.RUNTIME, EventKind.SYNC), (EventKind.LAUNCH,)):
        calls = trace.rows(*kinds)
        calls = calls[trace.has_correlation[calls]]
        # Rows come by start, and a stable sort keeps that order within an id.
        calls = calls[np.argsort(trace.correlation[calls], kind="stable")]
        own = _last_before(trace, calls, rows[known])
        found[known] = np.where(own != NOBODY, own, found[known])
    return found


def _last_before(trace: Trace, calls: IntColumn, rows: IntColumn) -> IntColumn:
    ids = trace.correlation[calls]
    first = np.searchsorted(ids, trace.correlation[rows], side="left")
    last = np.searchsorted(ids, trace.correlation[rows], side="right")
    call = np.full(rows.size, NOBODY, dtype=np.int64)
    call[last > first] = calls[first[last > first]]
    # Only ids with several calls are walked, of which a trace of one process has none.
    for i in np.flatnonzero(last - first > 1).tolist():
        candidates = calls[first[i] : last[i]]
        earlier = candidates[trace.start_ns[candidates] <= trace.start_ns[rows[i]]]
        # On ROCm a kernel may start before its launch; then the first call is as good as any.
        call[i] = earlier[-1] if earlier.size else candidates[0]
    return call
