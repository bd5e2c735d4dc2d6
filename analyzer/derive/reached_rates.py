"""What the kernels that measure a device reach of its hardware's rates, and at which clock. Judges no kernel."""

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


def clock_rise(device: Device, unit: str | None, share: float) -> float:
    """How many times the clock of the measured peak a kernel runs at that reaches `share` of it; 1.0 where the clocks
    are not known to differ.
    """
    ratio, vector, peak = HOPPER_MATRIX_RATES.get(unit or ""), device.peak(VECTOR), device.peak(unit)
    if ratio is None or vector is None or peak is None or share <= 0.0 or HOPPER.search(device.name) is None:
        return 1.0
    most = ratio * vector / REACHED_BY_VECTORS / (peak / REACHED_BY_PRODUCTS)
    return float(max(1.0, min(most, share**-CLOCK_EXPONENT)))
