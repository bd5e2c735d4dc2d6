"""Operators over lists of tensors: cat and stack, `_foreach_…`, fused optimizers.

A trace shows the shapes inside a list and not their type, which the name of the kernel tells.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.tensors import DTYPES, SECTOR_BYTES, numbers, tensor_list

_SIZES: Final = {cpp: size for cpp, _, size in DTYPES}
_ITEM: Final = re.compile(
    r"OpaqueType<(?P<bytes>\d+)u?>"
    r"|(?:Functor|FunctorV2|[Mm]ath\w*|Op\w*|CatArrayBatchedCopy\w*)<(?P<type>double|float|c10::Half|c10::BFloat16|long"
    r"|int|short|signed char|unsigned char|bool)\b"
)
"""`CatArrayBatchedCopy<…OpaqueType<2u>…>`, or `CatArrayBatchedCopy<float, …>` in older releases, and
`…BinaryOpListAlphaFunctor<float, 2, 1, 1>…` (ATen's Shape.cu and ForeachFunctors.cuh)."""


def item_bytes_of_kernel(name: str) -> int | None:
    """Bytes an element of the lists that a kernel works on, from its name; None where that does not say."""
    found = _ITEM.search(name)
    if found is None:
        return None
    return int(found["bytes"]) if found["bytes"] else _SIZES.get(found["type"])


def joins(detail: OpDetail, item: int) -> Cost | None:
    """`cat(tensors, dim)` and `stack`: all of them are read, and written once.

    Where less than a sector of each lies beside the next, as of two numbers stacked last, a thread writes sector by
    sector what it has of it (`CatArrayBatchedCopy` in ATen's Shape.cu), and each tensor goes through all of the output:
    it is written, and read to be filled up, as often as there are tensors, as far as no cache holds it in between.
    """
    moved = _list_bytes(detail, 0, item)
    if moved is None:
        return None
    cost, pieces = moving((moved,), (moved,)), _pieces(detail, item)
    if not pieces or max(pieces) >= SECTOR_BYTES or sum(pieces) > SECTOR_BYTES:
        return cost
    rows = moved // sum(pieces)
    crossings = moved + rows * len(pieces) * SECTOR_BYTES
    return replace(cost, crossings=crossings, rereads=(2 * len(pieces) - 1) * moved, reread_span=2 * moved)


def _pieces(detail: OpDetail, item: int) -> tuple[int, ...]:
    """The bytes of each tensor that lie together in the output; empty where the dimension is not told."""
    shapes, dim = tensor_list(detail, 0), numbers(detail, 1)
    if not dim or any(not -len(dims) <= dim[0] < len(dims) for dims in shapes):
        return ()
    return tuple(math.prod(dims[dim[0] % len(dims) :]) * item for dims in shapes)


def foreach(detail: OpDetail, item: int) -> Cost | None:
    """`_foreach_add(tensors, others, …)`: every list is read, one like the first is written."""
    reads = _all_lists(detail, item)
    return moving(reads, (reads[0],)) if reads else None


def foreach_copy(detail: OpDetail, item: int) -> Cost | None:
    """`_foreach_copy_(to, from)`."""
    reads = _all_lists(detail, item)
    return moving(reads[1:2], reads[:1]) if len(reads) == 2 else None


def foreach_zero(detail: OpDetail, item: int) -> Cost | None:
    reads = _all_lists(detail, item)
    return moving((), reads[:1]) if reads else None


def foreach_norm(detail: OpDetail, item: int) -> Cost | None:
    """`_foreach_norm(tensors, …)`: the output is one number a tensor."""
    reads = _all_lists(detail, item)
    return moving(reads[:1]) if reads else None


def fused_adam(detail: OpDetail, item: int) -> Cost | None:
    """`_fused_adam_(params, grads, averages, squares, largest squares, steps, …)`: all but gradients are written."""
    return _optimizer(detail, item, states=(2, 3, 4))


def fused_sgd(detail: OpDetail, item: int) -> Cost | None:
    """`_fused_sgd_(params, grads, momentum buffers, …)`."""
    return _optimizer(detail, item, states=(2,))


def fused_adagrad(detail: OpDetail, item: int) -> Cost | None:
    """`_fused_adagrad_(params, grads, sums, steps, …)`."""
    return _optimizer(detail, item, states=(2,))


def list_elements(detail: OpDetail) -> int:
    """The elements of the first list."""
    return sum(math.prod(s) for s in tensor_list(detail, 0))


def _optimizer(detail: OpDetail, item: int, states: tuple[int, ...]) -> Cost | None:
    params, grads = _list_bytes(detail, 0, item), _list_bytes(detail, 1, item)
    if params is None or grads is None:
        return None
    kept = [size for i in states if (size := _list_bytes(detail, i, item)) is not None]
    return moving((params, grads, *kept), (params, *kept))


def _all_lists(detail: OpDetail, item: int) -> tuple[int, ...]:
    sizes = (_list_bytes(detail, i, item) for i in range(len(detail.lists)))
    return tuple(size for size in sizes if size is not None)


def _list_bytes(detail: OpDetail, index: int, item: int) -> int | None:
    shapes = tensor_list(detail, index)
    return sum(math.prod(s) for s in shapes) * item if shapes else None
