"""How busy a matrix product keeps shared memory, which feeds the matrix units, beside those. Judges nothing."""

from __future__ import annotations

import re
from typing import Final

_COOPERATIVE: Final = re.compile(r"nvjet_sm90_[a-z]+_\d+x(?P<columns>\d+)_\d+x\d+_(?:\w+_)?coop(?P<split>[AB])(?:_|$)")
"""cuBLAS's kernels for Hopper name their tile, `320x128`, and which operand two warp groups share out among them."""

WARP_GROUPS: Final = 2
ROWS: Final = 64
"""Rows of one `wgmma`, of whichever type (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions": m64nNkK)."""
DEPTH_BYTES: Final = 32
"""Of K in one `wgmma`, of whichever dense type (the same: k8 of TF32, k16 of bf16, k32 of fp8)."""
SHARED_BYTES_A_CLOCK: Final = 128
"""32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory", compute capability 9.0)."""
COLUMNS_A_CLOCK: Final = 2
"""A `wgmma` of N columns takes N / 2 clocks: 64 × N × 16 multiply-adds of bf16 at 2,048 a clock and multiprocessor (989
TFLOP/s dense, 132 of them, 1.83 GHz: H100 white paper), and as many for the other types."""


def shared_over_matrix(kernel: str) -> float | None:
    """The time that reading both operands from shared memory takes, over that of multiplying them; None where the
    kernel's name does not tell its instructions.

    A group reads its 64 rows and all its columns for each instruction: 64 columns, which two groups make of 128 where
    they share out B, keep shared memory as busy as the matrix units, and 128 columns three quarters of it. What it
    writes and reads beside, loading the tiles and storing the result, comes on top: at 1.0 shared memory is the nearer
    to its peak. An H200's counters say 1.01 to 1.07 of the former (8192³: 95 and 93 %) and 0.77 to 0.84 of the latter.
    """
    found = _COOPERATIVE.search(kernel)
    if found is None:
        return None
    columns = int(found["columns"]) // (WARP_GROUPS if found["split"] == "B" else 1)
    read_clocks = (ROWS + columns) * DEPTH_BYTES / SHARED_BYTES_A_CLOCK
    return read_clocks / (columns / COLUMNS_A_CLOCK) if columns else None
