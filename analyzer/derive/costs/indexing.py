"""Operators that touch a part of a tensor, and never more than the whole: embeddings, gather, scatter, sorting."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.strided import WARP
from analyzer.derive.costs.tensors import (
    SECTOR_BYTES,
    dense_bytes,
    input_bytes,
    is_tensor,
    item_bytes,
    numbers,
    numel,
    shape,
)

_ROWS: Final = re.compile(r"vectorized_gather_kernel<(?P<bytes>\d+),")
MOST_THREADS: Final = 256
"""A block's, of `vectorized_gather_kernel_launch`."""
ELEMENTS: Final = re.compile(r"index_elementwise_kernel<(?P<threads>\d+), ?(?P<each>\d+),")


def index(detail: OpDetail, kernel: str, launch: Launch) -> Cost | None:
    """`index(x, indices)`, whose indices a trace does not show: their number is what the kernel was launched for
    (`vectorized_gather_kernel_launch` in ATen's IndexKernelUtils.cu: a block a row; `launch_kernel` in IndexKernel.cu).

    Indices are taken to come in no order: a row that is read again is in the cache as far as that holds the table.
    """
    dims = shape(detail, 0)
    if not dims or 0 in dims:
        return None
    by_row, by_element = _ROWS.search(kernel), ELEMENTS.search(kernel)
    if by_row is not None:
        row = dense_bytes(detail, 0) // dims[0]
        # A row of another size is indexed along another dimension than the first.
        if (math.prod(launch.grid[1:]), launch.threads) != _row_blocks(row, int(by_row["bytes"])):
            return None
        looked_at, found = launch.grid[0] * row, launch.grid[0]
    elif by_element is not None:
        found = launch.blocks * int(by_element["threads"]) * int(by_element["each"])
        looked_at = found * item_bytes(detail, 0)
    else:
        return None
    once = round(looked_at / found * distinct(found, dense_bytes(detail, 0) * found // looked_at))
    cost = moving((once, found * INDEX_BYTES), (looked_at,), is_floor=by_row is None)
    return replace(cost, rereads=looked_at - once, reread_span=dense_bytes(detail, 0))


def _row_blocks(row: int, vector: int) -> tuple[int, int]:
    """The blocks of a row and the threads of a block, which gather a vector each: whole warps, 256 threads at most, of
    which the last block may need few.
    """
    warps = -(-row // (vector * WARP))
    return -(-row // (vector * MOST_THREADS)), min(MOST_THREADS, warps * WARP)


def distinct(draws: int, rows: int) -> float:
    """How many of `rows` are looked at by so many draws in no order: rows (1 - e^(-draws / rows))."""
    return rows * -math.expm1(-draws / rows) if rows else 0.0


def embedding(detail: OpDetail) -> Cost | None:
    """`embedding(weight, ids, …)`: a row for each id. Ids that repeat find their row in the cache."""
    table = shape(detail, 0)
    if table is None or not table or shape(detail, 1) is None:
        return None
    rows = numel(detail, 1) * math.prod(table[1:]) * item_bytes(detail, 0)
    return moving((min(rows, dense_bytes(detail, 0)), input_bytes(detail, 1)), (rows,))


def embedding_backward(detail: OpDetail) -> Cost | None:
    """`embedding_dense_backward(grad, ids, rows, …)`: what is added to a row is read and written. It sorts the ids."""
    if shape(detail, 0) is None or shape(detail, 1) is None:
        return None
    grad = input_bytes(detail, 0)
    return moving((grad, input_bytes(detail, 1)), (grad,), is_floor=True)


def embedding_bag(detail: OpDetail) -> Cost | None:
    """`_embedding_bag(weight, ids, offsets, …)`: a row for each id, one output for each bag."""
    table, bags = shape(detail, 0), shape(detail, 2)
    if table is None or len(table) != 2 or bags is None or shape(detail, 1) is None:
        return None
    row = table[1] * item_bytes(detail, 0)
    rows = round(distinct(numel(detail, 1), table[0]) * row)
    return moving((rows, input_bytes(detail, 1), input_bytes(detail, 2)), (numel(detail, 2) * row,))


def index_select(detail: OpDetail) -> Cost | None:
    """`index_select(x, dim, index)`."""
    dims, dim = shape(detail, 0), numbers(detail, 1)
    if not dims or not dim or shape(detail, 2) is None or not -len(dims) <= dim[0] < len(dims):
        return None
    size = dims[dim[0]]
    out = dense_bytes(detail, 0) // size * numel(detail, 2) if size else 0
    return moving((min(out, dense_bytes(detail, 0)), input_bytes(detail, 2)), (out,))


def gather(detail: OpDetail) -> Cost | None:
    """`gather(x, dim, index)`: a sector for each element, as for indices without an order, which only they know; whole
    rows where the index is spread along them.
    """
    if not is_tensor(detail, 0) or shape(detail, 2) is None:
        return None
    out = numel(detail, 2) * item_bytes(detail, 0)
    strides = detail.strides[2] if len(detail.strides) > 2 else ()
    is_by_row = bool(strides) and strides[-1] == 0
    looked_at = min(out if is_by_row else numel(detail, 2) * SECTOR_BYTES, dense_bytes(detail, 0))
    return moving((looked_at, input_bytes(detail, 2)), (out,), is_floor=True)


def finds_whole_rows(detail: OpDetail) -> bool:
    """Whether the index of a `gather` or a `scatter` is one of rows, spread along them, each of a sector at least: then
    no more moves than the rows.
    """
    dims, dim = shape(detail, 0), numbers(detail, 1)
    strides = detail.strides[2] if len(detail.strides) > 2 else ()
    is_spread = bool(strides) and strides[-1] == 0 and dim == (0,)
    return is_spread and math.prod((dims or ())[1:]) * item_bytes(detail, 0) >= SECTOR_BYTES


def take(detail: OpDetail) -> Cost | None:
    """`take(x, index)`: as `gather`."""
    if not is_tensor(detail, 0) or shape(detail, 1) is None:
        return None
    looked_at = min(numel(detail, 1) * SECTOR_BYTES, dense_bytes(detail, 0))
    out = numel(detail, 1) * item_bytes(detail, 0)
    return moving((looked_at, input_bytes(detail, 1)), (out,), is_floor=True)


def scatter_in_place(detail: OpDetail) -> Cost | None:
    """`scatter_(x, dim, index, source)`, `scatter_add_`, `index_add_`, `index_copy_`: what is reached is read too, as
    it is added to, or as its sector is written in part.
    """
    if not is_tensor(detail, 0) or shape(detail, 2) is None:
        return None
    reached = numel(detail, 3) if is_tensor(detail, 3) and shape(detail, 3) else numel(detail, 2)
    touched = min(reached * item_bytes(detail, 0), dense_bytes(detail, 0))
    return moving((touched, input_bytes(detail, 2), input_bytes(detail, 3)), (touched,), is_floor=True)


def index_add(detail: OpDetail) -> Cost | None:
    """`index_add_(x, dim, index, source, alpha)` along the first dimension: rows of `x` in no order, each read and
    written once, as what is added to a row again finds it in the cache. Along another dimension as `scatter_add_`.
    """
    dims = shape(detail, 0)
    if not dims or 0 in dims or not adds_whole_rows(detail):
        return scatter_in_place(detail)
    touched = round(distinct(numel(detail, 2), dims[0]) * (dense_bytes(detail, 0) // dims[0]))
    return moving((touched, input_bytes(detail, 2), input_bytes(detail, 3)), (touched,), is_floor=True)


def adds_whole_rows(detail: OpDetail) -> bool:
    """Whether an `index_add_` is along the first dimension."""
    dims, dim = shape(detail, 0), numbers(detail, 1)
    return bool(dims) and bool(dim) and is_tensor(detail, 3) and (dim or (0,))[0] in (0, -len(dims or ()))


def index_put(detail: OpDetail) -> Cost | None:
    """`_index_put_impl_(x, indices, values, …)`. A trace does not show the indices: as many elements as values, so that
    a single value, which may be spread over any number, tells nothing.
    """
    if not is_tensor(detail, 0) or numel(detail, 2) <= 1:
        return None
    touched = min(numel(detail, 2) * item_bytes(detail, 0), dense_bytes(detail, 0))
    return moving((input_bytes(detail, 2),), (touched,), is_floor=True)


def sort(detail: OpDetail) -> Cost | None:
    """`sort(x, …)` writes values and places. A radix sort goes over both once for each few bits of the key."""
    if not is_tensor(detail, 0):
        return None
    written = (dense_bytes(detail, 0), numel(detail, 0) * INDEX_BYTES)
    return moving((input_bytes(detail, 0),), written, is_floor=True)


def topk(detail: OpDetail) -> Cost | None:
    """`topk(x, k, dim, …)`. It looks at its input several times."""
    dims, k, dim = shape(detail, 0), numbers(detail, 1), numbers(detail, 2)
    if not dims or not k or not dim or not -len(dims) <= dim[0] < len(dims) or not dims[dim[0]]:
        return None
    found = numel(detail, 0) // dims[dim[0]] * k[0]
    written = found * (item_bytes(detail, 0) + INDEX_BYTES)
    return moving((input_bytes(detail, 0),), (written,), is_floor=True)


def searches(detail: OpDetail) -> Cost | None:
    """`nonzero`, `masked_select`, `unique`, `bincount`, …: the size of the output depends on the values."""
    if not is_tensor(detail, 0):
        return None
    return moving((input_bytes(detail, 0), input_bytes(detail, 1)), is_floor=True)


def nll_loss(detail: OpDetail) -> Cost | None:
    """`nll_loss_forward(x, target, …)` looks at one element a row, which is one sector."""
    if shape(detail, 0) is None or shape(detail, 1) is None:
        return None
    looked_at = min(numel(detail, 1) * SECTOR_BYTES, dense_bytes(detail, 0))
    return moving((looked_at, input_bytes(detail, 1)), (item_bytes(detail, 0),))


def nll_loss_backward(detail: OpDetail) -> Cost | None:
    """`nll_loss_backward(grad, x, target, …)`: one sector a row, in a tensor that `zero_` filled before."""
    if shape(detail, 1) is None or shape(detail, 2) is None:
        return None
    written = min(numel(detail, 2) * SECTOR_BYTES, dense_bytes(detail, 1))
    return moving((input_bytes(detail, 0), input_bytes(detail, 2)), (written,), is_floor=True)
