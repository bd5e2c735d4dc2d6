"""Operators that only move memory: each input read once, the output written once."""

from __future__ import annotations

import math
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.tensors import (
    dense_bytes,
    flags,
    has_unknown_tensors,
    input_bytes,
    is_tensor,
    item_bytes,
    numbers,
    numel,
    shape,
    tensor_inputs,
)

BOOL_BYTES: Final = 1
INDEX_BYTES: Final = 8
"""Indices that torch returns are int64."""


def like_first(detail: OpDetail) -> Cost | None:
    """The output is like the first input: activations, normalisations, softmax, and their gradients."""
    return moving(_reads(detail), (dense_bytes(detail, 0),)) if _is_told(detail) else None


def unary(detail: OpDetail) -> Cost | None:
    """The output is like the only tensor that is read. A further one is the output given (`out=`)."""
    return moving((input_bytes(detail, 0),), (dense_bytes(detail, 0),)) if _is_told(detail) else None


def clamps(detail: OpDetail) -> Cost | None:
    """`clamp(x, low, high)` and `clamp_min(x, low)`, whose limits may be tensors. A tensor after them is the output."""
    if not _is_told(detail):
        return None
    limits = [input_bytes(detail, i) for i in (1, 2) if is_tensor(detail, i)]
    return moving((input_bytes(detail, 0), *limits), (dense_bytes(detail, 0),))


def like_second(detail: OpDetail) -> Cost | None:
    """The output is like the second input: the gradients of losses, whose own gradient comes first."""
    return moving(_reads(detail), (dense_bytes(detail, 1),)) if _is_told(detail) and is_tensor(detail, 1) else None


def predicate(detail: OpDetail) -> Cost | None:
    """The output is a truth value for each element of the first input."""
    return moving(_reads(detail), (numel(detail, 0) * BOOL_BYTES,)) if _is_told(detail) else None


def broadcast(detail: OpDetail) -> Cost | None:
    """The output is what the inputs broadcast to, in the widest of their types."""
    size = _broadcast_numel(detail)
    if size is None:
        return None
    tensors = tensor_inputs(detail)
    # A 0-dimensional tensor does not widen the result (torch's type promotion).
    wide = [item_bytes(detail, i) for i in tensors if shape(detail, i)] or [item_bytes(detail, tensors[0])]
    return moving(_reads(detail), (size * max(wide),))


def binary(detail: OpDetail) -> Cost | None:
    """As `broadcast`, of the first two inputs: a tensor after them is the output given (`out=`), which is not read."""
    found = broadcast(detail)
    return None if found is None else moving(_operands(detail), found.writes)


def where(detail: OpDetail) -> Cost | None:
    """`where(condition, x, other)`; with a fourth tensor, which is the output given (`out=`) and is not read."""
    found = broadcast(detail)
    if found is None or len(tensor_inputs(detail)) < 4:
        return found
    return moving(_reads(detail)[:3], found.writes)


def comparison(detail: OpDetail) -> Cost | None:
    """The output is a truth value for each element that the inputs broadcast to."""
    size = _broadcast_numel(detail)
    return None if size is None else moving(_operands(detail), (size * BOOL_BYTES,))


def writes_first(detail: OpDetail) -> Cost | None:
    """`fill_`, `zero_` and random numbers in place write their first input and read nothing."""
    return moving((), (input_bytes(detail, 0),)) if is_tensor(detail, 0) else None


def copies(detail: OpDetail) -> Cost | None:
    """`copy_(to, from)`."""
    return moving((input_bytes(detail, 1),), (input_bytes(detail, 0),)) if _is_told(detail) else None


def in_place(detail: OpDetail) -> Cost | None:
    """`add_` and its like: every input is read, the first one also written."""
    return moving(_reads(detail), (input_bytes(detail, 0),)) if _is_told(detail) else None


def dropout(detail: OpDetail) -> Cost | None:
    """`native_dropout(x, p, train)` writes the result and a mask of truth values."""
    if not _is_told(detail):
        return None
    return moving(_reads(detail), (dense_bytes(detail, 0), numel(detail, 0) * BOOL_BYTES))


def gated(detail: OpDetail) -> Cost | None:
    """`glu(x, dim)`: the output is half of the input."""
    return moving(_reads(detail), (dense_bytes(detail, 0) // 2,)) if _is_told(detail) else None


def loss(detail: OpDetail) -> Cost | None:
    """`mse_loss(x, target, reduction)` and its like: reduction 0 keeps every element."""
    reduction = next((numbers(detail, i) for i, d in enumerate(detail.dtypes) if d == "Scalar"), None)
    if not _is_told(detail) or reduction is None:
        return None
    return moving(_reads(detail), (item_bytes(detail, 0) if reduction[0] else dense_bytes(detail, 0),))


def reduces(detail: OpDetail) -> Cost | None:
    """`sum(x, dim, keepdim, …)` and its like: one element of output for each that the dimensions leave."""
    return _reduction(detail, 1, item_bytes(detail, 0)) if _is_told(detail) else None


def reduces_norm(detail: OpDetail) -> Cost | None:
    """`linalg_vector_norm(x, ord, dim, …)` and `norm(x, p, dim, …)`."""
    return _reduction(detail, 2, item_bytes(detail, 0)) if _is_told(detail) else None


def finds(detail: OpDetail) -> Cost | None:
    """`argmax(x, dim, keepdim)`: one index an element of output."""
    return _reduction(detail, 1, INDEX_BYTES) if _is_told(detail) else None


def extreme(detail: OpDetail) -> Cost | None:
    """`max(x)` is a reduction, `max(x, dim)` gives its place too, `max(x, y)` is elementwise."""
    if is_tensor(detail, 1):
        return broadcast(detail)
    has_dim = len(detail.dtypes) > 1 and numbers(detail, 1) is not None
    return _reduction(detail, 1, item_bytes(detail, 0) + (INDEX_BYTES if has_dim else 0)) if _is_told(detail) else None


def truth(detail: OpDetail) -> Cost | None:
    """`any(x, dim)` and `all`."""
    return _reduction(detail, 1, BOOL_BYTES) if _is_told(detail) else None


def reads(detail: OpDetail) -> Cost | None:
    """The output is small beside the input, and its shape is not recorded: statistics."""
    return moving(_reads(detail)) if _is_told(detail) else None


def _reduction(detail: OpDetail, dim_at: int, out_item: int) -> Cost:
    dims, over = shape(detail, 0) or (), numbers(detail, dim_at)
    is_told = dim_at < len(detail.dtypes) and detail.dtypes[dim_at] in ("Scalar", "ScalarList")
    # A flag in the place of the dimension belongs to an overload without one.
    has_dims = is_told and bool(over) and flags_only(detail, dim_at) is None
    left = 1
    if has_dims and over is not None and all(-len(dims) <= d < len(dims) for d in over):
        gone = {d % len(dims) for d in over}
        left = math.prod(size for i, size in enumerate(dims) if i not in gone)
    return moving(_reads(detail), (left * out_item,))


def flags_only(detail: OpDetail, index: int) -> tuple[bool, ...] | None:
    """A recorded `True` or `False`; None for anything else, the numbers 0 and 1 included."""
    is_word = index < len(detail.values) and detail.values[index] in ("True", "False")
    return flags(detail, index) if is_word else None


def _is_told(detail: OpDetail) -> bool:
    return is_tensor(detail, 0) and not has_unknown_tensors(detail)


def _reads(detail: OpDetail) -> tuple[int, ...]:
    return tuple(input_bytes(detail, i) for i in tensor_inputs(detail))


def _operands(detail: OpDetail) -> tuple[int, ...]:
    """The tensors among the two inputs of a binary operator."""
    return tuple(input_bytes(detail, i) for i in (0, 1) if is_tensor(detail, i))


def _broadcast_numel(detail: OpDetail) -> int | None:
    """The elements that the tensor inputs broadcast to; None where one is not told or they do not fit."""
    tensors = tensor_inputs(detail)
    if not tensors or has_unknown_tensors(detail):
        return None
    shapes = [shape(detail, i) or () for i in tensors]
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(s)) + s for s in shapes]
    sizes = [{d for d in dims if d != 1} or {1} for dims in zip(*padded, strict=True)]
    return math.prod(next(iter(s)) for s in sizes) if all(len(s) == 1 for s in sizes) else None
