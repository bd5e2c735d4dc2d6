"""What the kernels that measure a device reach of its hardware's rates, at which clock, and what a measured bandwidth
makes of traffic. Judges no kernel.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.core.device import VECTOR, Device

REACHED_BY_PRODUCTS: Final = 0.93
REACHED_BY_DTYPE: Final = {"float32": 0.87, "int8": 0.68}
REACHED_BY_VECTORS: Final = 0.98
REACHED_BY_COPIES: Final = 0.91
"""What the kernels that measure a device reach of its hardware's own rates by the counters of an H200: products of
8192³ in bf16, TF32 and fp8 93, 93 and 92 % of the tensor cores' time, in float32 (4096³) 87 % of the issue slots, in
int8, for which cuBLAS takes a kernel made for Ampere, 68 %; copies, reads and fills of 0.5 GB 89 to 92 % of DRAM's
rate. Multiply-adds from registers: 65.7 of 66.9 TFLOP/s at 1.98 GHz."""

HOPPER_MATRIX_RATES: Final = {"bfloat16": 16, "float16": 16, "tf32": 8, "float8_e4m3fn": 32}
"""Dense matrix operations a clock over those in float32 outside the matrix units: 4096, 2048 and 8192 against 256 a
multiprocessor (NVIDIA H100 Tensor Core GPU Architecture). Peaks that kernels for Hopper measure; int8's is not."""

CLOCK_EXPONENT: Final = 0.5
"""A matrix peak is measured under the power limit, at a lower clock than lighter work has: an H200 multiplies bf16 at
1.56 GHz and adds outside the matrix units at 1.98. Dynamic power is activity × clock × voltage², and voltage falls with
the clock: at the limit the clock goes with activity^(-1/3), and so with the work done a second, their product, ^(-1/2).
Nothing here is fitted. Of 53 products on an H200 our share over the counters' had a median of 1.12 and 1.09 in the two
halves of the items without it, and has 1.00 and 0.98 with it."""

HOPPER: Final = re.compile(r"\b(?:H100|H200|H800|H20|GH200)\b")


OPERATIONS_A_MULTIPLY_ADD: Final = 2
"""An instruction of `Kernel.instructions` takes the time of one multiply-add, which a peak counts as two operations."""

HALF_RATE_DOUBLES: Final = re.compile(r"\b(?:V100|A100|A30|H100|H200|H800|GH200)\b")
DOUBLE_SLOTS: Final = 2
"""64 results a clock in double precision against 128 in single, on these (CUDA C++ Programming Guide, "Throughput of
Native Arithmetic Instructions"; a V100: 32 against 64)."""


def clock_rise(device: Device, unit: str | None, share: float) -> float:
    """How many times the clock of the measured peak a kernel runs at that reaches `share` of it; 1.0 where the clocks
    are not known to differ.
    """
    ratio, vector, peak = HOPPER_MATRIX_RATES.get(unit or ""), device.peak(VECTOR), device.peak(unit)
    if ratio is None or vector is None or peak is None or share <= 0.0 or HOPPER.search(device.name) is None:
        return 1.0
    most = ratio * vector / REACHED_BY_VECTORS / (peak / REACHED_BY_PRODUCTS)
    return float(max(1.0, min(most, share**-CLOCK_EXPONENT)))


def clock_fall(device: Device, unit: str | None, share: float) -> float:
    """How many times lower than the highest clock a kernel's is that reaches `share` of a matrix peak; 1.0 as above."""
    little = 1e-9  # what reaches next to nothing has the highest
    return clock_rise(device, unit, little) / clock_rise(device, unit, max(share, little))


def memory_ns(device: Device, moved: float, read: float | None) -> float:
    """What moving so many bytes takes at the measured rates, `read` of them read, None where that is not known.

    A copy reads and writes as much: its rate and that of reading alone give that of writing between readings. What
    writes alone runs as fast as what reads alone, as memory need not turn around (a fill of 512 MB: 4.7 TB/s on an H200
    that reads at 4.5 and copies at 4.3).
    """
    copying, reading = device.memory_bytes_per_s, device.read_bytes_per_s
    if not copying:
        return 0.0
    if device.kind != "cpu" and read is not None and reading and read <= 0.0:
        return moved / max(reading, copying) * 1e9
    if read is not None and reading and reading > copying / 2:
        writing_s = 2 / copying - 1 / reading
        return (read / reading + (moved - read) * writing_s) * 1e9
    return moved / copying * 1e9


def instruction_ns(instructions: float | None, dtype: str | None, device: Device) -> float | None:
    """At the rate outside the matrix units; where that was not measured, at that of float32 products, which is some
    10 to 20 % lower where they run outside of them too. None for double precision where its rate is not known.
    """
    if instructions is None:
        return None
    if dtype == "float64" and not HALF_RATE_DOUBLES.search(device.name):
        return None
    return slots_ns(instructions * (DOUBLE_SLOTS if dtype == "float64" else 1), device)


def slots_ns(slots: float, device: Device) -> float | None:
    """None where no rate outside the matrix units is known."""
    rate = device.peak(VECTOR) or device.peak("float32")
    return slots * OPERATIONS_A_MULTIPLY_ADD / rate * 1e9 if rate is not None else None
