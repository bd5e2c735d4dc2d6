"""The steps of `topk` over rows of many elements, which several blocks share (`mbtopk` in ATen's TensorTopK.cu).

It finds the k-th value of a row eight bits at a time: for each eight every block counts the digits of its part of the
row, the counts of all blocks are added up and the digit of the k-th value is found in them; and a last pass picks what
is above. So the first and the last of these read the whole input, and those between only the counts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.step import Kernel
from analyzer.derive.costs.tensors import input_bytes, numbers, numel, shape

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


SUM_BYTES: Final = 4

SUMMING_THREAD: Final = 70
"""A thread of `computeDigitCumSum`, one a digit of each row, beside the counts that it adds up: its number, the address
of what it writes and the end of its loop (24); and a sum over the block (`BlockScan` of CUB, which one of eight warps
does for all, BLOCK_SCAN_RAKING): each puts its count into shared memory and takes its sum from there (2 × 5), two waits
(6), and of that warp eight numbers loaded, added and stored by each thread, twice, and five levels of a shuffle, a
choice and a sum between (8 × 6 × 2 + 5 × 8 + 100 for finding its segment, of which each warp has an eighth: 30)."""
SUMMING_COUNT: Final = 12
"""A count that it adds up: its address by a product and two sums of 64 bits, and the sum."""

WITHIN_THREAD: Final = 104
"""A thread of `computeBlockwiseWithinKCounts`, one a digit of each block: the row of its block by a division (21), four
addresses (32), the sums of two digits held against k (10), three waits for the block (9), the digit taken from the bits
found (4), whether its warp and it itself count (8), a count summed up over the warp in five shuffles, which come at 32
a clock, and as many sums (30), less what warps below the digit leave out (10). Read off the source."""


MOST_ITEMS: Final = 64
BLOCK_THREADS: Final = 256
"""A block takes up to 64 elements a thread (`get_items_per_thread`, which asks the device how many fit it)."""


def sums_digits(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`computeDigitCumSum`: the counts of all blocks of a row are read, as few as a row may have; 256 sums a row are
    written.
    """
    row = _row(detail)
    if kernel.launch is None or not row:
        return None
    digits, blocks = kernel.launch.all_threads, -(-row // (MOST_ITEMS * BLOCK_THREADS))
    cost = moving((digits * blocks * COUNT_BYTES,), (digits * SUM_BYTES,))
    return replace(cost, instructions=digits * (SUMMING_THREAD + SUMMING_COUNT * blocks))


def finds_digits(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`computeBlockwiseWithinKCounts`: each block reads the sums of its row and its own counts, and writes how many of
    its elements are above.
    """
    row = _row(detail)
    if kernel.launch is None or not row:
        return None
    digits = kernel.launch.all_threads
    read = (numel(detail, 0) // row * DIGITS * SUM_BYTES, digits * COUNT_BYTES)
    cost = moving(read, (kernel.launch.blocks * SUM_BYTES,))
    return replace(cost, instructions=digits * WITHIN_THREAD)


def _row(detail: OpDetail) -> int | None:
    """How many elements a row has."""
    dims, dim = shape(detail, 0), numbers(detail, 2)
    if not dims or not dim or not -len(dims) <= dim[0] < len(dims):
        return None
    return dims[dim[0]]
