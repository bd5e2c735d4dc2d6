"""Layer normalisation, which reads each row twice: for its statistics, and to normalise it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.elementwise import like_first
from analyzer.derive.costs.tensors import dense_bytes, input_bytes, numbers, numel

LAYER_NORM_ROW: Final = 40_000
"""Instructions a row of `native_layer_norm` beside those of its elements: 128 threads merge their means and variances
by shuffles and divisions (`cuWelfordCombine` in ATen's layer_norm_kernel.cu). Counted on an H200: 62 issue slots an
element for rows of 1024, 33 for rows of 4096."""

ROWS_AT_ONCE: Final = 2_112
"""Rows that are under way: `vectorized_layer_norm_kernel` gives each a block of 128 threads, of which 16 fit on each of
the 132 multiprocessors of an H100 or H200 (2048 threads each, CUDA C++ Programming Guide). An A100 has 108."""


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


def row_slots(name: str, detail: OpDetail) -> int:
    """Instructions that an operator spends on whole rows; 0 for all but the layer normalisation."""
    return LAYER_NORM_ROW * (_rows(detail) or 0) if name == "aten::native_layer_norm" else 0


def _rows(detail: OpDetail) -> int | None:
    width = numbers(detail, 1)
    size = math.prod(width) if width else 0
    return numel(detail, 0) // size if size else None
