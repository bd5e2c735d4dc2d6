"""The three kernels of FlashAttention-2's backward pass, each of which moves other tensors.

The first multiplies the output with its gradient, row by row, and clears a gradient of the queries in float32; the
second goes over all tiles and adds to that one; the third converts it (`flash_bwd_preprocess_kernel.h`,
`flash_bwd_kernel.h`). Which tensors and which of a tile's operands each reads is from these sources.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.attention import FLASH_BACKWARD, filled_up
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.fused_attention import SYNC_PAIR
from analyzer.derive.costs.instructions import ATTENTION_PAIR
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import input_bytes, item_bytes, shape
from analyzer.derive.costs.tiled import ENDS, LINE_BYTES, SLOTS_A_WAVEFRONT

SUM_BYTES: Final = 4
ROWS_ROUNDED: Final = 128
"""Queries in the float32 gradient are filled up to so many (`seqlen_q_rounded` in flash_api.cpp)."""
WIDTH_ROUNDED: Final = ((128, 32), (256, 64))
"""And the head's width, up to 128 and above (`head_size_rounded` in the same)."""

_GRADIENT, _KEY, _VALUE, _OUTPUT, _LOGS = 0, 2, 3, 4, 5
"""Places in `_flash_attention_backward(grad_out, query, key, value, out, logsumexp, …)`."""

_TILE: Final = re.compile(
    r"Flash_bwd_kernel_traits<(?P<width>\d+), ?(?P<rows>\d+), ?(?P<columns>\d+), ?(?P<warps>\d+), ?(?P<scores>\d+)"
    r", ?(?P<keys>\d+), ?(?P<queries>\d+), ?(?P<kept>true|false)"
)
"""Tile, warps, and how many of these lie one below the other for the scores, the gradients of keys and values, and that
of the queries (`AtomLayoutMSdP`, `AtomLayoutNdKV`, `AtomLayoutMdQ`); whether values are kept in registers."""


def prepares(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`flash_bwd_dot_do_o_kernel`: output and gradient to one number a row; clears the queries' gradient."""
    summed = _summed_bytes(detail)
    if summed is None:
        return None
    reads = (input_bytes(detail, _GRADIENT), input_bytes(detail, _OUTPUT))
    return moving(reads, (summed, input_bytes(detail, _LOGS)))


def converts(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`flash_bwd_convert_dq_kernel`: the queries' gradient from float32 to the type of its output."""
    summed = _summed_bytes(detail)
    return None if summed is None else moving((summed,), (input_bytes(detail, FLASH_BACKWARD.query),))


def multiplies(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`flash_bwd_dq_dk_dv_loop…_kernel`: all five products. Each warp loads its part of both operands of each from
    shared memory, so that every operand is read once by each row or column of warps. A block has a tile of keys and
    values, which come in once, and their gradients go out.
    """
    found, summed = _TILE.search(kernel.name), _summed_bytes(detail)
    if found is None or summed is None or not whole.flops or not whole.instructions:
        return None
    reads = (*(input_bytes(detail, i) for i in (_GRADIENT, FLASH_BACKWARD.query, _KEY, _VALUE)), summed)
    logs = 2 * input_bytes(detail, _LOGS)
    writes = (summed, input_bytes(detail, _KEY), input_bytes(detail, _VALUE))
    rows, columns = int(found["rows"]), int(found["columns"])
    more = filled_up("aten::_flash_attention_backward", detail, rows, columns)
    pairs = whole.instructions / ATTENTION_PAIR * more
    item, blocks = item_bytes(detail, _GRADIENT), kernel.launch.blocks if kernel.launch is not None else 0
    ends = blocks * ENDS * 2 * columns * int(found["width"]) * item
    wavefronts = (pairs / (rows * columns) * _tile_bytes(found, item) + ends) / LINE_BYTES
    return replace(
        whole,
        bytes=sum(reads) + logs + sum(writes),
        reads=(*reads, logs),
        writes=writes,
        masked_flops=round(whole.flops * (more - 1.0)),
        instructions=round(pairs * SYNC_PAIR),
        near=round(wavefronts * SLOTS_A_WAVEFRONT),
        is_fed=True,
    )


def _tile_bytes(found: re.Match[str], item: int) -> float:
    """Through shared memory for one tile: what the five products read, scores and their gradients as they are kept for
    the last three, and the queries and gradients that come in; then the queries' own gradient, which is added to that
    in memory, one line a warp (`atomicAdd`).
    """
    width, rows, columns, warps = (int(found[name]) for name in ("width", "rows", "columns", "warps"))
    down, keys_down, queries_down = (int(found[name]) for name in ("scores", "keys", "queries"))
    over, keys_over, queries_over = warps // down, warps // keys_down, warps // queries_down
    left, right, scores = rows * width, columns * width, rows * columns
    of_scores = 2 * left * over + right * down * (1 if found["kept"] == "true" else 2)
    of_keys_and_values = 2 * (scores * keys_over + left * keys_down)
    of_queries = scores * queries_over + right * queries_down
    return float(item * (of_scores + of_keys_and_values + of_queries + 2 * scores + 2 * left) + SUM_BYTES * left)


def _summed_bytes(detail: OpDetail) -> int | None:
    """The queries' gradient in float32; None for packed sequences, which lie otherwise."""
    query = shape(detail, FLASH_BACKWARD.query)
    if query is None or len(query) != 4:
        return None
    batch, length, heads, width = query
    step = next((step for most, step in WIDTH_ROUNDED if width <= most), None)
    if step is None:
        return None
    return batch * heads * _up(length, ROWS_ROUNDED) * _up(width, step) * SUM_BYTES


def _up(size: int, step: int) -> int:
    return -(-size // step) * step
