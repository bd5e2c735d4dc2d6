"""Operators that only move memory: each input read once, the output written once. Their arithmetic is not counted."""

from __future__ import annotations

import math

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.tensors import (
    all_input_bytes,
    has_unknown_tensors,
    input_bytes,
    is_tensor,
    item_bytes,
    shape,
)


def like_first(detail: OpDetail) -> Cost | None:
    """The output is like the first input: activations, normalisations, softmax, and their gradients."""
    if not is_tensor(detail, 0) or has_unknown_tensors(detail):
        return None
    return Cost(0, all_input_bytes(detail) + _dense_bytes(detail, 0))


def broadcast(detail: OpDetail) -> Cost | None:
    """The output is what the inputs broadcast to, in the widest of their types."""
    tensors = [i for i in range(len(detail.dtypes)) if is_tensor(detail, i)]
    if not tensors or has_unknown_tensors(detail):
        return None
    size = _broadcast([shape(detail, i) or () for i in tensors])
    # A 0-dimensional tensor does not widen the result (torch's type promotion).
    wide = [item_bytes(detail, i) for i in tensors if shape(detail, i)] or [item_bytes(detail, tensors[0])]
    return Cost(0, all_input_bytes(detail) + size * max(wide))


def reads(detail: OpDetail) -> Cost | None:
    """Reductions and pools: the output is small beside the input, and its shape is not recorded."""
    if not is_tensor(detail, 0) or has_unknown_tensors(detail):
        return None
    return Cost(0, all_input_bytes(detail))


def writes_first(detail: OpDetail) -> Cost | None:
    """`fill_` and `zero_` write their first input and read nothing."""
    return Cost(0, _dense_bytes(detail, 0)) if is_tensor(detail, 0) else None


def moves_all(detail: OpDetail) -> Cost | None:
    """`copy_(to, from)`: every input is read or written once."""
    if not is_tensor(detail, 0) or has_unknown_tensors(detail):
        return None
    return Cost(0, all_input_bytes(detail))


def in_place(detail: OpDetail) -> Cost | None:
    """`add_` and its like: every input is read, the first one also written."""
    if not is_tensor(detail, 0) or has_unknown_tensors(detail):
        return None
    return Cost(0, all_input_bytes(detail) + input_bytes(detail, 0))


def _dense_bytes(detail: OpDetail, index: int) -> int:
    return math.prod(shape(detail, index) or ()) * item_bytes(detail, index)


def _broadcast(shapes: list[tuple[int, ...]]) -> int:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    return math.prod(0 if 0 in dims else max(dims) for dims in zip(*padded, strict=True))
