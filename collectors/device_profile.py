"""Calls on a CUDA device: their kernels as the profiler shows them, and their wall time on an idle device."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch.autograd import DeviceType  # type: ignore[attr-defined]
from torch.profiler import ProfilerActivity, profile, supported_activities

WALL_REPEATS: Final = 31
WARM_CALLS: Final = 5
"""A compiled call under CUDA graphs warms up, records, and replays from the third call on."""
_PROFILED_CALLS: Final = 5

_GRAPH_LAUNCH: Final = "cudaGraphLaunch"
_NO_KERNEL: Final = ("Memcpy", "Memset")


@dataclass(frozen=True, slots=True)
class Profiled:
    """The kernels of one call, and whether a CUDA graph launched them."""

    kernels: float
    busy_ns: float
    is_replay: bool


@dataclass(frozen=True, slots=True)
class Span:
    """One kernel on the profiler's clock."""

    start_ns: float
    end_ns: float


def profile_calls(call: Callable[[], object], calls: int = _PROFILED_CALLS) -> Profiled | None:
    """The kernels of one call, as the mean over `calls`; None where the profiler shows none (no rights, no CUPTI)."""
    if not can_profile():
        return None
    call()
    torch.cuda.synchronize()
    # One cycle, so nothing adds up; without `acc_events` torch 2.11 warns, to the user's stderr.
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    spans = kernel_spans(recorded)
    if not spans:
        return None
    return Profiled(
        kernels=len(spans) / calls,
        busy_ns=sum(span.end_ns - span.start_ns for span in spans) / calls,
        is_replay=any(event.name.startswith(_GRAPH_LAUNCH) for event in recorded.events() or []),
    )


def can_profile() -> bool:
    return ProfilerActivity.CUDA in supported_activities()  # type: ignore[no-untyped-call]


def kernel_spans(recorded: profile) -> list[Span]:
    """The kernels of a recording, without copies and memsets."""
    return [
        Span(event.time_range.start * 1e3, event.time_range.end * 1e3)
        for event in recorded.events() or []  # type: ignore[no-untyped-call]
        if event.device_type == DeviceType.CUDA
        and not event.is_user_annotation
        and not event.name.startswith(_NO_KERNEL)
    ]


def replay_ns(call: Callable[[], object], kernels: int) -> float | None:
    """What the device is at the last `kernels` kernels of a call, on the profiler's clock: the median of several calls.

    Only the last, for the inputs of a CUDA graph are copied by kernels of their own, before the host launches it. None
    where the profiler shows fewer, or not the same in each call.
    """
    if not can_profile():
        return None
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as recorded:
        for _ in range(_PROFILED_CALLS):
            call()
            torch.cuda.synchronize()
    return last_kernels_ns(kernel_spans(recorded), _PROFILED_CALLS, kernels)


def last_kernels_ns(spans: Sequence[Span], calls: int, kernels: int) -> float | None:
    """From the start of the first of the last `kernels` kernels of a call to the end of its last, the median."""
    ordered = sorted(spans, key=lambda span: span.start_ns)
    each, rest = divmod(len(ordered), calls)
    if rest or not 0 < kernels <= each:
        return None
    pairs = zip(ordered[each - kernels :: each], ordered[each - 1 :: each], strict=True)
    return statistics.median(last.end_ns - first.start_ns for first, last in pairs)


def walls_ns(calls: Sequence[Callable[[], object]]) -> list[float]:
    """From each call on an idle device to synchronised, in ns, the median; all taken in turn: a host that slows down
    for a second slows each of them.
    """
    samples: list[list[int]] = [[] for _ in calls]
    for _ in range(WARM_CALLS + WALL_REPEATS):
        for call, taken in zip(calls, samples, strict=True):
            torch.cuda.synchronize()
            start_ns = time.perf_counter_ns()
            result = call()
            torch.cuda.synchronize()
            taken.append(time.perf_counter_ns() - start_ns)
            del result
    return [statistics.median(taken[WARM_CALLS:]) for taken in samples]
