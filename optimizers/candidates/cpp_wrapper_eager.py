"""Fused kernels, called from compiled C++, every Triton kernel tuned and compiled before the first call."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Axis, Candidate

CPP_WRAPPER_EAGER: Final = Candidate(
    id="cpp_wrapper_eager",
    title="fusion + C++ wrapper with kernels compiled ahead",
    patches=(("triton.cudagraphs", False), ("cpp_wrapper", True), ("triton.autotune_at_compile_time", True)),
    axis=Axis.LAUNCH,
    uses_cpp_wrapper=True,
    devices=("cuda",),
    since=(2, 13),
    lacking="there the C++ wrapper alone compiles its kernels ahead",
    is_dear=True,
)
