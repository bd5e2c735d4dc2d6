"""Fused kernels, float32 matrix products of which may run as TF32: on tensor cores, with 10 bits of mantissa."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

TF32: Final = Candidate(
    id="tf32",
    title="fusion + TF32 products",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("tf32",),
    # CUDA's own number format.
    devices=("cuda",),
    joins=("channels_last", "fused_attention"),
    caveat=(
        "it changes results: inputs of float32 matrix products keep 10 bits of mantissa in place of 23. Torch's "
        "setting is changed around each call of the graph, for every thread of the process"
    ),
)
