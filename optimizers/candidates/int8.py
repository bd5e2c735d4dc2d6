"""Linear layers with int8 weights, and activations brought to int8 in each call (torchao's dynamic quantisation)."""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import Direction
from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate
from optimizers.candidates.frozen import CAVEAT

INT8: Final = Candidate(
    id="int8",
    title="fusion + int8 products",
    patches=PYTHON_LAUNCH,
    axis=Axis.MEANING,
    changes=("int8",),
    directions=(Direction.INFERENCE,),
    excludes=(("frozen", "int8 products bake the weights in already"),),
    joins=("fused_attention",),
    caveat=f"it changes results: weights and activations of linear layers keep 8 bits; {CAVEAT}",
)
