"""Fused kernels, called from compiled C++ in place of Python."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Candidate

CPP_WRAPPER: Final = Candidate(
    id="cpp_wrapper",
    title="fusion + C++ wrapper",
    patches=(("triton.cudagraphs", False), ("cpp_wrapper", True)),
    uses_cpp_wrapper=True,
)
