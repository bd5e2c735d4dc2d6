"""Fused kernels, with products of the same input merged into one, and alike products and norms into batched ones.

Torch's group and batch fusions know matrices alone; linear layers of one input of any rank (the query, key and value
of every head) are merged in the captured graph, their weights laid side by side in each call: a copy of the weights
for one wide product in place of many narrow ones. Then alike small products are batched with what follows them, so
that heads written as modules of their own become one attention of several heads. Both work in training too, and with
the weights baked in (`frozen+grouped`) the copy is made once.
"""

from __future__ import annotations

from typing import Final

from optimizers.candidates.base import PYTHON_LAUNCH, Axis, Candidate

GROUPED: Final = Candidate(
    id="grouped",
    title="fusion + merged products",
    patches=(
        *PYTHON_LAUNCH,
        # What `torch._inductor.fx_passes.group_batch_fusion` has for graphs of Dynamo, with its own limits.
        ("pre_grad_fusion_options", {"batch_linear_lhs": {}, "batch_linear": {}, "batch_layernorm": {}}),
    ),
    axis=Axis.KERNELS,
    groups=True,
    joins=("combo_kernels", "coordinate_descent", "max_autotune"),
)
