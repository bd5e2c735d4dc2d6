"""Binary searches: `searchsorted` and `bucketize`.

Instructions are read off ATen's Bucketization.cu, in issue slots, and counted by no hardware.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.step import Formula, Kernel
from analyzer.derive.costs.tensors import flags, input_bytes, numel, shape

LONG_BYTES: Final = 8
INT_BYTES: Final = 4

STEP_SLOTS: Final = 32
"""A halving in `lower_bound` or `upper_bound`, in 64-bit numbers, of which an instruction is two of 32 bits at half the
rate: the end is held against the start, the middle found by a difference, a shift and a sum, its address by a sum, and
one of two ends moved (7 × 4); the middle is loaded and compared (3), and a branch."""
FOUND_SLOTS: Final = 20
"""An element beside its halvings: its number, two addresses and the loop's end (16), a load, a store and branches."""


def searchsorted(detail: OpDetail) -> Cost | None:
    """`searchsorted(boundaries, x, out_int32, right, …)`: the place of each element of `x` is written."""
    return _searches(detail, boundaries=0, x=1)


def bucketize(detail: OpDetail) -> Cost | None:
    """`bucketize(x, boundaries, out_int32, right)`."""
    return _searches(detail, boundaries=1, x=0)


def halves(boundaries: int) -> Formula:
    """`searchsorted_cuda_kernel`: each element halves what is left of a row of boundaries, the argument at that place,
    until nothing is.
    """

    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        row = shape(detail, boundaries)
        if not row:
            return None
        each = FOUND_SLOTS + STEP_SLOTS * row[-1].bit_length()
        return replace(whole, instructions=sum(whole.writes) // _place_bytes(detail) * each)

    return formula


def _searches(detail: OpDetail, boundaries: int, x: int) -> Cost | None:
    if shape(detail, boundaries) is None or shape(detail, x) is None:
        return None
    reads = (input_bytes(detail, boundaries), input_bytes(detail, x))
    return moving(reads, (numel(detail, x) * _place_bytes(detail),))


def _place_bytes(detail: OpDetail) -> int:
    return INT_BYTES if flags(detail, 2) == (True,) else LONG_BYTES
