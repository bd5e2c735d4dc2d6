"""How busy a matrix product keeps shared memory, which feeds the matrix units, beside those. Judges nothing."""

from __future__ import annotations

import re
from typing import Final

_NVJET: Final = re.compile(
    r"nvjet_sm90_[a-z]+_(?P<first>\d+)x(?P<second>\d+)_\d+x\d+_(?:(?:\w+_)?coop(?P<split>[AB])(?:_|$))?"
)
"""cuBLAS's kernels for Hopper name their tile, `320x128`, and which operand two warp groups share out among them; where
they share none each has a tile of its own. Either side of a tile may be the rows of its instructions, as its transpose
is the product of the operands turned round: one that is a multiple of ROWS, and the longer of two. So the counters have
it of those tiles of which each would give another figure: 1.03 to 1.05 of `128x192` by `coopB` and 0.76 of `128x256` by
`coopA` (1.0 and 0.75 by the longer side, 0.83 and 0.63 by the first)."""

_XMMA: Final = re.compile(
    r"sm90_xmma_(?P<kind>gemm|fprop)_\w*?tilesize(?P<rows>\d+)x(?P<columns>\d+)x\d+_warpgroupsize\d+x(?P<groups>\d+)x\d+"
)
"""Those of cuDNN, and older ones of cuBLAS, name how many warp groups the tile is shared out among, by rows and by
columns."""

_TRANSPOSED: Final = re.compile(r"sm90_xmma_gemm_(?!f16|bf16)\w*?_(?P<left>[nt])(?P<right>[nt])_[nt]_tilesize")
"""Numbers of other than 16 bits are multiplied from rows along the inner dimension alone (PTX ISA, `wgmma`: transposing
is for .f16 and .bf16), so that a kernel for another layout than `tn` turns its tiles first."""
TURNED_BYTES: Final = 2
"""For each byte of an operand that is turned: it is read from shared memory and written there again."""

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
    they share out B, keep shared memory as busy as the matrix units, and 128 columns three quarters of it. Storing the
    result comes on top (`costs.tiled`). An H200's counters say 1.01 to 1.07 of the former (8192³: 95 and 93 %) and 0.77
    to 0.84 of the latter. Operands that are turned come on top: of TF32 0.77 for `nn` of 128 × 256 (0.88 here), 1.39
    for `nt` of the same (1.38).
    """
    columns = _columns(kernel)
    if not columns:
        return None
    read_clocks = (ROWS + columns) * DEPTH_BYTES / SHARED_BYTES_A_CLOCK
    return read_clocks / (columns / COLUMNS_A_CLOCK) + _turned_over_matrix(kernel)


def is_turned(kernel: str) -> bool:
    """Whether a kernel turns tiles in shared memory before it multiplies them. How it does so its name does not tell,
    so that `shared_over_matrix` is an estimate of it.
    """
    layout = _TRANSPOSED.search(kernel)
    return layout is not None and layout["left"] + layout["right"] != "tn"


def _turned_over_matrix(kernel: str) -> float:
    """A tile of R rows and C columns takes R / 64 × C / 2 clocks for DEPTH_BYTES of each."""
    tile, layout = _XMMA.search(kernel), _TRANSPOSED.search(kernel)
    if tile is None or layout is None:
        return 0.0
    rows, columns = int(tile["rows"]), int(tile["columns"])
    turned = (rows if layout["left"] == "n" else 0) + (columns if layout["right"] == "t" else 0)
    clocks = TURNED_BYTES * turned * DEPTH_BYTES / SHARED_BYTES_A_CLOCK
    return clocks / (rows / ROWS * columns / COLUMNS_A_CLOCK)


def _columns(kernel: str) -> int | None:
    """Of one instruction."""
    nvjet, xmma = _NVJET.search(kernel), _XMMA.search(kernel)
    if nvjet is not None:
        short, long = sorted((int(nvjet["first"]), int(nvjet["second"])))
        columns = long if long % ROWS and not short % ROWS else short
        return columns // (WARP_GROUPS if nvjet["split"] == "B" else 1)
    if xmma is not None:
        return int(xmma["columns"]) // int(xmma["groups"])
    return None
