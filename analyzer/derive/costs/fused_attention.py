"""What kernels of fused attention do beside the attention itself: whole tiles at a mask, instructions, crossings."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.attention import masked_by_tiles
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import ATTENTION_PAIR
from analyzer.derive.costs.step import Kernel

SYNC_PAIR: Final = 15
"""As `ATTENTION_PAIR`, of FlashAttention-2 made for Ampere: heads of 64, 4 × 16 × 2048 in bf16, without a mask."""

GROUP_THREADS: Final = 128

_FLASH_TILE: Final = re.compile(r"flash_fwd_kernel<Flash_fwd_kernel_traits<\d+, ?(?P<rows>\d+), ?(?P<columns>\d+),")
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


def flash(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """FlashAttention-2: `mma` has its operands loaded into registers, which costs instructions of its own."""
    found = _FLASH_TILE.search(kernel.name)
    if found is None:
        return None
    return _in_tiles("aten::_flash_attention_forward", detail, whole, _sides(found), SYNC_PAIR)


def cudnn_flash(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """cuDNN's for Hopper, whose name tells one warp group's tile. One group of a block loads, the others compute."""
    found = _CUDNN_TILE.search(kernel.name)
    if found is None or kernel.launch is None:
        return None
    rows, columns = _sides(found)
    groups = max(1, kernel.launch.threads // GROUP_THREADS - 1)
    return _in_tiles("aten::_cudnn_attention_forward", detail, whole, (rows * groups, columns), ATTENTION_PAIR)


def _sides(found: re.Match[str]) -> tuple[int, int]:
    return int(found["rows"]), int(found["columns"])


def _in_tiles(op: str, detail: OpDetail, whole: Cost, sides: tuple[int, int], slots: int) -> Cost | None:
    if not whole.flops or not whole.instructions:
        return None
    more = masked_by_tiles(op, detail, *sides)
    return replace(
        whole,
        masked_flops=round(whole.flops * (more - 1.0)),
        instructions=round(whole.instructions / ATTENTION_PAIR * slots * more),
    )
