"""Linear layers with float8 weights, and activations brought to float8 in each call (torchao's)."""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import Direction
from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate
from optimizers.candidates.frozen import CAVEAT

FP8: Final = Candidate(
    id="fp8",
    title="fusion + float8 products",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("fp8",),
    # Whether this one has float8 products is asked as the graph is compiled.
    devices=("cuda",),
    directions=(Direction.INFERENCE,),
    excludes=(("frozen", "float8 products bake the weights in already"),),
    joins=("fused_attention",),
    caveat=f"it changes results: weights and activations of linear layers keep 3 bits of mantissa; {CAVEAT}",
)
