"""How much crosses between the last cache and the multiprocessors when ATen walks strided tensors.

ATen gives neighbouring threads neighbouring elements of the output. An input that lies otherwise is read a sector for
each element, of which the rest is read again by another warp.
"""

from __future__ import annotations

import math
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.tensors import SECTOR_BYTES, item_bytes, shape, tensor_inputs

WARP: Final = 32
"""Threads that load at once, in every GPU of NVIDIA."""


def crossings(detail: OpDetail) -> int | None:
    """Bytes of the sectors that the inputs of an elementwise operator cross in. The first input is taken to lie as the
    output does, which for `copy_` it is. None where shapes or strides are not told.
    """
    tensors = [i for i in tensor_inputs(detail) if shape(detail, i)]
    if not tensors or not all(_is_told(detail, i) for i in tensors):
        return None
    first = max(tensors, key=lambda i: (math.prod(shape(detail, i) or ()), -i))
    dims = shape(detail, first) or ()
    order = _order(dims, detail.strides[first])
    total = 0
    for i in tensors:
        strides = _broadcast(dims, shape(detail, i) or (), detail.strides[i])
        if strides is None:
            return None
        total += _sectors(dims, order, strides, item_bytes(detail, i)) * SECTOR_BYTES
    return total


def _is_told(detail: OpDetail, index: int) -> bool:
    return index < len(detail.strides) and len(detail.strides[index]) == len(shape(detail, index) or ())


def _order(dims: tuple[int, ...], strides: tuple[int, ...]) -> list[int]:
    """The dimensions as they are walked, the nearest neighbours first."""
    return sorted((d for d in range(len(dims)) if dims[d] > 1), key=lambda d: (strides[d] or math.inf, -d))


def _broadcast(dims: tuple[int, ...], own: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...] | None:
    """The strides of an input over the output's dimensions, 0 where it is spread; None where it does not fit."""
    lead = len(dims) - len(own)
    if lead < 0 or any(size not in (1, dims[lead + d]) for d, size in enumerate(own)):
        return None
    return (*(0,) * lead, *(0 if size == 1 else step for size, step in zip(own, strides, strict=True)))


def _sectors(dims: tuple[int, ...], order: list[int], strides: tuple[int, ...], item: int) -> int:
    """The sectors that all warps touch, each of them as many as the first does."""
    total = math.prod(dims)
    lanes = min(WARP, total)
    touched = set()
    for lane in range(lanes):
        rest, offset = lane, 0
        for d in order:
            rest, place = divmod(rest, dims[d])
            offset += place * strides[d]
        touched.add(offset * item // SECTOR_BYTES)
    return math.ceil(len(touched) * total / lanes) if lanes else 0
