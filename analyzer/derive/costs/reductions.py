"""What `reduce_kernel` does beside adding up: reductions that first convert, and those over several dimensions."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.aten_kernels import INDEX_SLOTS
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import DTYPES, item_bytes, numbers, numel, shape

_TYPES: Final = re.compile(
    r"ReduceOp<(?P<read>[\w:]+), .*, unsigned int, (?P<written>[\w:]+), \d+(?:, \d+)?>\s*>(?:\(|$)"
)
"""`ReduceOp<scalar_t, ops_t, index_t, out_scalar_t, …>` of ATen's Reduce.cuh."""
_SIZES: Final = {cpp: size for cpp, _, size in DTYPES}

LARGEST_BYTES: Final = (1 << 31) - 1
"""A larger input is reduced by several kernels, as its places do not fit in 32 bits (`can_use_32bit_indexing`)."""


SCATTERED_SLOTS: Final = INDEX_SLOTS // 2
"""An element of one tensor found by its number, where elementwise kernels find those of two or three."""


def scattered_slots(detail: OpDetail, kernel: str) -> int:
    """What `reduce_kernel` spends to find its elements where those of one output lie in several rows: `sum((0, 2, 3))`
    of images. 0 for any other kernel, and where the tensor does not lie dense or its dimensions are not told.
    """
    dims, reduced = shape(detail, 0), numbers(detail, 1)
    if "reduce_kernel<" not in kernel or not dims or not reduced or not _is_dense(dims, detail):
        return 0
    chosen = {d % len(dims) for d in reduced if -len(dims) <= d < len(dims)}
    long = [d in chosen for d, size in enumerate(dims) if size > 1]
    rows = sum(now and not before for before, now in pairwise((False, *long)))
    return SCATTERED_SLOTS * numel(detail, 0) if rows > 1 else 0


def _is_dense(dims: tuple[int, ...], detail: OpDetail) -> bool:
    strides = detail.strides[0] if detail.strides else ()
    steps = tuple(math.prod(dims[d + 1 :]) for d in range(len(dims)))
    return len(strides) == len(dims) and all(s == e for s, e, n in zip(strides, steps, dims, strict=True) if n > 1)


def converted(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A sum of truth values or small integers is one of int64, into which `aten::copy_` has turned the input before:
    that copy is what the kernel reads, eight bytes an element (`make_reduction` in ATen's ReduceOpsUtils.h). The name
    of the kernel tells the types. None where it reads the input as it is.
    """
    found = _TYPES.search(kernel.name)
    if found is None or not whole.writes:
        return None
    read, written = _SIZES.get(found["read"]), _SIZES.get(found["written"])
    if read is None or written is None or read == item_bytes(detail, 0):
        return None
    moved = numel(detail, 0) * read
    if moved > LARGEST_BYTES:
        return None
    out = whole.writes[0] // item_bytes(detail, 0) * written
    return replace(whole, bytes=moved + out, reads=(moved,), writes=(out,))
