"""The two long kernels of an embedding's gradient: sums over parts of the places of each id, and sums of those.

Which tensors they move and what their threads do is read off ATen's EmbeddingBackwardKernel.cu, in issue slots, and
counted by no hardware. Which ids occur how often a trace does not show: they are taken to be drawn in no order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.indexing import distinct
from analyzer.derive.costs.placing import WIDE_DIVISION_SLOTS
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import input_bytes, item_bytes, numbers, numel, shape

SUM_BYTES: Final = 4
"""Parts are summed up in float32 (`acc_type`); so are the numbers of a gradient of 16 bits."""

THREAD_SLOTS: Final = WIDE_DIVISION_SLOTS + 25
"""A thread, also one that has nothing to sum up: its part and its column by a division of 64-bit numbers, its number
(4), both held against their ends (8), two counts loaded with their addresses (13)."""
PART_SLOTS: Final = 36
"""A thread that has: where its part begins and ends (20), its last sum and where that goes (16)."""
PLACE_SLOTS: Final = 25
"""A place of a part: its number, its row by a product and a sum of 64 bits, the gradient there, converted, scaled and
added, and the loop."""
TARGET_SLOTS: Final = 12
"""The row that all parts of an id belong to, loaded by two addresses."""


def sums_parts(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`compute_grad_weight`: the gradient is read, each part written. An id has at least one part."""
    ids, width = _ids(detail), _width(detail)
    if kernel.launch is None or ids is None or width is None:
        return None
    cost = moving((input_bytes(detail, 0), input_bytes(detail, 1)), (ids * width * SUM_BYTES,))
    slots = kernel.launch.all_threads * THREAD_SLOTS + ids * width * PART_SLOTS + numel(detail, 0) * PLACE_SLOTS
    return replace(cost, instructions=slots)


def sums_ids(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`sum_and_scatter`: the parts are read, and a row written for each id."""
    ids, width = _ids(detail), _width(detail)
    if kernel.launch is None or ids is None or width is None:
        return None
    elements = ids * width
    cost = moving((elements * SUM_BYTES,), (elements * item_bytes(detail, 0),))
    slots = kernel.launch.all_threads * THREAD_SLOTS + elements * (PART_SLOTS + PLACE_SLOTS + TARGET_SLOTS)
    return replace(cost, instructions=slots)


def _ids(detail: OpDetail) -> int | None:
    """How many different ids there are."""
    rows = numbers(detail, 2)
    return round(distinct(numel(detail, 1), rows[0])) if rows else None


def _width(detail: OpDetail) -> int | None:
    dims = shape(detail, 0)
    return dims[-1] if dims else None
