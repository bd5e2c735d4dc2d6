"""What counts as device work on a CPU: the own time of operators that compute something."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from analyzer.core.trace import BoolColumn, IntColumn, Trace
from analyzer.derive.nesting import NOBODY, Nesting

_NAMES_ONLY: Final = (
    "alias|as_strided|chunk|contiguous|detach|diagonal|empty|empty_like|empty_strided|expand|expand_as|flatten|lift_fresh"
    "|movedim|narrow|new_empty|new_empty_strided|permute|reshape|reshape_as|resize|resolve_conj|resolve_neg|result_type"
    "|select|set|set_data|slice|split|split_with_sizes|squeeze|swapaxes|t|tensor_split|to_dense|transpose|unbind"
    "|unflatten|unsafe_chunk|unsafe_split|unsqueeze|unsafe_view|_unsafe_view|view|view_as|view_as_real"
    "|view_as_complex|_reshape_alias|_conj|_has_compatible_shallow_copy_type|is_same_size|numpy_T|adjoint|mT"
)
_THROUGH_OTHERS: Final = (
    "adaptive_avg_pool2d|argwhere|batch_norm|_batch_norm_impl_index|clip|concat|conv1d|conv2d|conv3d|conv_transpose1d"
    "|conv_transpose2d|conv_transpose3d|convolution|_convolution|cross_entropy_loss|dropout|einsum|full|full_like|group_norm"
    "|instance_norm|is_nonzero|item|layer_norm|linear|log_softmax|matmul|max_pool2d|multi_head_attention_forward"
    "|new_full|new_ones|new_zeros|nll_loss_nd|ones|ones_like|pad|rand|randn|rms_norm|scaled_dot_product_attention"
    "|softmax|stack|square|tensordot|to|_to_copy|type_as|zeros|zeros_like"
)

BOOKKEEPING: Final = re.compile(rf"aten::(?:{_NAMES_ONLY}|{_THROUGH_OTHERS})_?")
"""Operators that only rename memory, allocate it, or call others: their own time is the framework's."""

OPERATOR: Final = re.compile(r"(?!autograd::|torch::autograd::|torch::jit|profiler::|graphbound::)\w+::\w[\w.]*")
"""Rows that went through the dispatcher, custom operators included; `autograd::engine::…` and `…Backward0` did not."""

INDUCTOR_KERNEL: Final = re.compile(r"(?:graph_\d+_)?(?:cpp|triton)_\w+")
"""Rows of Inductor's own kernels (`graph_0_cpp_fused_relu_1` in a trace with `cpp.enable_kernel_profile`)."""


def is_work(name: str) -> bool:
    """Whether the own time of an operator row of this name is work of the device. Unknown operators are."""
    if INDUCTOR_KERNEL.fullmatch(name):
        return True
    return OPERATOR.fullmatch(name) is not None and BOOKKEEPING.fullmatch(name) is None


def has_dispatch(name: str) -> bool:
    """Whether a row went through the dispatcher. Inductor calls its own kernels directly."""
    return INDUCTOR_KERNEL.fullmatch(name) is None


def own_time(trace: Trace, ops: Nesting) -> tuple[IntColumn, IntColumn, IntColumn]:
    """Start, end and operator row of every stretch in which an operator that works is the innermost of its thread.
    `ops` are the operators of the trace.

    An operator with children works too: `aten::addmm` multiplies matrices itself, between calls that only rename
    them. One that calls its own overload (`aten::sum` inside `aten::sum`) does not.
    """
    works = np.asarray([is_work(name) for name in trace.names], dtype=np.bool_)[trace.name_id]
    works[_overloads(trace, ops)] = False
    parts = [inner.stretches() for inner in ops.inner]
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing
    start, end, owner = (np.concatenate(column) for column in zip(*parts, strict=True))
    keep = works[owner] & (end > start)
    return start[keep], end[keep], owner[keep]


def _overloads(trace: Trace, ops: Nesting) -> IntColumn:
    """The operator rows that directly call a row of their own name."""
    called = np.flatnonzero(ops.parent != NOBODY)
    caller = ops.parent[called]
    is_overload: BoolColumn = trace.name_id[called] == trace.name_id[caller]
    overloads: IntColumn = caller[is_overload]
    return overloads
