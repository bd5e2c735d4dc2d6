"""What launching costs on a CUDA device: one launch, the gaps between kernels, one replay of a CUDA graph."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import torch
from torch.profiler import ProfilerActivity, profile

from collectors.device_cpu import host_ns_per_call
from collectors.device_precision import tf32
from collectors.device_profile import Span, can_profile, kernel_spans, profile_calls
from collectors.device_replay import ReplayBench, ReplayCosts

_LAUNCH_BATCH: Final = 200
"""Launches without waiting: well under the some thousand that a stream queues before it blocks the host."""
_LAUNCH_BATCHES: Final = 15
_TINY: Final = 32
"""Elements: one warp."""

_QUEUED: Final = 128
"""Launches behind a long kernel: a few hundred microseconds of the host's time, and well under what a stream queues."""
_BLOCK_SIDE: Final = 4096
_BLOCK_CALLS: Final = 4
"""Float32 products of this side take 2.7 ms each on an H200, so that the host has launched all before they end."""


@dataclass(frozen=True, slots=True)
class LaunchCosts:
    """In nanoseconds; None where the profiler showed no kernel.

    `launch_ns` is the host time of `torch.add(a, b, out=c)` on 32 elements: dispatcher and launch, nothing else.
    `empty_kernel_ns` is the duration of that kernel, `launch_gap_ns` the gap between two of them that the host
    launched long before, by the timestamps of the profiler.
    """

    launch_ns: float
    empty_kernel_ns: float | None
    launch_gap_ns: float | None
    replay: ReplayCosts = field(default_factory=ReplayCosts)


def measure_launches() -> LaunchCosts:
    """The launch costs of the current CUDA device, in some seconds.

    Everything is timed before anything is profiled: once the profiler has run, a process launches more slowly.
    """
    one, two, out = torch.ones(3, _TINY, device="cuda", dtype=torch.float32).unbind()

    def add() -> object:
        return torch.add(one, two, out=out)

    launch_ns = _launch_ns(add)
    replays = ReplayBench()
    tiny = profile_calls(add)
    replay = replays.costs()
    return LaunchCosts(
        launch_ns=launch_ns,
        empty_kernel_ns=None if tiny is None else tiny.busy_ns / tiny.kernels,
        launch_gap_ns=_launch_gap_ns(add),
        replay=replay,
    )


def queued_gap_ns(spans: Sequence[Span], queued: int, launching_ns: float) -> float | None:
    """The median gap between the last `queued` kernels, which took the host `launching_ns` to launch.

    None where the kernels before them were over by then, so that the device may have waited for the host; where there
    are none before them; and where the gap came out as zero or negative.
    """
    ordered = sorted(spans, key=lambda span: span.start_ns)
    before, after = ordered[:-queued], ordered[-queued:]
    if not before or len(after) < 2 or before[-1].end_ns - before[0].start_ns <= launching_ns:
        return None
    gap_ns = statistics.median(late.start_ns - early.end_ns for early, late in itertools.pairwise(after))
    return gap_ns if gap_ns > 0 else None


def _launch_gap_ns(add: Callable[[], object]) -> float | None:
    """Small kernels launched while the device is busy with long ones: they then follow as closely as they can."""
    if not can_profile():
        return None
    left, right = torch.randn(2, _BLOCK_SIDE, _BLOCK_SIDE, device="cuda", dtype=torch.float32).unbind()
    result = torch.empty_like(left)
    torch.mm(left, right, out=result)
    add()
    torch.cuda.synchronize()
    # As TF32 the products would be over too soon.
    with tf32(False), profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        start_ns = time.perf_counter_ns()
        for _ in range(_BLOCK_CALLS):
            torch.mm(left, right, out=result)
        for _ in range(_QUEUED):
            add()
        launching_ns = time.perf_counter_ns() - start_ns
        torch.cuda.synchronize()
    return queued_gap_ns(kernel_spans(recorded), _QUEUED, launching_ns)


def _launch_ns(add: Callable[[], object]) -> float:
    samples = []
    for _ in range(_LAUNCH_BATCHES):
        torch.cuda.synchronize()
        samples.append(host_ns_per_call(add, batch=_LAUNCH_BATCH, batches=1))
    torch.cuda.synchronize()
    return statistics.median(samples)
