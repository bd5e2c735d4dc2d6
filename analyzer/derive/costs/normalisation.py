"""Layer normalisation, which reads each row twice: for its statistics, and to normalise it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import like_first
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import dense_bytes, input_bytes, is_tensor, item_bytes, numbers, numel

LAYER_NORM_ROW: Final = 40_000
"""Instructions a row of `native_layer_norm` beside those of its elements: 128 threads merge their means and variances
by shuffles and divisions (`cuWelfordCombine` in ATen's layer_norm_kernel.cu). Counted on an H200: 62 issue slots an
element for rows of 1024, 33 for rows of 4096."""

ROWS_AT_ONCE: Final = 2_112
"""Rows that are under way: `vectorized_layer_norm_kernel` gives each a block of 128 threads, of which 16 fit on each of
the 132 multiprocessors of an H100 or H200 (2048 threads each, CUDA C++ Programming Guide). An A100 has 108."""


MEAN, WEIGHT = 3, 5
"""Places of the means and of the weight in `native_layer_norm_backward`."""

GRADIENT_OF_ROWS: Final = 18
"""An element of the rows' gradient, which goes over its row twice: in the first the input centred and scaled, the
gradient weighted, and both added up (6); in the second the same again, less two terms, and scaled (7); in vectors it is
loaded and stored at one instruction for each pass, with the loop (5). Read off the source (layer_norm_kernel.cu)."""
GRADIENT_THREAD: Final = 99
"""Each thread of it: two sums over the block (`BlockReduceSum`: five shuffles and sums, two waits, one number through
shared memory, and the same in the first warp: 41 each), one division (9) and the row's own numbers (8)."""
GRADIENT_OF_COLUMNS: Final = 9
"""Both loaded, the input centred and scaled, and added up twice. Read off the same source."""
CONVERSION: Final = 2
CONVERTED_IN_ROWS: Final = 7
CONVERTED_IN_COLUMNS: Final = 2
"""Numbers of 16 bits become float32 as they are loaded: gradient, input and weight in both passes, and the result."""
FLOAT_BYTES: Final = 4


def layer_norm(detail: OpDetail) -> Cost | None:
    """`native_layer_norm(x, shape, weight, bias, eps)`: the second reading finds a row in the cache, if all the rows
    under way, and what is written meanwhile, fit there.
    """
    found, rows = like_first(detail), _rows(detail)
    if found is None or not rows:
        return found
    # Rows that are all under way at once have all been read before the first of them is written.
    between = 1 if rows <= ROWS_AT_ONCE else 2
    span = between * dense_bytes(detail, 0) // rows * min(rows, ROWS_AT_ONCE)
    return replace(found, rereads=input_bytes(detail, 0), reread_span=span)


def gradient_of_rows(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`layer_norm_grad_input_kernel`: of `native_layer_norm_backward(grad, x, shape, mean, rstd, weight, …)` gradient
    and input are read, and the input's gradient is written.
    """
    threads = kernel.launch.all_threads if kernel.launch is not None else 0
    slots = numel(detail, 1) * (GRADIENT_OF_ROWS + _conversions(detail, CONVERTED_IN_ROWS)) + GRADIENT_THREAD * threads
    return _gradient(detail, slots, (dense_bytes(detail, 1),))


def gradient_of_columns(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`GammaBetaBackward…`: the same two are read, and added up over all rows."""
    width = input_bytes(detail, WEIGHT)
    slots = numel(detail, 1) * (GRADIENT_OF_COLUMNS + _conversions(detail, CONVERTED_IN_COLUMNS))
    return _gradient(detail, slots, (width, width))


def _gradient(detail: OpDetail, slots: int, writes: tuple[int, ...]) -> Cost | None:
    reads = tuple(input_bytes(detail, i) for i in (0, 1, MEAN, MEAN + 1))
    weight = (input_bytes(detail, WEIGHT),) if is_tensor(detail, WEIGHT) else ()
    return replace(moving((*reads, *weight), writes), instructions=slots) if reads[1] else None


def _conversions(detail: OpDetail, count: int) -> int:
    return CONVERSION * count if item_bytes(detail, 1) < FLOAT_BYTES else 0


def row_slots(name: str, detail: OpDetail) -> int:
    """Instructions that an operator spends on whole rows; 0 for all but the layer normalisation."""
    return LAYER_NORM_ROW * (_rows(detail) or 0) if name == "aten::native_layer_norm" else 0


def _rows(detail: OpDetail) -> int | None:
    width = numbers(detail, 1)
    size = math.prod(width) if width else 0
    return numel(detail, 0) // size if size else None
