"""Leaves out of a trace what the recorder itself did between steps: putting inputs back is no part of the program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analyzer.core.trace import DEVICE_KINDS, PREPARE_RANGE, BoolColumn, EventKind, IntColumn, Trace
from analyzer.derive.links import launches
from analyzer.derive.nesting import NOBODY


def without_preparation(trace: Trace) -> tuple[Trace, int]:
    """The trace without the rows inside the recorder's own ranges and the device rows launched there, and how many
    device rows that cost.
    """
    ranges = trace.named(PREPARE_RANGE.__eq__, EventKind.RANGE)
    if not ranges.size:
        return trace, 0
    ours = _inside(trace, ranges)
    device = trace.rows(*DEVICE_KINDS)
    launch = launches(trace, device)
    linked = launch != NOBODY
    dropped = np.zeros(len(trace), dtype=np.bool_)
    dropped[device[linked]] = ours[launch[linked]]
    return _kept(trace, ~(ours | dropped)), int(dropped.sum())


def _inside(trace: Trace, ranges: IntColumn) -> BoolColumn:
    is_host = np.ones(len(trace), dtype=np.bool_)
    is_host[trace.rows(*DEVICE_KINDS, EventKind.DEVICE_RANGE)] = False
    inside = np.zeros(len(trace), dtype=np.bool_)
    for row in ranges.tolist():
        start, end = trace.start_ns[row], trace.start_ns[row] + trace.duration_ns[row]
        # A loop over our own ranges: one a profiled step.
        inside |= is_host & (trace.thread == trace.thread[row]) & (trace.start_ns >= start) & (trace.start_ns < end)
    return inside


def _kept(trace: Trace, mask: BoolColumn) -> Trace:
    return replace(
        trace,
        name_id=trace.name_id[mask],
        kind=trace.kind[mask],
        start_ns=trace.start_ns[mask],
        duration_ns=trace.duration_ns[mask],
        thread=trace.thread[mask],
        device=trace.device[mask],
        stream=trace.stream[mask],
        has_stream=trace.has_stream[mask],
        correlation=trace.correlation[mask],
        has_correlation=trace.has_correlation[mask],
        detail_id=trace.detail_id[mask],
        has_detail=trace.has_detail[mask],
        external_id=None if trace.external_id is None else trace.external_id[mask],
        has_external_id=None if trace.has_external_id is None else trace.has_external_id[mask],
    )
