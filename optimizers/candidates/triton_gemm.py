"""Fused kernels, the matrix products among them: each a Triton kernel, with what follows it fused in.

A library's product is a kernel of its own, and so is the bias, the activation or the residual behind it. Of many small
products that second launch is what takes the time: ten graphs of 16 to 24 layers of 64 × 256 took 4.09 ms a step under
`max-autotune` on an H200 and 5.16 under `reduce-overhead`. Of that mode this is the part that compiles soon: the blocks
of each shape of product are timed once, no other kernel's are, and a product is never left to a library.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

TRITON_GEMM: Final = Candidate(
    id="triton_gemm",
    title="fusion + products in Triton",
    patches=(
        *PYTHON_LAUNCH,
        ("max_autotune_gemm", True),
        ("max_autotune_gemm_backends", "TRITON"),
        ("max_autotune_conv_backends", "ATEN"),
        # Timing each product with what follows it takes as long again for every layer, and only decides between
        # fusing and a library.
        ("benchmark_epilogue_fusion", False),
    ),
    axis=Axis.KERNELS,
    tunes_products=True,
    # Inductor's templates for a CPU are C++.
    devices=("cuda",),
    joins=("frozen", "grouped", "combo_kernels", "coordinate_descent"),
    is_dear=True,
)
