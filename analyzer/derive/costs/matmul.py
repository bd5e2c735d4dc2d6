"""Matrix products. 2·m·n·k operations, as `torch.utils.flop_counter` counts them (`mm_flop`, `bmm_flop`)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, multiplying
from analyzer.derive.costs.tensors import dtype_name, input_bytes, item_bytes, numbers, scalar_type_bytes, shape

INT32_BYTES = 4

WAVE_SIDE: Final = 2_080
"""Edge of the square of outputs that is computed at once: 132 multiprocessors (H100, H200) with a tile of 128 × 256
each, the largest that cuBLAS takes. Each wave streams the rows and columns of its square."""

TILE_SIDE: Final = 128
"""The shorter side of that tile. A product that is no higher has one row of them, or of smaller ones side by side, so
that every column is streamed by one tile, and the rows, all of them, lie in the cache."""

UNEVEN: Final = 1.24
"""Times more than ideal squares that an H200 reads: tiles are walked in strips, and the last wave is not full. Over 20
products (half 0 of the items) our bytes are nearest to DRAM's at 1.12 to 1.18 as those are counted, and at 1.3 less the
writes that the L2 still holds; on the 17 of the other half this lowers the mean error of the latter from 15 to 12 %."""


def mm(detail: OpDetail) -> Cost | None:
    """`aten::mm(a, b)` and `aten::bmm(a, b)`, the latter with one leading batch dimension."""
    return _product(detail, 0, 1)


def addmm(detail: OpDetail) -> Cost | None:
    """`aten::addmm(bias, a, b)`, `aten::_addmm_activation` and `aten::baddbmm(bias, a, b)`."""
    return _product(detail, 1, 2, beside=(0,))


def addbmm(detail: OpDetail) -> Cost | None:
    """`aten::addbmm(bias, a, b)`: the products of a batch, added up into one matrix."""
    a, b = shape(detail, 1), shape(detail, 2)
    if a is None or b is None or len(a) != 3 or len(b) != 3 or a[2] != b[1] or a[0] != b[0]:
        return None
    out = a[1] * b[2] * item_bytes(detail, 1)
    return multiplying(2 * math.prod(a) * b[2], dtype_name(detail, 1), _reads(detail, 0, 1, 2), (out,))


def mv(detail: OpDetail) -> Cost | None:
    """`aten::mv(a, x)`."""
    return _matrix_vector(detail, 0, 1)


def addmv(detail: OpDetail) -> Cost | None:
    """`aten::addmv(bias, a, x)`."""
    return _matrix_vector(detail, 1, 2, beside=(0,))


def dot(detail: OpDetail) -> Cost | None:
    """`aten::dot(x, y)` and `aten::vdot`."""
    x, y = shape(detail, 0), shape(detail, 1)
    if x is None or x != y or len(x) != 1:
        return None
    return multiplying(2 * x[0], dtype_name(detail, 0), _reads(detail, 0, 1), (item_bytes(detail, 0),))


def linear(detail: OpDetail) -> Cost | None:
    """`aten::linear(x, weight, bias)` with a weight of [out, in], and its oneDNN relatives."""
    return _linear(detail, 0, 1, beside=(2,))


def mkl_linear(detail: OpDetail) -> Cost | None:
    """`mkl::_mkl_linear(x, packed, weight, bias, batch)`: the packed weight has no shape of its own to read."""
    return _linear(detail, 0, 2)


def int_mm(detail: OpDetail) -> Cost | None:
    """`aten::_int_mm(a, b)`: int8 in, int32 out."""
    return _product(detail, 0, 1, out_item=INT32_BYTES)


def scaled_mm(detail: OpDetail) -> Cost | None:
    """`aten::_scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype, …)`."""
    return _product(detail, 0, 1, beside=(2, 3, 4), out_item=scalar_type_bytes(detail, 6))


def scaled_mm_v2(detail: OpDetail) -> Cost | None:
    """`aten::_scaled_mm_v2(a, b, scales_a, …, bias, out_dtype, …)`: its scales are lists, small beside the matrices."""
    return _product(detail, 0, 1, beside=(8,), out_item=scalar_type_bytes(detail, 9))


def grouped_mm(detail: OpDetail) -> Cost | None:
    """`aten::_grouped_mm(a, b, offsets, bias, out_dtype)`. The offsets are taken to reach the end of what they cut."""
    return _grouped(detail, offsets=2, out_item=scalar_type_bytes(detail, 4))


def scaled_grouped_mm(detail: OpDetail) -> Cost | None:
    """`aten::_scaled_grouped_mm(a, b, scale_a, scale_b, offsets, bias, scale_result, out_dtype, …)`."""
    return _grouped(detail, offsets=4, out_item=scalar_type_bytes(detail, 7))


def int8_packed_mm(detail: OpDetail) -> Cost | None:
    """`aten::_weight_int8pack_mm(x, weight, scales)`: a weight of [out, in], multiplied in the type of `x`."""
    return _linear(detail, 0, 1, beside=(2,))


def int4_packed_mm(detail: OpDetail) -> Cost | None:
    """`aten::_weight_int4pack_mm(x, packed, group, scales)`. Two weights a byte, so that the packed bytes times two
    are the weights; `scales` is [in / group, out, 2].
    """
    x, scales = shape(detail, 0), shape(detail, 3)
    if x is None or scales is None or len(x) != 2 or len(scales) != 3:
        return None
    group = numbers(detail, 2)
    if not group or scales[0] * group[0] != x[1]:
        return None
    out = x[0] * scales[1]
    weight = x[1] * scales[1] // 2
    reads = (input_bytes(detail, 0), weight, input_bytes(detail, 3))
    return multiplying(2 * out * x[1], dtype_name(detail, 0), reads, (out * item_bytes(detail, 0),))


def _product(
    detail: OpDetail, left: int, right: int, *, beside: tuple[int, ...] = (), out_item: int | None = None
) -> Cost | None:
    a, b = shape(detail, left), shape(detail, right)
    if a is None or b is None or len(a) != len(b) or len(a) not in (2, 3):
        return None
    if a[-1] != b[-2] or a[:-2] != b[:-2]:
        return None
    out = math.prod((*a[:-1], b[-1]))
    written = out * (out_item or item_bytes(detail, left))
    reads = _reads(detail, left, right, *beside)
    found = multiplying(2 * out * a[-1], dtype_name(detail, left), reads, (written,))
    batch = math.prod(a[:-2]) or 1
    short, long = sorted((a[-2], b[-1]))
    if short * long <= WAVE_SIDE**2 or short <= TILE_SIDE:
        return found  # one wave computes it all, or one row of tiles: what it streams is read once
    streamed = round(UNEVEN * out * a[-1] * item_bytes(detail, left) * _streams(short))
    again = max(0, streamed - sum(reads[:2]))
    return replace(found, rereads=again, reread_span=(sum(reads[:2]) + written) // batch)


def _streams(short: int) -> float:
    """The rows and columns that a wave streams, over the outputs that it computes. It computes as many whatever its
    shape: a square, or a strip that spans a side shorter than the square's.
    """
    height = min(short, WAVE_SIDE)
    return 1 / height + height / WAVE_SIDE**2


def _matrix_vector(detail: OpDetail, matrix: int, vector: int, *, beside: tuple[int, ...] = ()) -> Cost | None:
    a, x = shape(detail, matrix), shape(detail, vector)
    if a is None or x is None or len(a) != 2 or x != a[1:]:
        return None
    written = a[0] * item_bytes(detail, matrix)
    return multiplying(
        2 * math.prod(a), dtype_name(detail, matrix), _reads(detail, matrix, vector, *beside), (written,)
    )


def _linear(detail: OpDetail, x_index: int, weight_index: int, *, beside: tuple[int, ...] = ()) -> Cost | None:
    x, weight = shape(detail, x_index), shape(detail, weight_index)
    if not x or weight is None or len(weight) != 2 or x[-1] != weight[1]:
        return None
    out = math.prod(x[:-1]) * weight[0]
    reads = _reads(detail, x_index, weight_index, *beside)
    return multiplying(2 * out * x[-1], dtype_name(detail, x_index), reads, (out * item_bytes(detail, x_index),))


def _grouped(detail: OpDetail, offsets: int, out_item: int | None) -> Cost | None:
    """Which of the two matrices is cut by the offsets shows in their dimensions (`_grouped_mm` in ATen's Blas.cpp)."""
    a, b, cuts = shape(detail, 0), shape(detail, 1), shape(detail, offsets)
    if a is None or b is None or a[-1:] != b[-2:-1]:
        return None
    if len(a) == 3 and len(b) == 3:
        return _product(detail, 0, 1, out_item=out_item) if cuts is None else None
    if cuts is None or len(cuts) != 1:
        return None
    match len(a), len(b):
        case 2, 3 if b[0] == cuts[0]:  # rows of a, cut into one piece a group
            out = a[0] * b[2]
        case 3, 2 if a[0] == cuts[0]:  # columns of b
            out = a[1] * b[1]
        case 2, 2:  # the inner dimension: one product a group, over its own piece
            out = cuts[0] * a[0] * b[1]
        case _:
            return None
    products = a[0] * b[1] if len(a) == len(b) else out
    written = out * (out_item or item_bytes(detail, 0))
    return multiplying(2 * products * a[-1], dtype_name(detail, 0), _reads(detail, 0, 1, offsets), (written,))


def _reads(detail: OpDetail, *inputs: int) -> tuple[int, ...]:
    return tuple(input_bytes(detail, i) for i in inputs)
