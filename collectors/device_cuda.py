"""Measures a CUDA device with device events: dense matrix peaks, memory bandwidth. Launches: device_launch."""

from __future__ import annotations

import contextlib
import statistics
import warnings
from collections.abc import Callable, Iterator
from typing import Final

import torch

from analyzer.core.device import Device, Peak, Source
from collectors.device_cpu import empty_op_ns
from collectors.device_launch import measure_launches

_SIDES: Final = (4096, 8192)
"""Square products of these sides fill every GPU up to an H200 (132 multiprocessors); the better one counts."""

_WARMUPS: Final = 3
_REPEATS: Final = 11
"""Odd, so that the median is one of the samples."""

_COPY_BYTES: Final = 2**30
_CACHES_PER_BUFFER: Final = 8
"""A buffer of 8 times the L2 cache leaves at most an eighth of it in the cache for the next copy."""
_COPY_SHARE: Final = 0.25
"""Of the free memory, at most, for each of the two buffers."""

_DTYPES: Final = (
    ("float32", torch.float32, False),
    ("tf32", torch.float32, True),
    ("bfloat16", torch.bfloat16, False),
    ("float16", torch.float16, False),
)
"""Label of the peak, dtype of the operands, whether TF32 is allowed."""


def measure_cuda(name: str) -> Device:
    """The current CUDA device, in about ten seconds. Memory taken is given back to the driver."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    l2_bytes = getattr(properties, "L2_cache_size", 0) or None
    _spin_up()
    peaks = tuple(peak for label, dtype, tf32 in _DTYPES if (peak := _peak(label, dtype, tf32)) is not None)
    bandwidth = _copy_rate(l2_bytes)
    torch.cuda.empty_cache()
    launches = measure_launches()
    empty_op = empty_op_ns("cuda")
    torch.cuda.empty_cache()
    return Device(
        kind="cuda",
        name=name,
        source=Source.MEASURED,
        peaks=peaks,
        memory_bytes_per_s=bandwidth,
        memory_bytes=properties.total_memory,
        l2_bytes=l2_bytes,
        launch_ns=launches.launch_ns,
        kernel_gap_ns=launches.kernel_gap_ns,
        replay_ns=launches.replay_ns,
        empty_kernel_ns=launches.empty_kernel_ns,
        empty_op_ns=empty_op,
    )


@contextlib.contextmanager
def tf32(is_allowed: bool) -> Iterator[None]:
    """TF32 in float32 matrix products on CUDA, on or off, and every precision setting as it was afterwards.

    Torch keeps two sets of settings, and raises in `torch.get_float32_matmul_precision` and in cuBLAS when they
    disagree. The older setter changes both; the newer ones are then put back one by one.
    """
    cuda, onednn = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before_cuda, before_onednn = cuda.fp32_precision, onednn.fp32_precision
    before = float32_matmul_precision()
    with warnings.catch_warnings():
        # Newer releases warn of the older setter, which this needs for the reason above.
        warnings.simplefilter("ignore")
        cuda.allow_tf32 = is_allowed
        try:
            yield
        finally:
            # Where the user's settings disagreed, the older one was the opposite of the newer.
            opposite = "highest" if before_cuda == "tf32" else "high"
            torch.set_float32_matmul_precision(before or opposite)
            onednn.fp32_precision = before_onednn
            cuda.fp32_precision = before_cuda


def float32_matmul_precision() -> str | None:
    """`torch.get_float32_matmul_precision()`; None where torch refuses to say, its two sets of settings disagreeing."""
    try:
        return str(torch.get_float32_matmul_precision())
    except RuntimeError:
        return None


def _spin_up() -> None:
    """Some tens of milliseconds of work: an idle GPU takes that long to raise its clocks."""
    side = _SIDES[0]
    left, right = torch.randn(2, side, side, device="cuda", dtype=torch.float16).unbind()
    for _ in range(100):
        torch.mm(left, right)
    torch.cuda.synchronize()


def _peak(label: str, dtype: torch.dtype, is_tf32: bool) -> Peak | None:
    """The best median rate over the sides (a product of side n has 2 n³ operations); None where none fits."""
    with tf32(is_tf32):
        rates = [rate for side in _SIDES if (rate := _matrix_rate(side, dtype)) is not None]
    return Peak(label, max(rates)) if rates else None


def _matrix_rate(side: int, dtype: torch.dtype) -> float | None:
    try:
        # Random, not zero: on an H200 a bfloat16 product of zeros ran 13 % faster than one of random data.
        left = torch.randn(side, side, device="cuda", dtype=torch.float32).to(dtype)
        right = torch.randn(side, side, device="cuda", dtype=torch.float32).to(dtype)
        result = torch.empty(side, side, device="cuda", dtype=dtype)
    except torch.cuda.OutOfMemoryError:
        return None
    return 2 * side**3 / _median_ns(lambda: torch.mm(left, right, out=result)) * 1e9


def _copy_rate(l2_bytes: int | None) -> float | None:
    """Bytes read plus bytes written a second, by the faster of the driver's copy and a pointwise kernel.

    None where the free memory does not hold two buffers that dwarf the L2 cache.
    """
    least = _CACHES_PER_BUFFER * (l2_bytes or 0)
    free_bytes, _ = torch.cuda.mem_get_info()
    size = min(max(_COPY_BYTES, least), int(free_bytes * _COPY_SHARE))
    if size < max(least, 4):
        return None
    source = torch.randn(size // 4, device="cuda", dtype=torch.float32)
    target = torch.empty_like(source)
    fastest_ns = min(
        _median_ns(lambda: target.copy_(source)),
        _median_ns(lambda: torch.mul(source, 2.0, out=target)),
    )
    return 2 * source.nbytes / fastest_ns * 1e9


def _median_ns(call: Callable[[], object]) -> float:
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


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
