"""Kernels whose threads each find a place in an image and visit a window around it: pools, folds, pads.

Instructions are read off ATen's sources, in issue slots, and counted by no hardware: what is the same for a whole block
is left out, as it runs once a warp on a pipe of its own (the uniform datapath, since Turing).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.placing import DIVISION_SLOTS, WIDE_DIVISION_SLOTS, WIDE_PRODUCT_SLOTS
from analyzer.derive.costs.pooling import places
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import item_bytes

PLAIN: Final = 2
"""An integer instruction, of which a multiprocessor gives 64 results in a clock."""
WIDE: Final = 2 * PLAIN
"""One of 64-bit numbers: a sum, a comparison, a choice."""
MOVED: Final = 1
"""A load or a store beside its address."""
VOLUME: Final = 3
PLANE: Final = 2

FLOAT_DIVISION: Final = 9
"""One of float32 numbers, as `truediv` of instructions.py."""

_SIDE: Final = 8 * PLAIN
"""Where a window begins and ends along a side: a product, a sum, two maxima or minima each, and their difference."""
_ADDRESS: Final = VOLUME * WIDE_PRODUCT_SLOTS + 2 * WIDE
"""Of an element of a tensor of four dimensions, by its strides (`PackedTensorAccessor64`)."""
_LOOP: Final = 2 * PLAIN + MOVED
"""A turn of a loop: a counter, its end and the branch."""

AVERAGE: Final = WIDE_DIVISION_SLOTS + VOLUME * _SIDE + 5 * PLAIN + FLOAT_DIVISION + _ADDRESS + MOVED
"""A thread of `avg_pool3d_cuda_update_output` (AveragePool3d.cu): its frame by a division, the window, its size, the
mean and where that goes."""
AVERAGE_VISIT: Final = _LOOP + 2 * WIDE + MOVED + 1
"""A place of the window: its address, its value and the sum."""
AVERAGE_TURN: Final = _LOOP + WIDE_PRODUCT_SLOTS + WIDE
"""A row or a plane of it: where it begins."""

MAXIMUM: Final = WIDE_DIVISION_SLOTS + VOLUME * (_SIDE + WIDE_PRODUCT_SLOTS) + 2 * (_ADDRESS + MOVED)
"""The same of `max_pool3d_with_indices_single_out_frame` (DilatedMaxPool3d.cu): its frame by a division, the window,
where the image begins, and where value and place go."""
MAXIMUM_VISIT: Final = _LOOP + 2 * PLAIN + WIDE + MOVED + 6 * PLAIN
"""A place's number and address, its value, whether that is more or no number at all, and two choices."""
MAXIMUM_TURN: Final = _LOOP + PLAIN

SPREAD: Final = 5 * DIVISION_SLOTS + 15 * PLAIN + 2 * _LOOP + WIDE + MOVED
"""An element of `max_pool_backward_nchw` (DilatedMaxPool2d.cu): its row by a division, the first and the last window
along both sides by one each (`p_start`, `p_end`: two instructions beside it), the loops over images and channels, and
seven products for where its outputs and it itself lie."""
SPREAD_VISIT: Final = 2 * _LOOP + 2 * PLAIN + 3 * WIDE + 2 * MOVED + 1
"""A window that the element is in: its place of 64 bits, compared, and its gradient."""

SHARED_OUT: Final = 3 * WIDE_DIVISION_SLOTS + 4 * DIVISION_SLOTS + 10 * PLAIN + WIDE + MOVED
"""An element of `avg_pool2d_backward_out_cuda_frame` (AveragePool2d.cu): column, row and channel by a division of
64-bit numbers each, the first and the last window along both sides by one of 32 bits each, and where it goes."""
SHARED_OUT_VISIT: Final = 2 * _LOOP + PLANE * _SIDE + 3 * PLAIN + WIDE + MOVED + FLOAT_DIVISION + 1
"""A window that it is in: where that begins and ends, its size, its gradient and its share of that."""

FOLD: Final = 8 * WIDE_DIVISION_SLOTS + 12 * WIDE
"""An element of `col2im_batched_kernel` (im2col.cuh): image, channel, row and column by four divisions of 64-bit
numbers, the first and the last window along both sides by four more, and twelve sums, comparisons and choices."""
FOLD_VISIT: Final = 2 * WIDE_DIVISION_SLOTS + 2 * _LOOP + 6 * WIDE_PRODUCT_SLOTS + 4 * WIDE + MOVED + PLAIN
"""A window that it is in: two places within it, each divided by the dilation, and six products for what lies there."""

MIRROR: Final = WIDE_DIVISION_SLOTS + 2 * WIDE_PRODUCT_SLOTS + 5 * WIDE + 2 * MOVED
"""A thread of `reflection_pad2d_out_kernel` (ReflectionPad.cu): row and column by a division, whether they are in the
image, and two addresses."""
MIRROR_SIDE: Final = 2 * 5 * PLAIN + 6 * WIDE
"""Along each side two distances, of five instructions each, and six sums (`get_index_mapping2d`)."""


def averages_volumes(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return _pooled(detail, whole, kernel, (AVERAGE, AVERAGE_VISIT, AVERAGE_TURN))


def maxima_of_volumes(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return _pooled(detail, whole, kernel, (MAXIMUM, MAXIMUM_VISIT, MAXIMUM_TURN))


def _pooled(detail: OpDetail, whole: Cost, kernel: Kernel, slots: tuple[int, int, int]) -> Cost | None:
    """A thread an output, in blocks of 32 × 8 of which some hang over the edge of the image. `slots` are a thread's
    own, those of a visit and those of a row or a plane of the window.
    """
    window = places(detail, 1, VOLUME)
    if window is None or kernel.launch is None:
        return None
    deep, high, wide = window
    thread, visit, turn = slots
    each = thread + deep * turn + deep * high * turn + deep * high * wide * visit
    return replace(whole, instructions=kernel.launch.all_threads * each)


def spreads_maxima(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return _spread(detail, whole, SPREAD, SPREAD_VISIT)


def shares_out_averages(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return _spread(detail, whole, SHARED_OUT, SHARED_OUT_VISIT)


def _spread(detail: OpDetail, whole: Cost, each: int, visit: int) -> Cost | None:
    """Each element of the input looks at the outputs of all windows that it is in."""
    window = places(detail, 2, PLANE)
    steps = places(detail, 3, PLANE) or window
    if window is None or steps is None or not whole.writes:
        return None
    elements = sum(whole.writes) // item_bytes(detail, 0)
    return replace(whole, instructions=round(elements * (each + visit * _windows(window, steps))))


def folds(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Each element of the image adds up what all windows that it is in have for it."""
    window, spread, steps = (places(detail, i, PLANE) for i in (2, 3, 5))
    if window is None or spread is None or steps is None or not whole.writes:
        return None
    reach = (spread[0] * (window[0] - 1) + 1, spread[1] * (window[1] - 1) + 1)
    elements = whole.writes[0] // item_bytes(detail, 0)
    return replace(whole, instructions=round(elements * (FOLD + FOLD_VISIT * _windows(reach, steps))))


def mirrors(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    if kernel.launch is None:
        return None
    return replace(whole, instructions=kernel.launch.all_threads * (MIRROR + PLANE * MIRROR_SIDE))


def _windows(window: tuple[int, ...], steps: tuple[int, ...]) -> float:
    """How many windows an element is in, on average."""
    return math.prod(size / step for size, step in zip(window, steps, strict=True))
