"""Fused kernels with the weights baked in: what depends on them alone is computed once, as the graph is compiled.

Products that share their left side become one with a wider weight (`x @ [wq wk wv]`), batch norms are folded into
convolutions, and convolution weights take the layout that their kernels want. Inductor's own `freezing` needs Dynamo
to keep the weights out of the graph's inputs; here it is given them graph by graph (see optimizers/frozen_graph.py).
"""

from __future__ import annotations

from typing import Final

from analyzer.core.graphs import Direction
from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

CAVEAT: Final = (
    "the weights are baked in and kept twice: after a change of them (load_state_dict, an optimizer's step) compile "
    "again. It is noticed, save for writes through .data; the graph then runs uncompiled, with a warning"
)

FROZEN: Final = Candidate(
    id="frozen",
    title="fusion + frozen weights",
    patches=(
        *PYTHON_LAUNCH,
        ("freezing", True),
        # The user's own model keeps its weights.
        ("freezing_discard_parameters", False),
        ("layout_optimization", True),
        # Products of one input are merged on a GPU always, on a CPU only with this (torch 2.11 to 2.14).
        ("cpp.enable_concat_linear", True),
    ),
    axis=Axis.KERNELS,
    freezes=True,
    joins=("grouped", "max_autotune", "coordinate_descent", "combo_kernels"),
    directions=(Direction.INFERENCE,),
    caveat=CAVEAT,
)
