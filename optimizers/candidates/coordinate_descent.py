"""Fused kernels, the block sizes of each Triton kernel improved step by step as it is first run."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

COORDINATE_DESCENT: Final = Candidate(
    id="coordinate_descent",
    title="fusion + tuned block sizes",
    patches=(*PYTHON_LAUNCH, ("coordinate_descent_tuning", True)),
    axis=Axis.KERNELS,
    # Inductor's C++ kernels have no block sizes to tune.
    devices=("cuda",),
    joins=("frozen", "combo_kernels", "max_autotune"),
    is_dear=True,
)
