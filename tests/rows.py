"""Traces of bare host rows: what stands in them is a thread, a start and a length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.core.trace import EventKind, Trace


def host_rows(made: Sequence[tuple[int, int, int]]) -> Trace:
    """A trace of operators, each given as thread, start and duration in ns; in trace order, the longer first."""
    ordered = sorted(made, key=lambda row: (row[1], -row[2], row[0]))
    thread, start, duration = (np.asarray([row[i] for row in ordered], dtype=np.int64) for i in range(3))
    nothing, no = np.zeros(len(ordered), dtype=np.int64), np.zeros(len(ordered), dtype=np.bool_)
    return Trace(
        names=("op",),
        name_id=nothing,
        kind=np.full(len(ordered), EventKind.CPU_OP, dtype=np.int64),
        start_ns=start,
        duration_ns=duration,
        thread=thread,
        device=nothing,
        stream=nothing,
        has_stream=no,
        correlation=nothing,
        has_correlation=no,
        detail_id=nothing,
        has_detail=no,
        details=(),
        base_ns=0,
        device_name=None,
    )
