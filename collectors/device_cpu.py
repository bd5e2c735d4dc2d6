"""Measures a CPU at torch's current number of threads: arithmetic, memory bandwidth, the cost of an operation."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

import numpy as np
import torch

from analyzer.core.device import VECTOR, Device, Peak, Source
from collectors.compiler import find_compiler, inductor_compilers
from collectors.device_cpu_cache import last_level_bytes
from collectors.device_cpu_vector import vector_rate

_SIZES: Final = (512, 1024, 1536, 2048, 3072, 4096)
"""Sides of square products, tried upwards; rates level off once a product takes some tens of milliseconds."""

_REPEATS: Final = 6
"""The first one warms up."""
_CALL_S: Final = 0.2
"""A product expected to take longer is not tried: three dtypes and the copies must fit into some three seconds."""
_SIZE_S: Final = 0.4
"""Time after which a size is not repeated again."""

_BUFFER_BYTES: Final = 256 * 2**20
"""Larger than the last-level cache of one socket of any server at hand (EPYC 7003: up to 256 MB, with two buffers)."""
_CACHES_PER_BUFFER: Final = 4
"""Where the last-level cache is known, a buffer is at least so many times as large."""
_BUFFER_SHARE: Final = 1 / 16
"""Of the memory, at most, for each of the two buffers."""

_OP_BATCH: Final = 200
_OP_BATCHES: Final = 25

_DTYPES: Final = (("float32", torch.float32), ("bfloat16", torch.bfloat16), ("float16", torch.float16))
_NO_COMPILER: Final = "no C++ compiler that builds here: the rate outside matrix products is unknown"


def measure_cpu(name: str) -> Device:
    """Three to four seconds of work on the threads torch uses now."""
    memory, threads = _memory_bytes(), torch.get_num_threads()
    cache = last_level_bytes(threads)
    matrix = tuple(Peak(label, _matrix_rate(dtype)) for label, dtype in _DTYPES)
    vector = _vector_peak(threads)
    source = torch.ones(_buffer_bytes(memory, cache) // 4, dtype=torch.float32)
    return Device(
        kind="cpu",
        name=name,
        source=Source.MEASURED,
        peaks=(*matrix, *vector),
        memory_bytes_per_s=_copy_rate(source),
        read_bytes_per_s=_read_rate(source),
        memory_bytes=memory,
        l2_bytes=cache,
        empty_op_ns=empty_op_ns("cpu"),
        threads=threads,
        notes=() if vector else (_NO_COMPILER,),
    )


def empty_op_ns(device: str) -> float:
    """Host time of one `torch.add` of two empty tensors, in nanoseconds: Python call, dispatcher, allocation of the
    result, no work.
    """
    empty = torch.empty(0, device=device, dtype=torch.float32)
    return host_ns_per_call(lambda: torch.add(empty, empty), batch=_OP_BATCH, batches=_OP_BATCHES)


def host_ns_per_call(call: Callable[[], object], *, batch: int, batches: int) -> float:
    """The mean host time of `call` in a batch, the lower quartile over `batches`, in nanoseconds.

    The quartile, because interruptions only ever add: on a busy two-core machine the median of the same loop went
    from 1.4 to 2.7 µs. A first batch warms up.
    """
    samples = []
    for _ in range(batches + 1):
        start_ns = time.perf_counter_ns()
        for _ in range(batch):
            call()
        samples.append((time.perf_counter_ns() - start_ns) / batch)
    return float(np.percentile(samples[1:], 25))


def _matrix_rate(dtype: torch.dtype) -> float:
    """The best dense rate over the sizes, in operations a second (a product of side n has 2 n³)."""
    best = 0.0
    for side, larger in zip(_SIZES, (*_SIZES[1:], None), strict=True):
        # Random, not zero: zeros cost less power and can run faster than any real data.
        left, right = torch.randn(2, side, side, dtype=torch.float32).to(dtype).unbind()
        # As a linear layer has its weights: of an emulated type no other product is fast (float16 on an EPYC 7003: 16
        # against 0.6 GFLOP/s).
        right = right if dtype is torch.float32 else right.t()
        result = torch.empty(side, side, dtype=dtype)
        fastest_ns = _fastest_ns(lambda a=left, b=right, c=result: torch.mm(a, b, out=c))  # type: ignore[misc]
        best = max(best, 2 * side**3 / fastest_ns * 1e9)
        if larger is None or fastest_ns * (larger / side) ** 3 > _CALL_S * 1e9:
            break
    return best


def _vector_peak(threads: int) -> tuple[Peak, ...]:
    compiler = find_compiler(inductor_compilers())
    rate = None if compiler is None else vector_rate(compiler.command, threads)
    return () if rate is None else (Peak(VECTOR, rate),)


def _buffer_bytes(memory_bytes: int | None, cache_bytes: int | None) -> int:
    size = max(_BUFFER_BYTES, _CACHES_PER_BUFFER * (cache_bytes or 0))
    return max(size if memory_bytes is None else min(size, int(memory_bytes * _BUFFER_SHARE)), 4)


def _copy_rate(source: torch.Tensor) -> float:
    """Bytes read plus bytes written a second by `copy_`. The line that a store fetches first is not counted."""
    target = torch.zeros_like(source)
    return 2 * source.nbytes / _fastest_ns(lambda: target.copy_(source)) * 1e9


def _read_rate(source: torch.Tensor) -> float:
    """Bytes read a second by the faster of a sum and a maximum: which of them keeps up with memory differs by CPU."""
    return source.nbytes / min(_fastest_ns(lambda: torch.sum(source)), _fastest_ns(lambda: torch.amax(source))) * 1e9


def _fastest_ns(call: Callable[[], object]) -> int:
    """The fastest of a few calls: on a CPU other programs, and warming up, only ever slow a call down."""
    samples: list[int] = []
    while len(samples) < _REPEATS and sum(samples) < _SIZE_S * 1e9:
        start_ns = time.perf_counter_ns()
        call()
        samples.append(max(time.perf_counter_ns() - start_ns, 1))
    return min(samples)


def _memory_bytes() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None
