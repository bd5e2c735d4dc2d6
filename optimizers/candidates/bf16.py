"""Fused kernels of the graph under `torch.autocast` to bfloat16; what goes in and out keeps its type."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

BF16: Final = Candidate(
    id="bf16",
    title="fusion + bfloat16 autocast",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("bf16",),
    joins=("channels_last", "fused_attention"),
    caveat=(
        "it changes results: float32 products and convolutions run in bfloat16, with 7 bits of mantissa in place of 23"
    ),
)
