"""Fused kernels, the convolutions of which get images and weights with the channels innermost in memory."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

CHANNELS_LAST: Final = Candidate(
    id="channels_last",
    title="fusion + channels last",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("channels_last",),
    joins=("bf16", "fused_attention", "tf32"),
    caveat=(
        "it changes rounding: convolutions run with the channels innermost, by other kernels. Weights are laid out "
        "anew in each call; with `frozen`, or in a model that has the layout already, they are not"
    ),
)
