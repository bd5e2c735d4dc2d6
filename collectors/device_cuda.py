"""Measures a CUDA device: puts together products, memory and launches, timed with device events."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Final

import torch

from analyzer.core.device import VECTOR, Device, Peak, Source
from collectors.device_cpu import empty_op_ns
from collectors.device_launch import LaunchCosts, measure_launches
from collectors.device_products import measure_products
from collectors.device_rates import Chip, Rates, measure_rates, triton_kernels

REPLAY_UNKNOWN: Final = (
    "what a CUDA graph costs came out as noise, so that none is foretold: analyze doctor --renew on an idle machine"
)

_ON: Final = "cuda"

_WARMUPS: Final = 3
_REPEATS: Final = 11
"""Odd, so that the median is one of the samples."""

_SPIN_SIDE: Final = 4096
_SPIN_CALLS: Final = 100


def measure_cuda(name: str) -> Device:
    """The current CUDA device, in about ten seconds. Memory taken is given back to the driver."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    l2_bytes = getattr(properties, "L2_cache_size", 0) or None
    _spin_up()
    products = measure_products(_ON, median_ns)
    torch.cuda.empty_cache()
    rates, kernels_note = _rates(properties.multi_processor_count, l2_bytes)
    torch.cuda.empty_cache()
    empty_op = empty_op_ns(_ON)  # before the profiler runs
    launches = measure_launches()
    torch.cuda.empty_cache()
    vector = () if rates.vector_flops_per_s is None else (Peak(VECTOR, rates.vector_flops_per_s),)
    return Device(
        kind="cuda",
        name=name,
        source=Source.MEASURED,
        peaks=(*products.peaks, *vector),
        memory_bytes_per_s=rates.copy_bytes_per_s,
        read_bytes_per_s=rates.read_bytes_per_s,
        memory_bytes=properties.total_memory,
        l2_bytes=l2_bytes,
        l2_bytes_per_s=rates.l2_bytes_per_s,
        launch_ns=launches.launch_ns,
        launch_gap_ns=launches.launch_gap_ns,
        kernel_gap_ns=launches.replay.gap_ns,
        replay_ns=launches.replay.replay_ns,
        replay_host_ns=launches.replay.host_ns,
        replay_input_ns=launches.replay.input_ns,
        empty_kernel_ns=launches.empty_kernel_ns,
        empty_op_ns=empty_op,
        notes=(*products.notes, *(() if kernels_note is None else (kernels_note,)), *launch_notes(launches)),
    )


def launch_notes(launches: LaunchCosts) -> tuple[str, ...]:
    """What is not known although the profiler shows kernels: the host was too busy."""
    if launches.empty_kernel_ns is None or launches.replay.gap_ns is not None:
        return ()
    return (REPLAY_UNKNOWN,)


def median_ns(call: Callable[[], object]) -> float:
    """Device time of one call between two events, the median of several. Meant for calls of 0.1 ms and more."""
    for _ in range(_WARMUPS):
        call()
    pairs = [(_event(), _event()) for _ in range(_REPEATS)]
    for start, end in pairs:
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(float(start.elapsed_time(end)) * 1e6 for start, end in pairs)


def _rates(multiprocessors: int, l2_bytes: int | None) -> tuple[Rates, str | None]:
    kernels, note = triton_kernels(_ON)
    free_bytes, _ = torch.cuda.mem_get_info()
    return measure_rates(Chip(_ON, multiprocessors, l2_bytes, free_bytes), kernels, median_ns), note


def _spin_up() -> None:
    """Some tens of milliseconds of work: an idle GPU takes that long to raise its clocks."""
    left, right = torch.randn(2, _SPIN_SIDE, _SPIN_SIDE, device=_ON, dtype=torch.float16).unbind()
    for _ in range(_SPIN_CALLS):
        torch.mm(left, right)
    torch.cuda.synchronize()


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
