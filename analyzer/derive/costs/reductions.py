"""Reductions that first convert what they reduce."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import DTYPES, item_bytes, numel

_TYPES: Final = re.compile(
    r"ReduceOp<(?P<read>[\w:]+), .*, unsigned int, (?P<written>[\w:]+), \d+(?:, \d+)?>\s*>(?:\(|$)"
)
"""`ReduceOp<scalar_t, ops_t, index_t, out_scalar_t, …>` of ATen's Reduce.cuh."""
_SIZES: Final = {cpp: size for cpp, _, size in DTYPES}

LARGEST_BYTES: Final = (1 << 31) - 1
"""A larger input is reduced by several kernels, as its places do not fit in 32 bits (`can_use_32bit_indexing`)."""


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
