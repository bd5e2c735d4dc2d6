"""Fused kernels, recorded once and replayed as a CUDA graph: one launch for all of them.

Torch's own way since 2.11 and before (`graph_partition`): what a CUDA graph cannot hold runs between several of them.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Axis, Candidate

CUDA_GRAPHS: Final = Candidate(
    id="cuda_graphs",
    title="fusion + CUDA graph",
    patches=(("triton.cudagraphs", True), ("cpp_wrapper", False), ("graph_partition", True)),
    axis=Axis.LAUNCH,
    uses_cuda_graphs=True,
    devices=("cuda",),
    # Saved activations lie at fixed addresses only if the forward is a CUDA graph too; a backward graph alone
    # would be recorded again at each step.
    needs_same_forward=True,
)
