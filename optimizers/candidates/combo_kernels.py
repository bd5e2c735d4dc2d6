"""Fused kernels, independent ones of which are put into one launch.

It can lose: with coordinate descent it took GPTlite under a CUDA graph from 11.5 to 14.2 ms on an H200 (torch 2.11).
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

COMBO_KERNELS: Final = Candidate(
    id="combo_kernels",
    title="fusion + combined kernels",
    patches=(*PYTHON_LAUNCH, ("combo_kernels", True)),
    axis=Axis.KERNELS,
    # Inductor has them for Triton alone.
    devices=("cuda",),
    joins=("frozen",),
)
