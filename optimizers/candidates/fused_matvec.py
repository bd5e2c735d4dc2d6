"""Fused kernels, each product of a matrix and a vector among them, as a sum that Inductor fuses with its neighbours.

A decoder that makes one token at a time is made of such products. Handed to a library each is a kernel of its own, in
two steps often; as a reduction it is one kernel with the norm's scale, the gate or the residual in it. Inductor writes
them so only where it tunes block sizes by coordinate descent, which takes minutes (torch 2.11 to 2.14,
`_inductor/decomposition.py`): a Granite-like decoder of 16 layers took 0.94 ms a token under `max-autotune` on an H200
and 1.36 under `reduce-overhead`.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

NO_MATVEC: Final = "no product of the graph is of a matrix and a vector"

FUSED_MATVEC: Final = Candidate(
    id="fused_matvec",
    title="fusion + fused matrix-vector products",
    patches=PYTHON_LAUNCH,
    axis=Axis.KERNELS,
    fuses_matvecs=True,
    # On a CPU Inductor has its own rule for them.
    devices=("cuda",),
    joins=("frozen", "grouped", "combo_kernels", "coordinate_descent", "triton_gemm", "max_autotune"),
)
