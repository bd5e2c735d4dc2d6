"""Fused kernels, called from compiled C++ in place of Python.

How its Triton kernels are compiled is torch's default: as the graph is compiled until 2.12, since 2.13 at their first
call.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Axis, Candidate

CPP_WRAPPER: Final = Candidate(
    id="cpp_wrapper",
    title="fusion + C++ wrapper",
    patches=(("triton.cudagraphs", False), ("cpp_wrapper", True)),
    axis=Axis.LAUNCH,
    uses_cpp_wrapper=True,
    is_dear=True,
)
