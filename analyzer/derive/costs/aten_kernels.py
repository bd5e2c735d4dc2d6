"""What ATen's kernel templates spend beside an operator's own arithmetic, by the names of their instances.

The figures are multiprocessor throughput as Nsight Compute counted it on an H200 (torch 2.11), in issue slots an
element, less those of the operator; the templates are in ATen's CUDALoops.cuh and have been alike since torch 1.13.
"""

from __future__ import annotations

import re
from typing import Final

_TEMPLATES: Final = (
    (re.compile(r"(?<![\w])elementwise_kernel<\d+, ?\d+,.*gpu_kernel_impl_nocast"), 52),
    (re.compile(r"(?<![\w])(?:legacy_)?elementwise_kernel<\d+, ?\d+,"), 52),
    (re.compile(r"unrolled_elementwise_kernel<.*LoadWithCast"), 45),
)
"""`elementwise_kernel` divides the index of each element by every size (`OffsetCalculator`): 59 to 64 slots in all for
an add, a `where`, a group norm's last pass. `LoadWithCast` switches over the type of each element: 53 for a cast. The
vectorised kernels spend none to speak of: 5 to 8 in all for an add or a product."""

_IS_STRIDED: Final = re.compile(r"(?<![\w])(?:legacy_)?elementwise_kernel<\d+, ?\d+,")


def template_slots(kernel: str) -> int:
    """Instructions an element that a kernel's template adds; 0 for a template that is not in the table."""
    return next((slots for pattern, slots in _TEMPLATES if pattern.search(kernel)), 0)


def is_strided(kernel: str) -> bool:
    """Whether a kernel walks its tensors by strides, an element a load."""
    return _IS_STRIDED.search(kernel) is not None
