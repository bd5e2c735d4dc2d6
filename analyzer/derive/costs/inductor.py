"""Rows of Triton kernels: those that Inductor generates, and a user's own that Inductor calls."""

from __future__ import annotations

import math
import re
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.tensors import has_unknown_tensors, input_bytes, item_bytes, numbers, tensor_inputs

TOUCHES_PART: Final = re.compile(r"_(?:embedding|index|gather|scatter|slice|select|unbind|split)(?:_|$)")
"""Fused operators that touch part of a tensor argument: an embedding reads a few rows of its table."""

MOST_SIZES: Final = 3
"""A kernel over static shapes ends in its sizes (`xnumel`, `ynumel, xnumel`, `xnumel, r0_numel`); more numbers than
these are sizes of dynamic shapes, which do not say what is touched."""


def triton(name: str, detail: OpDetail) -> Cost | None:
    """Every tensor argument moved once; what of it is arithmetic only Inductor knows (`KernelFacts`).

    Where only part of one may be touched, no more of it than one element for each that the kernel computes: this
    counts a kernel that reads several for one too low. None where the kernel does not say how many it computes.
    """
    tensors = tensor_inputs(detail)
    if has_unknown_tensors(detail) or not tensors:
        return None
    if not TOUCHES_PART.search(name):
        return moving(input_bytes(detail, i) for i in tensors)
    elements = _elements(detail)
    if elements is None:
        return None
    return moving((min(input_bytes(detail, i), elements * item_bytes(detail, i)) for i in tensors), is_floor=True)


def is_user_kernel(name: str, detail: OpDetail) -> bool:
    """Whether a row is a Triton kernel that Inductor did not generate: it names a kernel's file, and no operator."""
    return detail.kernel_file is not None and "::" not in name and not name.startswith("triton_")


def user_kernel(detail: OpDetail) -> Cost | None:
    """Every tensor argument moved once. It may multiply matrices, touch a part, or read one many times: its operations
    are unknown.
    """
    tensors = tensor_inputs(detail)
    if has_unknown_tensors(detail) or not tensors:
        return None
    moved = tuple(input_bytes(detail, i) for i in tensors)
    return Cost(None, sum(moved), is_floor=True, reads=moved)


def _elements(detail: OpDetail) -> int | None:
    """How many elements the kernel computes: the product of the sizes that its arguments end in."""
    scalars = [numbers(detail, i) for i, dtype in enumerate(detail.dtypes) if dtype == "Scalar"]
    sizes = [s[0] for s in scalars if s is not None and len(s) == 1 and s[0] > 0]
    if not 0 < len(scalars) <= MOST_SIZES or len(sizes) < len(scalars):
        return None
    return math.prod(sizes)
