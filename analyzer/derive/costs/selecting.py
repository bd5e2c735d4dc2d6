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
    return replace(cost, instructions=DIGIT_SLOTS * numel(detail, 0))


def picks(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """`gatherTopK`: the input is read, values and places are written. Its arithmetic is unknown: it adds up over each
    256 elements, once for those above the k-th value, and again until as many like it as are wanted are found.
    """
    return moving((input_bytes(detail, 0),), whole.writes) if input_bytes(detail, 0) else None
