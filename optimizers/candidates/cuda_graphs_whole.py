"""Fused kernels, recorded as one CUDA graph or not at all.

Without torch's partitioning (`graph_partition`) nothing of the graph's Python runs at a replay, such as its checks of
every input's size; in exchange one operation that a CUDA graph cannot hold costs the whole graph its replay.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Axis, Candidate
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS

CUDA_GRAPHS_WHOLE: Final = Candidate(
    id="cuda_graphs_whole",
    title="fusion + whole CUDA graph",
    patches=(("triton.cudagraphs", True), ("cpp_wrapper", False), ("graph_partition", False)),
    axis=Axis.LAUNCH,
    uses_cuda_graphs=True,
    devices=("cuda",),
    needs_same_forward=True,  # as cuda_graphs
    whole_of=CUDA_GRAPHS.id,
)
