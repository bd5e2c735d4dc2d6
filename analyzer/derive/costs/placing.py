"""Kernels that have to find the place of each element before they touch it: lookups, pools, interpolation.

Instructions are multiprocessor throughput as Nsight Compute counted it on an H200 (torch 2.11), in issue slots.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.aten_kernels import INDEX_SLOTS
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.indexing import ELEMENTS
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import item_bytes, numbers, numel, shape

GATHER_SLOTS: Final = 67
"""An element found by an index that was read before: 67 and 68 slots of `gather` and `scatter_add`."""

ELEMENT_SLOTS: Final = 8
"""Loading, combining and storing one, beside finding its place."""

PLACE_SLOTS: Final = 220
VISIT_SLOTS: Final = 19
"""A pool's output finds its place by divisions of 64-bit numbers, and visits each place of its window: 294 slots for
windows of 2 × 2 (`avg_pool2d_out_cuda_frame`) and 390 for 3 × 3 (`max_pool_forward_nhwc`)."""


def gathers(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One kernel for all of `gather` and `scatter`: index arithmetic for each index, 67 and 68 slots of it."""
    return (
        replace(whole, instructions=GATHER_SLOTS * numel(detail, 2), is_counted=True)
        if shape(detail, 2) is not None
        else None
    )


def pools(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Each element of the output finds its place and visits its window."""
    window = numbers(detail, 1)
    dims = shape(detail, 0)
    if not window or dims is None or not whole.writes:
        return None
    rank = 3 if "3d" in kernel.name else 2
    size = math.prod(window) if len(window) > 1 else window[0] ** rank
    out = whole.writes[0] // item_bytes(detail, 0)
    return replace(whole, instructions=out * (PLACE_SLOTS + VISIT_SLOTS * size), is_counted=True)


def resizes(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Each element of the output finds the places in the input that it is made of, as strided kernels do."""
    out = sum(whole.writes) // item_bytes(detail, 0)
    return replace(whole, instructions=out * (INDEX_SLOTS + ELEMENT_SLOTS))


def gathers_rows(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A thread an index and 16 bytes of its row."""
    if kernel.launch is None:
        return None
    return replace(whole, instructions=GATHER_SLOTS * kernel.launch.all_threads, is_counted=True)


def indexes(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`index_elementwise_kernel<128, 4>`: four elements a thread, the place of each from an index."""
    found = ELEMENTS.search(kernel.name)
    if kernel.launch is None or found is None:
        return None
    return replace(whole, instructions=GATHER_SLOTS * kernel.launch.all_threads * int(found["each"]), is_counted=True)


def bags(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Each element of each row that a bag adds up is found by its index."""
    table = shape(detail, 0)
    return None if table is None else replace(whole, instructions=GATHER_SLOTS * numel(detail, 1) * table[-1])


def looks_up(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`nll_loss_forward`: one element a row, found by its index, by a single block."""
    return replace(whole, instructions=GATHER_SLOTS * numel(detail, 1))
