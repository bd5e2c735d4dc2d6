"""The same work with half the bytes or half the arithmetic: `python -m benchmarks.verdicts.scaling`.

Where memory bounds, time follows the bytes; where arithmetic does, the operations; where neither does, nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
import torch.nn.functional as F

from analyzer.core.samples import Samples
from benchmarks.verdicts.compiling import WatchedCompiler
from benchmarks.verdicts.place import SMALL_SIDE, Call, Place
from benchmarks.verdicts.recorded import Scaled, ScaledRuns, TracedBatch
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import write
from benchmarks.verdicts.tracing import Ready, make_ready, record, wait

F32, BF16 = torch.float32, torch.bfloat16
FILE: Final = "scaling.json.gz"
TRACE: Final = "traces/scaling.trace.json.gz"
ROUNDS: Final = 15
LEAST_NS: Final = 400_000
"""A timed stretch of calls lasts at least so long: the events around it resolve 0.5 µs."""
MOST_CALLS: Final = 200
SLEEP_CYCLES: Final = 8_000_000
"""About 4 ms at an H200's 1.98 GHz: enough to queue MOST_CALLS launches of up to 20 µs behind it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """`before` and `after` build the two; the ratios of their arithmetic and traffic come from their sizes."""

    name: str
    before: Callable[[Place], Call]
    after: Callable[[Place], Call]
    flops_ratio: float
    bytes_ratio: float


def _mm(name: str, first: tuple[int, int, int], second: tuple[int, int, int]) -> Pair:
    def build(sizes: tuple[int, int, int]) -> Callable[[Place], Call]:
        m, k, n = sizes
        return lambda p: p.call(torch.mm, p.randn(m, k, dtype=BF16), p.randn(k, n, dtype=BF16))

    def traffic(m: int, k: int, n: int) -> int:
        return m * k + k * n + m * n

    work = [m * k * n for m, k, n in (first, second)]
    return Pair(name, build(first), build(second), work[1] / work[0], traffic(*second) / traffic(*first))


def _pointwise(name: str, function: Callable[..., Any], sizes: tuple[int, int], dtypes: Sequence[torch.dtype]) -> Pair:
    """Operations follow the number of elements, bytes also the type."""

    def build(size: int, dtype: torch.dtype) -> Callable[[Place], Call]:
        return lambda p: p.call(function, p.randn(size, dtype=dtype))

    elements = sizes[1] / sizes[0]
    narrower = dtypes[1].itemsize / dtypes[0].itemsize
    return Pair(name, build(sizes[0], dtypes[0]), build(sizes[1], dtypes[1]), elements, elements * narrower)


def _rows_sum(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1, min(1024, x.shape[0])).sum(-1)


def _attention(length: int) -> Callable[[Place], Call]:
    def build(p: Place) -> Call:
        q, k, v = (p.randn(4, 16, length, 64, dtype=BF16) for _ in range(3))
        return p.call(F.scaled_dot_product_attention, q, k, v)

    return build


def _conv(channels: int) -> Callable[[Place], Call]:
    def build(p: Place) -> Call:
        x, weight = p.randn(64, channels, 28, 28, dtype=BF16), p.randn(256, channels, 3, 3, dtype=BF16)
        last = torch.channels_last
        return p.call(lambda x, w: F.conv2d(x, w, padding=1), x.to(memory_format=last), weight.to(memory_format=last))

    return build


_M: Final = 1 << 20

PAIRS: Final = (
    _pointwise("add_fp32_to_bf16", lambda x: x + 1, (128 * _M, 128 * _M), (F32, BF16)),
    _pointwise("gelu_fp32_to_bf16", F.gelu, (128 * _M, 128 * _M), (F32, BF16)),
    _pointwise("relu_half_the_elements", torch.relu, (256 * _M, 128 * _M), (F32, F32)),
    _pointwise("clone_half", torch.clone, (256 * _M, 128 * _M), (F32, F32)),
    _pointwise("clone_tiny_half", torch.clone, (2048, 1024), (F32, F32)),
    _pointwise("sum_rows_fp32_to_bf16", _rows_sum, (128 * _M, 128 * _M), (F32, BF16)),
    _mm("mm_8192_half_k", (8192, 8192, 8192), (8192, 4096, 8192)),
    _mm("mm_4096_half_m", (4096, 4096, 4096), (2048, 4096, 4096)),
    _mm("mm_16_rows_to_8", (16, 16384, 16384), (8, 16384, 16384)),
    _mm("mm_8_rows_half_n", (8, 16384, 16384), (8, 16384, 8192)),
    _mm("mm_small_half_k", (128, 256, 128), (128, 128, 128)),
    Pair("attention_half_the_length", _attention(4096), _attention(2048), 0.25, 0.5),
    Pair("conv_half_the_channels", _conv(512), _conv(256), 0.5, 0.7),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--budget-s", type=float, required=True)
    arguments = parser.parse_args()
    with torch.no_grad():
        runs = scale(PAIRS, arguments.device, arguments.out, Stopwatch(arguments.budget_s, "scaling"))
    write(runs, arguments.out / FILE)
    return 0


def scale(pairs: Sequence[Pair], device: str, out: Path, watch: Stopwatch) -> ScaledRuns:
    """Times first, for all pairs; the profiler afterwards, for the larger of each."""
    compiler = WatchedCompiler(device)
    place = Place(device, None if device == "cuda" else SMALL_SIDE, compiler)
    found: list[Scaled] = []
    ready: list[Ready] = []
    for pair in pairs:
        ratios = (pair.name, pair.flops_ratio, pair.bytes_ratio, 0)
        try:
            if watch.is_over:
                raise TimeoutError("the budget was spent before it")
            before = make_ready(lambda pair=pair: pair.before(place), device, tf32=False)  # type: ignore[misc]
            after = make_ready(lambda pair=pair: pair.after(place), device, tf32=False)  # type: ignore[misc]
            times = _in_turn(before.call, after.call, device)
        except Exception as error:  # a pair that this device does not have costs itself only
            found.append(Scaled(*ratios, None, error=f"{type(error).__name__}: {error}"[:200]))
            continue
        found.append(Scaled(*ratios, len(ready), *times))
        ready.append(before)
        watch.say(pair.name)
    record(ready, device, compiler, out / TRACE)
    return ScaledRuns(tuple(found), (TracedBatch(TRACE, compiler.graphs()),))


def _in_turn(before: Call, after: Call, device: str) -> tuple[Samples, Samples]:
    once = [_stretch_ns(call, 3, device) for call in (before, after)]
    counts = [min(MOST_CALLS, max(1, int(LEAST_NS / max(ns, 1.0)))) for ns in once]
    times: tuple[list[int], list[int]] = ([], [])
    for _ in range(ROUNDS):
        for own, call, count in zip(times, (before, after), counts, strict=True):
            own.append(round(_stretch_ns(call, count, device)))
    return Samples(tuple(times[0])), Samples(tuple(times[1]))


def _stretch_ns(call: Call, count: int, device: str) -> float:
    """Device time of one call, over `count` of them launched ahead; on a CPU the wall time."""
    if device != "cuda":
        start_ns = time.perf_counter_ns()
        for _ in range(count):
            call.run()
        return (time.perf_counter_ns() - start_ns) / count
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    wait(device)
    # A kernel in front holds the device while the host runs ahead, so that launches do not show.
    torch.cuda._sleep(SLEEP_CYCLES)  # type: ignore[no-untyped-call]
    start.record()
    for _ in range(count):
        call.run()
    end.record()
    wait(device)
    return float(start.elapsed_time(end)) * 1e6 / count


if __name__ == "__main__":
    sys.exit(main())
