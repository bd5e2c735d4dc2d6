"""What ATen's kernel templates spend beside an operator's own arithmetic, by the names of their instances.

The figures are multiprocessor throughput as Nsight Compute counted it on an H200 (torch 2.11), in issue slots an
element, less those of the operator; the templates are in ATen's CUDALoops.cuh and have been alike since torch 1.13.
"""

from __future__ import annotations

import re
from typing import Final

INDEX_SLOTS: Final = 52
CAST_SLOTS: Final = 45
HALF_ROW_SLOTS: Final = 10

_STRIDED: Final = re.compile(r"(?<![\w])(?:legacy_)?elementwise_kernel<\d+, ?\d+,")
_TEMPLATES: Final = (
    (_STRIDED, INDEX_SLOTS),
    (re.compile(r"reduce_kernel<512, 1, at::native::ReduceOp<c10::(?:Half|BFloat16),"), HALF_ROW_SLOTS),
)
_CASTS: Final = re.compile(r"unrolled_elementwise_kernel<.*LoadWithCast<(?P<inputs>\d+)>")
"""`elementwise_kernel` divides the index of each element by every size (`OffsetCalculator`): 59 to 64 slots in all for
an add, a `where`, a group norm's last pass. `LoadWithCast<n>` and its store switch over the type of each element of n
inputs and of the output: 45 for a cast, which has one input. Rows of 16-bit numbers are reduced after converting each
number: 14 slots in all for a sum of 8192 × 11008 in bf16, against 4 in float32. The vectorised kernels spend none to
speak of: 5 to 8 in all for an add or a product."""


def template_slots(kernel: str) -> int:
    """Instructions an element that a kernel's template adds; 0 for a template that is not in the table."""
    casts = _CASTS.search(kernel)
    if casts is not None:
        return CAST_SLOTS * (int(casts["inputs"]) + 1) // 2
    return next((slots for pattern, slots in _TEMPLATES if pattern.search(kernel)), 0)


def is_strided(kernel: str) -> bool:
    """Whether a kernel walks its tensors by strides, an element a load."""
    return _STRIDED.search(kernel) is not None
