"""Fused kernels, each matrix product and pointwise kernel the fastest of several that were timed."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

MAX_AUTOTUNE: Final = Candidate(
    id="max_autotune",
    title="fusion + autotuned kernels",
    patches=(
        *PYTHON_LAUNCH,
        ("max_autotune", True),
        ("max_autotune_pointwise", True),
        ("max_autotune_gemm", True),
    ),
    axis=Axis.KERNELS,
    joins=("frozen",),
    is_dear=True,
)
