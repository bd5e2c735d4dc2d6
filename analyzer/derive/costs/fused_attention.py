"""What kernels of fused attention do beside the attention itself: whole tiles at a mask, instructions, crossings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import tiled
from analyzer.derive.costs.attention import filled_up, last_share
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import ATTENTION_PAIR
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import is_tensor, item_bytes, shape

SYNC_PAIR: Final = 15
"""As `ATTENTION_PAIR`, of FlashAttention-2 made for Ampere: heads of 64, 4 × 16 × 2048 in bf16, without a mask."""

CAUSAL_PAIR: Final = 4
END_PAIR: Final = 2
"""A score in a tile that a mask may cut: held against the last place that its query sees, and chosen, each at half the
rate; at the end of a sequence alone all queries have the same last place (`apply_mask` in FlashAttention-2's mask.h).
"""

GROUP_THREADS: Final = 128

_FLASH_TILE: Final = re.compile(
    r"flash_fwd_kernel<Flash_fwd_kernel_traits<(?P<width>\d+), ?(?P<rows>\d+), ?(?P<columns>\d+),"
)
_FLASH_FLAGS: Final = re.compile(r"> ?>, ?\w+, ?(?P<causal>true|false), ?\w+, ?\w+, ?(?P<even>true|false)\b")
"""Whether keys are masked, and whether tiles end with the sequences (`Is_causal`, `Is_even_MN` of its kernel)."""
_EFFICIENT_TILE: Final = re.compile(r"fmha_cutlassF_b?f16_aligned_(?P<rows>\d+)x(?P<columns>\d+)_rf_sm80")
_CUDNN_TILE: Final = re.compile(r"sdpa_sm90_flash_fprop_\w*?knob_\d+_(?P<rows>\d+)x(?P<columns>\d+)x\d+_")

PAIR_BYTES: Final = 50
PAIR_WIDTHS: Final = 128
"""What crosses from the L2 for each pair of query and key of head width 64, in float32: 51 bytes for 4 × 16 heads of
length 256, 50 for 1024, counted on an H200. It is four times what blocks of 64 × 64 read once would need."""


def fast_float32(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Keys and values, and queries with them, are read for each block of 64 × 64 scores, and not kept in between."""
    if not whole.instructions or not whole.flops:
        return None
    pairs = whole.instructions // ATTENTION_PAIR
    widths = whole.flops // (2 * pairs)
    return replace(whole, crossings=whole.bytes + pairs * widths * PAIR_BYTES // PAIR_WIDTHS)


def efficient(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """The memory-efficient attention of 16-bit numbers, whose name tells its block of queries and keys."""
    found = _EFFICIENT_TILE.search(kernel.name)
    if found is None or not whole.flops or not whole.instructions:
        return None
    rows, columns = _sides(found)
    pairs = whole.instructions / ATTENTION_PAIR
    cost = _in_tiles("aten::_efficient_attention_forward", detail, whole, (rows, columns), ATTENTION_PAIR)
    if cost is None or not cost.instructions:
        return None
    tiles = cost.instructions / ATTENTION_PAIR / (rows * columns)
    width = round(whole.flops / (4 * pairs))
    has_bias = is_tensor(detail, 3)
    near = tiled.efficient_attention((rows, columns), width, tiles, has_bias=has_bias)
    # Of a bias each score loads its own, whatever is multiplied.
    return replace(cost, near=near, is_fed=not has_bias)


def flash(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """FlashAttention-2: `mma` has its operands loaded into registers, which costs instructions of its own. Heads are
    filled up with zeros to the width of its tiles.
    """
    found = _FLASH_TILE.search(kernel.name)
    if found is None:
        return None
    cost = _in_tiles("aten::_flash_attention_forward", detail, whole, _sides(found), SYNC_PAIR)
    if cost is None or not cost.instructions or not whole.flops:
        return None
    blocks = kernel.launch.blocks if kernel.launch is not None else 0
    near = tiled.attention(kernel.name, item_bytes(detail, 0), cost.instructions / SYNC_PAIR, blocks)
    done = (whole.flops + cost.masked_flops) * _wider(detail, int(found["width"]))
    pairs = cost.instructions / SYNC_PAIR
    instructions = cost.instructions + round(pairs * _masking(detail, kernel.name, *_sides(found)))
    masked = round(done) - whole.flops
    return replace(cost, near=near, is_fed=True, masked_flops=masked, instructions=instructions)


def _masking(detail: OpDetail, kernel: str, rows: int, columns: int) -> float:
    """Slots a pair for masking, over all tiles: the last ones of each row of tiles are masked, as many as the rows of
    one reach over, and one more where sequences end within a tile (`n_masking_steps` in flash_fwd_kernel.h).
    """
    flags = _FLASH_FLAGS.search(kernel)
    if flags is None:
        return 0.0
    is_causal, cut = flags["causal"] == "true", int(flags["even"] == "false")
    masked = -(-rows // columns) + cut if is_causal else cut
    share = last_share("aten::_flash_attention_forward", detail, rows, columns, masked)
    return share * (CAUSAL_PAIR if is_causal else END_PAIR)


def cudnn_flash(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """cuDNN's for Hopper, whose name tells one warp group's tile. One group of a block loads, the others compute."""
    found = _CUDNN_TILE.search(kernel.name)
    if found is None or kernel.launch is None:
        return None
    rows, columns = _sides(found)
    groups = max(1, kernel.launch.threads // GROUP_THREADS - 1)
    return _in_tiles("aten::_cudnn_attention_forward", detail, whole, (rows * groups, columns), ATTENTION_PAIR)


def _wider(detail: OpDetail, width: int) -> float:
    """How many times as wide as the heads of the queries a tile is; 1.0 where these are not recorded."""
    heads = shape(detail, 0)
    return max(1.0, width / heads[-1]) if heads and heads[-1] else 1.0


def _sides(found: re.Match[str]) -> tuple[int, int]:
    return int(found["rows"]), int(found["columns"])


def _in_tiles(op: str, detail: OpDetail, whole: Cost, sides: tuple[int, int], slots: int) -> Cost | None:
    if not whole.flops or not whole.instructions:
        return None
    more = filled_up(op, detail, *sides)
    return replace(
        whole,
        masked_flops=round(whole.flops * (more - 1.0)),
        instructions=round(whole.instructions / ATTENTION_PAIR * slots * more),
    )
