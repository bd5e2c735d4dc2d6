"""Kernels that have to find the place of each element before they touch it: lookups, pools, interpolation.

Instructions are multiprocessor throughput as Nsight Compute counted it on an H200 (torch 2.11), in issue slots, but for
those said to be estimates from a source.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.aten_kernels import INDEX_SLOTS
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.indexing import ELEMENTS, adds_whole_rows, finds_whole_rows
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import SECTOR_BYTES, input_bytes, item_bytes, numbers, numel, shape

GATHER_SLOTS: Final = 67
"""An element found by an index that was read before: 67 and 68 slots of `gather` and `scatter_add`."""

ELEMENT_SLOTS: Final = 8
"""Loading, combining and storing one, beside finding its place."""

PLACE_SLOTS: Final = 220
VISIT_SLOTS: Final = 19
"""A pool's output finds its place by divisions of 64-bit numbers, and visits each place of its window: 294 slots for
windows of 2 × 2 (`avg_pool2d_out_cuda_frame`) and 390 for 3 × 3 (`max_pool_forward_nhwc`)."""

DIVISION_SLOTS: Final = 21
"""An integer divided by a number that only the run knows: twenty instructions and a reciprocal, as `floordiv` of
instructions.py. The remainder comes with it."""
WIDE_DIVISION_SLOTS: Final = DIVISION_SLOTS + 4
"""Of two 64-bit numbers that both fit in 32 bits, which is looked at first."""
WIDE_PRODUCT_SLOTS: Final = 4
"""Two 64-bit numbers multiplied, and a third added: 32-bit products are three of them."""

SOURCE_SLOTS: Final = 14
"""Where a pixel comes from along one side (`nearest_neighbor_compute_source_index` in ATen's UpSample.cuh): a place
made a float, scaled, rounded down, made an integer and held against the last one, and whether the side is scaled."""

FOUND_SLOTS: Final = 12
"""An index of 64 bits loaded and held against the size of the table, and two offsets multiplied out."""

TRIANGLE_SLOTS: Final = 20
"""A thread of `triu_tril_kernel` beside its divisions: its number, two offsets of 64 bits multiplied out and whether it
is within the matrix. Read off the source."""
_TRIANGLE: Final = re.compile(r"triu_tril_kernel<[^<>]*, ?(?P<upper>true|false), ?(?P<each>\d+), ?(?:true|false)>")

_ADDS: Final = re.compile(
    r"indexFuncLargeIndex<[^<>]*, (?P<type>unsigned int|unsigned long), (?P<to>\d), (?P<of>\d), -2, (?:true|false), "
    r"at::"
)
"""The type of an index, and the dimensions of the target and the source; -2 are indices in one row. Where these are not
told by the name (-1), or elements go several at a time (torch 2.14 and later), it does not match."""


def triangles(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`triu` and `tril`: each thread divides its number, of 64 bits, by every size, and then looks at as many elements
    as the kernel's name tells. Of the input only what stays is read (`triu_tril_kernel` in ATen's TriangularOps.cu).
    """
    dims, found, offset = shape(detail, 0), _TRIANGLE.search(kernel.name), numbers(detail, 1)
    if not dims or len(dims) < 2 or found is None or not whole.writes or not numel(detail, 0):
        return None
    rows, columns, above = dims[-2], dims[-1], offset[0] if offset else 0
    before = sum(min(columns, max(0, row + above)) for row in range(rows))
    kept = rows * columns - before
    if found["upper"] == "false":
        kept = sum(min(columns, max(0, row + above + 1)) for row in range(rows))
    read = numel(detail, 0) // (rows * columns) * kept * item_bytes(detail, 0)
    threads = -(-numel(detail, 0) // int(found["each"]))
    of_threads = threads * (len(dims) * WIDE_DIVISION_SLOTS + TRIANGLE_SLOTS)
    slots = of_threads + ELEMENT_SLOTS * numel(detail, 0)
    return replace(moving((read,), whole.writes), instructions=slots)


SWAP_SLOTS: Final = 14
"""A maximum or a minimum of floats in memory, beside a sum there: it is loaded, held against the new one and against
NaN (3 × 2), chosen (2 × 2), swapped and looked at again (4), once more where another thread came between (`atomicCAS`
in ATen's Atomic.cuh, `gpuAtomicMax`). Read off the source."""
_SWAPS: Final = re.compile(r"_cuda_scatter_gather_internal_kernel<true, .*Reduce(?:Maximum|Minimum|Multiply)>")


def gathers(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One kernel for all of `gather` and `scatter`: index arithmetic for each index, 67 and 68 slots of it."""
    if shape(detail, 2) is None:
        return None
    is_swapped = _SWAPS.search(kernel.name) is not None
    slots = GATHER_SLOTS + (SWAP_SLOTS if is_swapped else 0)
    return replace(
        whole,
        instructions=slots * numel(detail, 2),
        is_floor=whole.is_floor and not finds_whole_rows(detail),
        is_counted=not is_swapped,
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
    return replace(
        whole,
        instructions=GATHER_SLOTS * kernel.launch.all_threads,
        is_floor=whole.is_floor and not finds_whole_rows(detail),
        is_counted=True,
    )


def selects(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`index_elementwise_kernel` of `masked_select`, once `nonzero` has made places of the mask: they come in order, so
    that a sector is read once at most. How many there are only the launch tells.
    """
    found = ELEMENTS.search(kernel.name)
    if kernel.launch is None or found is None or shape(detail, 0) is None:
        return None
    places = min(numel(detail, 0), kernel.launch.all_threads * int(found["each"]))
    reads = (min(places * SECTOR_BYTES, input_bytes(detail, 0)), places * INDEX_BYTES)
    cost = moving(reads, (places * item_bytes(detail, 0),))
    return replace(cost, instructions=GATHER_SLOTS * places, is_counted=True)


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


def nearest_channels_last(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`upsample_nearest2d_nhwc_out_frame` in ATen's UpSampleNearest2d.cu: each element of the output divides its number
    by the channels, the width and the height, all of 64 bits, finds its source along two sides and multiplies out where
    that lies. An estimate from the source.
    """
    out = sum(whole.writes) // item_bytes(detail, 0)
    slots = 3 * WIDE_DIVISION_SLOTS + 2 * SOURCE_SLOTS + 3 * WIDE_PRODUCT_SLOTS + ELEMENT_SLOTS
    return replace(whole, instructions=out * slots)


UNFOLD_SLOTS: Final = 45
"""An output of `im2col_kernel` in ATen's im2col.cuh: four comparisons of 64-bit numbers, two steps of 64-bit addresses,
a choice, a counter and its end are 21 instructions at half the rate; a load, a store and a branch stand beside them.
Read off the source."""


def unfolds(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A thread finds its window by two divisions of 64-bit numbers and some products, and visits its places."""
    window = numbers(detail, 1)
    if not window or not whole.writes:
        return None
    size = math.prod(window) if len(window) > 1 else window[0] ** 2
    out = whole.writes[0] // item_bytes(detail, 0)
    found = 2 * WIDE_DIVISION_SLOTS + 10 * WIDE_PRODUCT_SLOTS
    return replace(whole, instructions=out * UNFOLD_SLOTS + out // max(size, 1) * found)


def adds_rows(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`indexFuncLargeIndex` in ATen's Indexing.cu: each element of the source divides its number by the size of a row,
    and what is left of it by each further dimension of the target and of the source. An estimate from the source. It
    adds in the L2, so that nothing but whole rows moves where a row fills its sectors.
    """
    found = _ADDS.search(kernel.name)
    if found is None or shape(detail, 3) is None:
        return None
    division = DIVISION_SLOTS if found["type"] == "unsigned int" else WIDE_DIVISION_SLOTS
    slots = division * (int(found["to"]) + int(found["of"]) - 1) + FOUND_SLOTS + ELEMENT_SLOTS
    dims = shape(detail, 0) or (1,)
    is_by_sector = adds_whole_rows(detail) and math.prod(dims[1:]) * item_bytes(detail, 0) >= SECTOR_BYTES
    return replace(whole, instructions=slots * numel(detail, 3), is_floor=not is_by_sector)
