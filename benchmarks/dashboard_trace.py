"""What the dashboard's benchmark looks at: a trace of any size, and lanes alone. Made here, the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from analyzer.core.trace import EventKind, Trace
from dashboard.timeline.lane import Lane, lane_of

STEPS: Final = 50


def made_trace(events: int, *, host_us: float) -> Trace:
    """Steps of calls: an operator that holds another that launches a kernel, four rows a call, on two streams."""
    calls = max(events // 4 // STEPS, 1)
    kinds = [EventKind.CPU_OP, EventKind.CPU_OP, EventKind.LAUNCH, EventKind.KERNEL]
    number = np.arange(calls * STEPS, dtype=np.int64)
    every = round(host_us * 1000)
    host = number * every + (number // calls + 1) * 100_000
    kernel_ns = 800 + (number * 7919) % 4_000
    start = np.concatenate((host, host + every // 10, host + every // 4, host + every // 2))
    length = np.concatenate(
        (np.full_like(host, every * 9 // 10), np.full_like(host, every * 6 // 10), np.full_like(host, 400), kernel_ns)
    )
    kind = np.repeat(np.asarray(kinds, dtype=np.int64), number.size)
    ops, kernels = [f"aten::op_{i}" for i in range(64)], [f"void kernel_{i}<float, {i}>(int)" for i in range(256)]
    names = [*ops, "cudaLaunchKernel", *kernels, *(f"ProfilerStep#{i}" for i in range(STEPS))]
    name = np.concatenate(
        (number % 32, 32 + number % 32, np.full_like(host, 64), 65 + number % 256, 321 + np.arange(STEPS))
    )
    step_start = np.arange(STEPS) * (calls * every + 100_000) + 50_000
    start = np.concatenate((start, step_start))
    length = np.concatenate((length, np.full(STEPS, calls * every + 60_000)))
    kind = np.concatenate((kind, np.full(STEPS, EventKind.RANGE, dtype=np.int64)))
    order = np.lexsort((-length, start))
    is_kernel = (kind == EventKind.KERNEL)[order]
    linked = np.isin(kind, (EventKind.LAUNCH, EventKind.KERNEL))[order]
    of = np.concatenate((np.tile(number, 4), np.zeros(STEPS, dtype=np.int64)))[order]
    nothing = np.zeros(order.size, dtype=np.int64)
    return Trace(
        names=tuple(names), name_id=name[order], kind=kind[order], start_ns=start[order], duration_ns=length[order],
        thread=np.where(is_kernel, 0, 100), device=nothing, stream=np.where(is_kernel, 7 + of % 2, 0),
        has_stream=is_kernel, correlation=np.where(linked, of + 1, 0), has_correlation=linked, detail_id=nothing,
        has_detail=np.zeros(order.size, dtype=np.bool_), details=(), base_ns=0, device_name="NVIDIA H200",
    )  # fmt: skip


def made_lanes(events: int) -> Iterator[Lane]:
    """Ten lanes that share the events."""
    each = events // 10
    for number in range(10):
        start = np.arange(each, dtype=np.int64) * 5_000 + number
        length = 500 + (np.arange(each, dtype=np.int64) * (7919 + number)) % 4_000
        codes = np.zeros(each, dtype=np.uint8)
        yield lane_of(start, start + length, np.arange(each), codes, codes)
