"""What ATen's kernel templates spend beside an operator's own arithmetic, by the names of their instances.

The figures are multiprocessor throughput as Nsight Compute counted it on an H200 (torch 2.11), in issue slots an
element, less those of the operator; the templates are in ATen's CUDALoops.cuh and have been alike since torch 1.13.
"""

from __future__ import annotations

import re
from typing import Final

INDEX_SLOTS: Final = 52
CAST_SLOTS: Final = 45

REDUCING_THREAD_SLOTS: Final = 215
"""What each thread of `reduce_kernel` spends beside its elements: it finds its place and its output, and adds up with
the others of its warp and block (`run`, `block_x_reduce` in ATen's Reduce.cuh). Maxima of 16384 × 8192 (512 threads a
row, 16 elements each) and of 2048 × 32000 (63 each) took 21 and 11 slots an element, sums of 8192 × 11008 (21 each) and
of 2048 × 32000 14 and 7: the same 215 beside 8 and 3 an element."""

FLOAT8_SLOTS: Final = 24
"""A number to eight bits beside a copy: its sign off and on again, three comparisons, rounding to even and the shift,
for small ones an addition instead, and choosing between: twelve integer instructions at half the rate
(`fp8e4m3fn_from_fp32_value` in Float8_e4m3fn.h). Read off the source."""

_REDUCING: Final = re.compile(r"(?<![\w])reduce_kernel<")
_STRIDED: Final = re.compile(r"(?<![\w])(?:legacy_)?elementwise_kernel<\d+, ?\d+,")
_TEMPLATES: Final = (
    (_STRIDED, INDEX_SLOTS),
    (re.compile(r"index_elementwise_kernel<.*flip_kernel_impl"), INDEX_SLOTS),
    (re.compile(r"float8_copy_kernel_cuda"), FLOAT8_SLOTS),
)
_CASTS: Final = re.compile(r"unrolled_elementwise_kernel<.*LoadWithCast<(?P<inputs>\d+)>")
"""`elementwise_kernel` divides the index of each element by every size (`OffsetCalculator`): 59 to 64 slots in all for
an add, a `where`, a group norm's last pass. `LoadWithCast<n>` and its store switch over the type of each element of n
inputs and of the output: 45 for a cast, which has one input. The vectorised kernels spend none to
speak of: 5 to 8 in all for an add or a product."""


def template_slots(kernel: str) -> int:
    """Instructions an element that a kernel's template adds; 0 for a template that is not in the table."""
    casts = _CASTS.search(kernel)
    if casts is not None:
        return CAST_SLOTS * (int(casts["inputs"]) + 1) // 2
    return next((slots for pattern, slots in _TEMPLATES if pattern.search(kernel)), 0)


def thread_slots(kernel: str) -> int:
    """Instructions of each thread that a kernel's template adds, however many elements it has."""
    return REDUCING_THREAD_SLOTS if _REDUCING.search(kernel) else 0


def is_strided(kernel: str) -> bool:
    """Whether a kernel walks its tensors by strides, an element a load."""
    return _STRIDED.search(kernel) is not None
