"""What products in tiles outside the matrix units ask of the issue slots and of the load/store units.

Both are counted by warp: a warp's part of the tile is shared out among its 32 threads, each multiplies the numbers of
its rows by those of its columns, and loads both from shared memory for each step along the inner dimension.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tiled import LINE_BYTES, SUM_BYTES, WARP, in_tiles, sizes_of

_PLAIN: Final = re.compile(
    r"sm80_xmma_gemm_f32f32_f32f32_f32_(?P<layout>[nt]{2})_\w*?tilesize(?P<rows>\d+)x(?P<columns>\d+)x(?P<depth>\d+)_"
    r"(?:\w*?warpsize(?P<down>\d+)x(?P<over>\d+)x1_ffma)?"
)

FLOAT_BYTES: Final = 4
LOADED_BYTES: Final = 16
"""Of one load from shared memory. What it gives crosses to the registers 128 bytes a clock, however many threads ask
for the same."""

LONG_SIDE_THREADS: Final = 8
"""Of a warp, along the longer side of its part of the tile, and four along the other (CUTLASS,
`simt_get_warp_threads_m` in `default_mma_core_simt.h`)."""

STEP_SLOTS: Final = 45
COPY_SLOTS: Final = 3
END_SLOTS: Final = 330
OUTPUT_SLOTS: Final = 15
"""Instructions of a warp beside its multiply-adds and loads: of a step, of each number that a thread copies to shared
memory in it (one by one, by `cp.async` of 4 bytes), of a block, and of each output of a thread. Fitted to the issue
slots that an H200's counters say of the 9 such products of over 5 µs in the first two recordings, in tiles of 32 × 32
to 256 × 128 (ours are 0.97 to 1.02 of theirs); of 14 in two later ones, of 13 to 512 numbers, ours are 0.98 to 1.02 of
theirs, and 1.04 and 1.1 where the inner dimension is split: sums that others will add up are stored as they are."""

TOLD_LAYOUT: Final = "tn"
"""Of which the load/store units' time is 0.90 to 1.09 of the counters' (17 products of over 5 µs). Other operands lie
in shared memory in a way that the name does not tell: of `nn` it would be 1.01 to 1.19 of theirs."""


@dataclass(frozen=True, slots=True)
class _Warps:
    """A tile and the warps that share it out: `down` along its rows, `over` along its columns."""

    rows: int
    columns: int
    depth: int
    down: int
    over: int

    @property
    def count(self) -> int:
        return self.down * self.over

    @property
    def own(self) -> tuple[int, int]:
        """Rows and columns of a thread."""
        rows, columns = self.rows // self.down, self.columns // self.over
        threads = LONG_SIDE_THREADS if rows > columns else WARP // LONG_SIDE_THREADS
        return rows // threads, columns // (WARP // threads)

    @property
    def copies(self) -> float:
        """Of a thread, a step: both operands, number by number."""
        return (self.rows + self.columns) * self.depth / (WARP * self.count)

    def slots(self, steps: int, blocks: int) -> float:
        """Of all lanes, for so many steps of a tile in so many blocks."""
        rows, columns = self.own
        loads = (rows + columns) * FLOAT_BYTES / LOADED_BYTES
        a_step = self.depth * (rows * columns + loads) + STEP_SLOTS + COPY_SLOTS * self.copies
        at_the_end = END_SLOTS + OUTPUT_SLOTS * rows * columns
        return WARP * self.count * (steps * a_step + blocks * at_the_end)

    def wavefronts(self, steps: int, blocks: int, filled: float) -> float:
        """`filled` is the part of the tiles' outputs that there are: the rest is neither copied nor stored. Sums go
        into shared memory, out again, and to the L1.
        """
        rows, columns = self.own
        loaded = self.count * self.depth * (rows + columns) * WARP * FLOAT_BYTES
        copied = WARP * self.count * self.copies * FLOAT_BYTES * math.sqrt(filled)
        stored = self.rows * self.columns * SUM_BYTES * (2 + filled)
        return (steps * (loaded + copied) + blocks * stored) / LINE_BYTES


def product(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A product by multiply-adds of float32, of which whole tiles are multiplied too. Where its inner dimension is
    split there are so many more blocks, and another kernel adds up their parts.
    """
    found, sizes = _PLAIN.search(kernel.name), sizes_of(detail, whole, kernel.name)
    if found is None or sizes is None:
        return None
    rows, columns, depth = (int(found[name]) for name in ("rows", "columns", "depth"))
    tiles = sizes.tiles(rows, columns)
    steps = tiles * sizes.steps(depth)
    done = 2 * steps * rows * columns * depth
    if found["down"] is None:
        return in_tiles(whole, done, None)
    warps = _Warps(rows, columns, depth, int(found["down"]), int(found["over"]))
    blocks = max(tiles, kernel.launch.blocks if kernel.launch is not None else 0)
    near = None
    if found["layout"] == TOLD_LAYOUT:
        near = warps.wavefronts(steps, blocks, sizes.outputs / (tiles * rows * columns))
    return replace(in_tiles(whole, done, near), issued=round(warps.slots(steps, blocks)))
