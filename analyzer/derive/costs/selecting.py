"""The steps of `topk` over rows of many elements, which several blocks share (`mbtopk` in ATen's TensorTopK.cu).

It finds the k-th value of a row eight bits at a time: for each eight every block counts the digits of its part of the
row, and a last pass picks what is above. So each of these passes reads the whole input.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import input_bytes, numel

DIGITS: Final = 256
"""`RADIX_DIGITS`: eight bits a pass."""
COUNT_BYTES: Final = 2
"""A block's count of a digit is a `short`."""

DIGIT_SLOTS: Final = 32
"""An element of `computeBlockDigitCounts`: sixteen instructions of the pipe that gives 64 results in a clock. They are
the loop's counter and its end (2), the element's place and whether that is in the row (2), its bits as a number that is
in order, NaN on top (`TopKTypeConfig::convert`: 6), whether its higher digits are those sought (2), its digit (3) and
the address of that one's counter (1); loading it, its address and counting run beside them. Read off the source, and
counted by no hardware."""


def counts_digits(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`computeBlockDigitCounts`: the input is read, and each block writes how often it saw each digit."""
    if kernel.launch is None or not input_bytes(detail, 0):
        return None
    cost = moving((input_bytes(detail, 0),), (kernel.launch.blocks * DIGITS * COUNT_BYTES,))
    of_threads = COUNTING_THREAD * kernel.launch.all_threads
    return replace(cost, instructions=DIGIT_SLOTS * numel(detail, 0) + of_threads)


COUNTING_THREAD: Final = 82
"""Each of its threads beside the elements: two divisions, which find the row that its block has a part of and where
that begins (21 each, `placing.DIVISION_SLOTS`), its counter cleared, read and written, three waits for the
block, and how many elements it has (40). Read off the source."""
PICKING_THREAD: Final = 124
"""The same of `gatherTopK`, which finds its row in the input and in both outputs: four divisions, and two more numbers
to load."""


PICK_SLOTS: Final = 60
"""An element of `gatherTopK`: its place, its bits in order and two comparisons (24), and a sum over the block of who is
above the k-th value (`exclusiveBinaryPrefixScan` in ATen's ScanUtils.cuh: 36). That is a vote and two counts of bits,
which come at 16 a clock (20); three waits for the block, and the warp's count and its neighbour's through shared memory
(8); the eight counts, which the first thread adds up, spread over eight warps (4); and the result (4). The same sum
again, of those like the k-th value until as many as are wanted are found, is not counted. Read off the source."""


def picks(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`gatherTopK`: the input is read, values and places are written."""
    if not input_bytes(detail, 0):
        return None
    threads = kernel.launch.all_threads if kernel.launch is not None else 0
    slots = PICK_SLOTS * numel(detail, 0) + PICKING_THREAD * threads
    return replace(moving((input_bytes(detail, 0),), whole.writes), instructions=slots)
