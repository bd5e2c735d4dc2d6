"""Fused kernels, with torch's own attention in place of one written out as product, softmax and product."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

FUSED_ATTENTION: Final = Candidate(
    id="fused_attention",
    title="fusion + fused attention",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("fused_attention",),
    joins=("bf16", "channels_last", "fp8", "int8", "tf32"),
    caveat=(
        "it changes rounding: scaled_dot_product_attention adds up in another order. A row whose mask hides everything "
        "gives zeros, where a mask of -inf gave NaN and one of a large number the mean"
    ),
)
