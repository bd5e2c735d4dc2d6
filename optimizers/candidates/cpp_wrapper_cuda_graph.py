"""Fused kernels, called from compiled C++ as that call is recorded, and replayed as one CUDA graph."""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import Axis, Candidate

CPP_WRAPPER_CUDA_GRAPH: Final = Candidate(
    id="cpp_wrapper_cuda_graph",
    title="fusion + C++ wrapper in a CUDA graph",
    # Torch leaves CUDA graphs out of the C++ wrapper while graphs may be partitioned (get_cpp_wrapper_config).
    patches=(("triton.cudagraphs", True), ("cpp_wrapper", True), ("graph_partition", False)),
    axis=Axis.LAUNCH,
    uses_cuda_graphs=True,
    uses_cpp_wrapper=True,
    devices=("cuda",),
    since=(2, 13),
    lacking="there torch skips CUDA graphs wherever the C++ wrapper is on",
    needs_same_forward=True,  # as cuda_graphs
    is_dear=True,
)
