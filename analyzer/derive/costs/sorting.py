"""The steps of sorts: CUB's radix sort of one long row over the whole device, and of many short rows in a block each.

Which tensors a step reads and writes is from ATen's sources (SortStable.cu, SortUtils.cuh) and CUB's
(agent_radix_sort_onesweep.cuh, block_radix_sort.cuh). Instructions are multiprocessor throughput as Nsight Compute
counted it on an H200 (torch 2.11), in issue slots, but for those said to be estimates from a source.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.step import Kernel, counted
from analyzer.derive.costs.strided import WARP
from analyzer.derive.costs.tensors import input_bytes, item_bytes, numel, shape
from analyzer.derive.costs.tiled import SLOTS_A_WAVEFRONT

DIGITS: Final = 256
"""CUB sorts eight bits a pass over the device."""
HISTOGRAM_SLOTS: Final = 34

BLOCK_DIGIT_BITS: Final = 4
"""`RADIX_BITS` of `BlockRadixSort`: bits a pass in a block."""
WORD_BYTES: Final = 4
SCATTER: Final = 3.5
"""Wavefronts that a warp needs to put 32 words where their ranks say: the fullest of 32 banks that 32 throws reach in
no order has 3.5 on average (a sum over the multinomial distribution)."""
RANK_WAVEFRONTS: Final = 4
"""A counter of the digit is loaded and stored by each thread, in a column of its own, and loaded again for the rank."""

_IN_BLOCK: Final = re.compile(r"radixSortKVInPlace<-?\d+, ?-?\d+, ?(?P<threads>\d+), ?(?P<each>\d+),")


def in_a_block(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Rows of up to 4096, a block each: keys and places are read and written once, and between the passes lie in shared
    memory, which each pass goes through for the counters, the keys and the places. An estimate from the source. A row
    that does not fill its block is filled up.
    """
    found = _IN_BLOCK.search(kernel.name)
    if found is None or kernel.launch is None or not numel(detail, 0):
        return None
    item = item_bytes(detail, 0)
    moved = numel(detail, 0) * (item + INDEX_BYTES)
    passes = item * 8 // BLOCK_DIGIT_BITS
    words = (max(item, WORD_BYTES) + INDEX_BYTES) // WORD_BYTES
    warps = kernel.launch.blocks * int(found["threads"]) * int(found["each"]) / WARP
    wavefronts = warps * passes * (RANK_WAVEFRONTS + words * (SCATTER + 1))
    return replace(moving((moved,), (moved,)), near=round(wavefronts * SLOTS_A_WAVEFRONT))


def one_pass(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One digit: keys and places are read, and written where they belong."""
    moved = _pairs_bytes(detail)
    return None if moved is None else counted(moving((moved,), (moved,)), 124 * numel(detail, 0))


def histogram(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return (
        None
        if _pairs_bytes(detail) is None
        else counted(moving((input_bytes(detail, 0),)), HISTOGRAM_SLOTS * numel(detail, 0))
    )


def sums(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    sums = DIGITS * item_bytes(detail, 0) * INDEX_BYTES
    return counted(moving((sums,), (sums,)), 10 * sums)


def places(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """The places 0, 1, 2, …, with a division for each."""
    return counted(moving((), (numel(detail, 0) * INDEX_BYTES,)), 82 * numel(detail, 0))


def _pairs_bytes(detail: OpDetail) -> int | None:
    """Keys with their places; None for anything but one row, which is sorted another way."""
    dims = shape(detail, 0)
    return numel(detail, 0) * (item_bytes(detail, 0) + INDEX_BYTES) if dims and math.prod(dims) == max(dims) else None
