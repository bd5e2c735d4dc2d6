"""Rows of Triton kernels: those that Inductor generates, and a user's own that Inductor calls."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.tensors import has_unknown_tensors, input_bytes, item_bytes, numbers, tensor_inputs
from analyzer.derive.costs.tiled import LINE_BYTES, SLOTS_A_WAVEFRONT

TOUCHES_PART: Final = re.compile(r"_(?:embedding|index|gather|scatter|slice|select|unbind|split)(?:_|$)")
"""Fused operators that touch part of a tensor argument: an embedding reads a few rows of its table."""

POINTWISE: Final = "triton_poi_"

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
        found = moving(input_bytes(detail, i) for i in tensors)
        return replace(found, near=_near(name, detail, tensors))
    elements = _elements(detail)
    if elements is None:
        return None
    found = moving((min(input_bytes(detail, i), elements * item_bytes(detail, i)) for i in tensors), is_floor=True)
    return replace(found, near=_near(name, detail, tensors, elements))


def _near(name: str, detail: OpDetail, tensors: Sequence[int], most: int | None = None) -> int | None:
    """Slots of the load/store units for what lies across a pointwise kernel's one index, None where nothing does or it
    is not told.

    The index goes along what is written, the last of the tensors. Neighbouring threads have neighbours of it: of a
    tensor in which those lie a line or more apart each thread loads a line of its own, one a clock, for each element of
    whichever of the two has more (one that is made larger is read again, one that is made smaller all of it), and for
    no more than `most` where it may touch a part alone. By an H200's counters the L1 is busy for 0.83 to 1.04 of that
    over four such kernels. A kernel of two indices is cut into tiles of both, which keeps lines together.
    """
    if not name.startswith(POINTWISE):
        return None
    of_tensors = [(detail.shapes[i], detail.strides[i]) for i in tensors if i < len(detail.strides)]
    if len(of_tensors) != len(tensors) or sum(dtype == "Scalar" for dtype in detail.dtypes) != 1:
        return None
    written, steps = of_tensors[-1]
    along = next((d for d, step in enumerate(steps) if step == 1 and written[d] > 1), None)
    if along is None:
        return None
    lines = 0
    for i, (sizes, own) in zip(tensors, of_tensors, strict=True):
        is_beside = len(sizes) == len(own) == len(written) and sizes[along] == written[along]
        if is_beside and own[along] * item_bytes(detail, i) >= LINE_BYTES:
            touched = max(math.prod(sizes), math.prod(written))
            lines += touched if most is None else min(touched, most)
    return lines * SLOTS_A_WAVEFRONT or None


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
