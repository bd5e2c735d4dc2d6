"""Matrix products. 2·m·n·k operations, as `torch.utils.flop_counter` counts them (`mm_flop`, `bmm_flop`)."""

from __future__ import annotations

import math

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.tensors import dtype_name, input_bytes, item_bytes, shape


def mm(detail: OpDetail) -> Cost | None:
    """`aten::mm(a, b)` and `aten::bmm(a, b)`, the latter with one leading batch dimension."""
    return _product(detail, 0, 1)


def addmm(detail: OpDetail) -> Cost | None:
    """`aten::addmm(bias, a, b)` and `aten::baddbmm(bias, a, b)`."""
    cost = _product(detail, 1, 2)
    return cost and Cost(cost.flops, cost.bytes + input_bytes(detail, 0), cost.dtype)


def mv(detail: OpDetail) -> Cost | None:
    """`aten::mv(a, x)`."""
    a, x = shape(detail, 0), shape(detail, 1)
    if a is None or x is None or len(a) != 2 or x != a[1:]:
        return None
    moved = input_bytes(detail, 0) + input_bytes(detail, 1) + a[0] * item_bytes(detail, 0)
    return Cost(2 * math.prod(a), moved, dtype_name(detail, 0))


def linear(detail: OpDetail) -> Cost | None:
    """`aten::linear(x, weight, bias)` with a weight of [out, in], and its oneDNN relatives."""
    return _linear(detail, 0, 1)


def mkl_linear(detail: OpDetail) -> Cost | None:
    """`mkl::_mkl_linear(x, packed, weight, bias, batch)`: the packed weight has no shape of its own to read."""
    return _linear(detail, 0, 2)


def _product(detail: OpDetail, left: int, right: int) -> Cost | None:
    a, b = shape(detail, left), shape(detail, right)
    if a is None or b is None or len(a) != len(b) or len(a) not in (2, 3):
        return None
    if a[-1] != b[-2] or a[:-2] != b[:-2]:
        return None
    out = (*a[:-1], b[-1])
    moved = input_bytes(detail, left) + input_bytes(detail, right) + math.prod(out) * item_bytes(detail, left)
    return Cost(2 * math.prod(out) * a[-1], moved, dtype_name(detail, left))


def _linear(detail: OpDetail, x_index: int, weight_index: int) -> Cost | None:
    x, weight = shape(detail, x_index), shape(detail, weight_index)
    if not x or weight is None or len(weight) != 2 or x[-1] != weight[1]:
        return None
    out = math.prod(x[:-1]) * weight[0]
    moved = input_bytes(detail, x_index) + input_bytes(detail, weight_index) + out * item_bytes(detail, x_index)
    return Cost(2 * out * x[-1], moved, dtype_name(detail, x_index))
