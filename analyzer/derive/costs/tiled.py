"""What kernels that multiply in tiles by `mma` ask of the load/store units beside the matrix units.

Those units serve one wavefront a clock: 128 bytes of shared memory, or what a warp reads of one line of the L1. How
many there are follows from the tile in the kernel's name and from CUTLASS's sources, of which these kernels are made
(`default_mma_core_sm80.h`, `pitch_linear_thread_map.h`, `default_epilogue_tensor_op.h`; FlashAttention-2's
`kernel_traits.h`). No constant is fitted to a measurement; that a copy straight into shared memory is one wavefront and
not two was chosen by the counters of products in int8.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import item_bytes, shape
from analyzer.derive.shared_memory import shared_over_matrix

LINE_BYTES: Final = 128
"""A line of the L1, and what 32 banks of shared memory give in a clock (CUDA C++ Programming Guide, 9.0)."""
VECTOR_BYTES: Final = 16
"""What a thread loads at once into a tile. Where the matrix is aligned to less it loads these in so many parts."""
SLOTS_A_WAVEFRONT: Final = 128
"""As `instructions` count time: 128 results of the float32 pipes in a clock."""
SUM_BYTES: Final = 4
"""Sums are float32, or int32, and cross shared memory once more on their way out."""
WARP: Final = 32

HALF_BYTES: Final = 2
BLOCK_WARP_SIDE: Final = 32
BIAS_CONFLICTS: Final = 8
"""An accumulator of `mma` has eight rows of four threads each (PTX ISA, m16n8k16), and rows of 64 or 128 keys of a bias
in shared memory begin in the same bank."""

DEFAULT_DEPTH: Final = 32
"""Of a tile whose name does not tell (`cutlass_75_tensorop_f16_s1688gemm_f16_128x128_tn_align1`)."""

_CUTLASS: Final = re.compile(
    r"Kernel2?<cutlass_(?:75_|80_)?tensorop_\w*?(?:s1688|s16816|i16832|i8816)(?P<kind>gemm|fprop)\w*?_(?P<rows>\d+)x(?P<columns>\d+)"
    r"(?:_(?P<depth>\d+)x\d+)?_(?P<layout>[nt]{2}|nhwc)_align(?P<align>\d+)"
)
_HOPPER: Final = re.compile(
    r"(?:nvjet_sm90_[a-z]+_|sm90_xmma_(?:gemm|fprop)_\w*?tilesize)(?P<rows>\d+)x(?P<columns>\d+)[x_](?P<depth>\d+)"
)
MULTIPLIED_BYTES_A_CLOCK: Final = 4096
"""2,048 multiply-adds of 16-bit numbers a clock and multiprocessor, and as many bytes for any other type
(`shared_memory.COLUMNS_A_CLOCK`)."""
_FLASH: Final = re.compile(
    r"flash_fwd_kernel<Flash_fwd_kernel_traits<(?P<width>\d+), ?(?P<rows>\d+), ?(?P<columns>\d+), ?(?P<warps>\d+),"
)


@dataclass(frozen=True, slots=True)
class _Tile:
    """`depth_bytes` are those of one row along the inner dimension; `align` those that are loaded at once."""

    rows: int
    columns: int
    depth: int
    item: int
    align_bytes: int
    warps: int
    layout: str
    is_copied: bool

    @property
    def depth_bytes(self) -> int:
        return self.depth * self.item

    def wavefronts_a_step(self, filled: float) -> float:
        """Of one step along the inner dimension: both operands come to shared memory, and each warp loads what it
        multiplies. `filled` is the part of the tile's rows, and of its columns, that there are. Ampere copies without
        registers between (`cp.async`), line by line; for Turing a load is one thing and the store into shared memory
        another.
        """
        laid = (self.rows + self.columns) * self.depth_bytes / LINE_BYTES
        parts = VECTOR_BYTES / self.align_bytes
        left = self._lines(self.rows, is_along=self.layout[0] == "t")
        right = self._lines(self.columns, is_along=self.layout[1] == "n")
        lines = (left + right) * parts * filled
        brought = max(lines, laid) if self.is_copied else lines + laid
        return brought + self._multiplied() * self.depth_bytes / LINE_BYTES

    def wavefronts_at_the_end(self, out_item: int, filled: float) -> float:
        """The sums into shared memory and out again, in whole rows, and those to the L1."""
        outputs = self.rows * self.columns
        parts = VECTOR_BYTES / max(self.align_bytes, 1)
        return outputs * (2 * SUM_BYTES + out_item * parts * filled) / LINE_BYTES

    def _lines(self, size: int, *, is_along: bool) -> float:
        """Lines that a step loads of an operand: a row's own, where rows lie along the inner dimension."""
        if is_along:
            return size * max(1.0, self.depth_bytes / LINE_BYTES)
        return self.depth * max(1.0, size * self.item / LINE_BYTES)

    def _multiplied(self) -> int:
        """Rows and columns that all warps load, each those of its own part of the tile, which are as near a square as
        there are warps.
        """
        shapes = [(down, self.warps // down) for down in range(1, self.warps + 1) if self.warps % down == 0]
        return min(self.warps * (self.rows // down + self.columns // over) for down, over in shapes)


def product(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A matrix product or a convolution by a kernel of CUTLASS for Ampere or Turing, which cuBLAS takes where a matrix
    is not aligned to 16 bytes, for int8 and for some of TF32, and cuDNN for few channels.
    """
    found, sizes = _CUTLASS.search(kernel.name), sizes_of(detail, whole, kernel.name)
    if found is None or sizes is None or kernel.launch is None:
        return None
    item = item_bytes(detail, sizes.left)
    tile = _Tile(
        rows=int(found["rows"]),
        columns=int(found["columns"]),
        depth=int(found["depth"] or DEFAULT_DEPTH),
        item=item,
        align_bytes=min(VECTOR_BYTES, int(found["align"]) * item),
        warps=max(1, kernel.launch.threads // WARP),
        layout="tn" if found["layout"] == "nhwc" else found["layout"],
        is_copied="cutlass_75_" not in kernel.name,
    )
    tiles, steps = sizes.tiles(tile.rows, tile.columns), sizes.steps(tile.depth)
    filled = sizes.outputs / (tiles * tile.rows * tile.columns)
    ended = tile.wavefronts_at_the_end(round(sizes.out_item), filled)
    wavefronts = tiles * (steps * tile.wavefronts_a_step(math.sqrt(filled)) + ended)
    return in_tiles(whole, 2 * tiles * steps * tile.rows * tile.columns * tile.depth, wavefronts)


def hopper(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A product or a convolution by a kernel for Hopper: `wgmma` reads both operands from shared memory, where they
    came without the load/store units. Sums go out through it, in the output's own type by cuBLAS's newer kernels. A
    kernel that is `indexed` goes over places and channels at once, in a way that its name does not tell.
    """
    found, ratio = _HOPPER.search(kernel.name), shared_over_matrix(kernel.name)
    sizes = sizes_of(detail, whole, kernel.name)
    if found is None or ratio is None or sizes is None or "_indexed" in kernel.name:
        return None
    rows, columns, depth = (int(found[name]) for name in ("rows", "columns", "depth"))
    tiles, multiplied = sizes.tiles(rows, columns), sizes.steps(depth) * rows * columns * depth
    read = ratio * multiplied * item_bytes(detail, sizes.left) / MULTIPLIED_BYTES_A_CLOCK
    kept = sizes.out_item if "nvjet" in kernel.name else SUM_BYTES
    return in_tiles(whole, 2 * tiles * multiplied, tiles * (read + rows * columns * 2 * kept / LINE_BYTES))


ENDS: Final = 4
"""Times that a block's own tile passes the load/store units beside its products: queries are copied to shared memory,
and what they found is stored there, loaded and stored in memory (the epilogues of FlashAttention-2's
`flash_fwd_kernel.h`, and of `flash_bwd_kernel.h` for keys and values)."""


def attention(kernel: str, item: int, pairs: float, blocks: int = 0) -> int | None:
    """Slots of FlashAttention-2 for so many pairs of query and key in whole tiles, over all heads; None for a kernel
    whose name does not tell its tile. Keys and values of a tile are copied to shared memory, each warp loads all of
    them, and its own queries. `blocks` are the thread blocks, one for each tile of queries.
    """
    found = _FLASH.search(kernel)
    if found is None:
        return None
    width, rows, columns, warps = (int(found[name]) for name in ("width", "rows", "columns", "warps"))
    keys_and_values, queries = 2 * columns * width * item, rows * width * item
    moved = keys_and_values + warps * keys_and_values + queries
    through = pairs / (rows * columns) * moved + blocks * ENDS * queries
    return round(through / LINE_BYTES * SLOTS_A_WAVEFRONT)


def efficient_attention(block: tuple[int, int], width: int, tiles: float, *, has_bias: bool) -> int:
    """Slots of the memory-efficient attention for so many blocks of queries and keys of 16 bits, over all heads
    (`kernel_forward.h` in mem_eff_attention of ATen). Each reads its queries again. Warps have 32 × 32 scores, which go
    through shared memory on their way to the second product. A bias does too: each score then loads its own by itself,
    and the eight rows that a warp has at once lie in the same banks.
    """
    queries, keys = block
    item, side = HALF_BYTES, BLOCK_WARP_SIDE
    warps = (queries // side) * (keys // side)
    steps = -(-width // DEFAULT_DEPTH)
    scores = steps * (queries + keys + warps * 2 * side * DEFAULT_DEPTH * item / LINE_BYTES)
    kept = queries * keys * item / LINE_BYTES
    out_warps = (queries // side) * max(1, width // side)
    values = keys * width * item / LINE_BYTES + out_warps * 2 * side * keys * item / LINE_BYTES
    bias = 2 * kept + queries * keys / WARP * BIAS_CONFLICTS if has_bias else 0.0
    return round(tiles * (scores + kept + values + bias) * SLOTS_A_WAVEFRONT)


def in_tiles(whole: Cost, done: int, wavefronts: float | None) -> Cost:
    """The cost of a product that multiplies in whole tiles: `done` operations, `wavefronts` of the load/store units,
    None where they are not known.
    """
    near = None if wavefronts is None else round(wavefronts * SLOTS_A_WAVEFRONT)
    return replace(whole, near=near, is_fed=True, masked_flops=max(0, done - (whole.flops or 0)))


@dataclass(frozen=True, slots=True)
class Sizes:
    """One product: `rows` and `columns` of each of a batch, `places` times `channels` long. `left` is the place of its
    left matrix among the inputs, `out_item` the bytes of a result. `is_turned` where rows may be called columns, as by
    cuBLAS, which counts from columns.
    """

    batch: int
    rows: int
    columns: int
    places: int
    channels: int
    left: int
    out_item: float
    is_turned: bool

    @property
    def outputs(self) -> int:
        return self.batch * self.rows * self.columns

    def tiles(self, rows: int, columns: int) -> int:
        """Whichever way round there are fewer, where both are possible."""
        straight = -(-self.rows // rows) * -(-self.columns // columns)
        turned = -(-self.columns // rows) * -(-self.rows // columns)
        return self.batch * (min(straight, turned) if self.is_turned else straight)

    def steps(self, depth: int) -> int:
        """Along the inner dimension of one tile. Of fewer channels than a step holds it multiplies zeros all the same
        (`conv2d_fprop_activation_tile_access_iterator_optimized.h`).
        """
        return self.places * -(-self.channels // depth)


def sizes_of(detail: OpDetail, whole: Cost, kernel: str) -> Sizes | None:
    """None for anything but one product or one convolution without groups, and for an empty one."""
    if not whole.flops or not whole.writes:
        return None
    for left in (0, 1):  # the second input is the left matrix where the first is added
        a, b = shape(detail, left), shape(detail, left + 1)
        if a and b and len(a) == len(b) >= 2 and a[-1] == b[-2] and whole.flops == 2 * math.prod(a) * b[-1]:
            out_item = whole.writes[0] / (math.prod(a[:-1]) * b[-1])
            return Sizes(math.prod(a[:-2]), a[-2], b[-1], 1, a[-1], left, out_item, is_turned=True)
    return _convolved(detail, whole, kernel)


def _convolved(detail: OpDetail, whole: Cost, kernel: str) -> Sizes | None:
    """A kernel for convolutions takes the channels of one place of the filter after those of another; one for products,
    of filters of 1 × 1, has no such places.
    """
    x, weight = shape(detail, 0), shape(detail, 1)
    if x is None or weight is None or len(x) != len(weight) or len(x) < 3 or weight[1] != x[1]:
        return None
    item = item_bytes(detail, 0)
    out, inner = whole.writes[0] // item, math.prod(weight[1:])
    if whole.flops != 2 * out * inner:
        return None
    is_product = "fprop" not in kernel
    places = 1 if is_product else math.prod(weight[2:])
    return Sizes(1, out // weight[0], weight[0], places, inner // places, 0, float(item), is_turned=is_product)
