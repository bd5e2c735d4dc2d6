"""Kernels that do one step of an operator of several: each has a cost of its own, and no share of the operator's.

Which tensors a step reads and writes is from ATen's sources (Normalization.cuh, group_norm_kernel.cu, SoftMax.cu,
SortStable.cu) and CUB's (agent_radix_sort_onesweep.cuh). Instructions an element are multiprocessor throughput as
Nsight Compute counted it on an H200 (torch 2.11), in issue slots.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.aten_kernels import template_slots
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.instructions import ATTENTION_PAIR
from analyzer.derive.costs.tensors import (
    dense_bytes,
    input_bytes,
    is_tensor,
    item_bytes,
    numel,
    shape,
)

PARTIAL_BYTES: Final = 4
"""Partial sums of a product that is split along its inner dimension are float32."""

LEAST_SPLITS: Final = 2
LAYOUT_CHANNELS: Final = 8
"""cuDNN pads channels to the eight elements that its 16-bit tensor-core kernels load at once (16 bytes)."""

ROWS_AT_ONCE: Final = 264
"""Two blocks on each of the 132 multiprocessors of an H100 or H200."""

GATHER_SLOTS: Final = 67
DIGITS: Final = 256
"""CUB sorts eight bits a pass."""


PAIR_BYTES: Final = 50
PAIR_WIDTHS: Final = 128
"""What crosses from the L2 for each pair of query and key of head width 64, in float32: 51 bytes for 4 × 16 heads of
length 256, 50 for 1024, counted on an H200. It is four times what blocks of 64 × 64 read once would need."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A step's cost. `is_shared` where several kernels of the operator do it, and share it by their durations.

    `is_beside` where the operator's other kernels still do all that it must: the step is what its way of doing so adds.
    """

    cost: Cost
    is_shared: bool = False
    is_beside: bool = False


class _Kind(Enum):
    STEP = "one kernel does a step"
    BESIDE = "one kernel does what is beside the operator"
    SHARED_BESIDE = "several kernels do it"


_Formula = Callable[[OpDetail, Cost, str], Cost | None]


def stage_of(op: str, detail: OpDetail, kernel: str, whole: Cost) -> Stage | None:
    """The step that a kernel does of an operator of which `whole` is the cost; None where it is no such kernel."""
    for ops, names, formula, kind in _STAGES:
        if ops.fullmatch(op) and names.search(kernel):
            try:
                cost = formula(detail, whole, kernel)
            except (IndexError, KeyError):
                # A recording with fewer inputs than the schema has.
                return None
            if cost is None:
                return None
            return Stage(cost, is_shared=kind is _Kind.SHARED_BESIDE, is_beside=kind is not _Kind.STEP)
    return None


def has_stages(op: str) -> bool:
    """Whether some kernel may do but a step of this operator."""
    return any(ops.fullmatch(op) for ops, _, _, _ in _STAGES)


def _reads_first(slots: int) -> _Formula:
    def formula(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
        return _counted(moving((input_bytes(detail, 0),)), slots * numel(detail, 0))

    return formula


def _maps_first(slots: int) -> _Formula:
    def formula(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
        cost = moving((input_bytes(detail, 0),), (dense_bytes(detail, 0),))
        return _counted(cost, (slots + template_slots(kernel)) * numel(detail, 0))

    return formula


def _counted(cost: Cost, instructions: int) -> Cost | None:
    return replace(cost, instructions=instructions, is_counted=True) if cost.bytes else None


def _gathers(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """One kernel for all of `gather` and `scatter`: index arithmetic for each index, 67 and 68 slots of it."""
    return (
        replace(whole, instructions=GATHER_SLOTS * numel(detail, 2), is_counted=True)
        if shape(detail, 2) is not None
        else None
    )


def _thrice(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """A softmax whose rows fit no shared memory reads them for the maximum, the sum and the result. A block has one
    row, and two blocks of 1024 threads are on each of an H200's multiprocessors.
    """
    dims = shape(detail, 0)
    if not dims:
        return None
    read = input_bytes(detail, 0)
    span = min(read, ROWS_AT_ONCE * dims[-1] * item_bytes(detail, 0)) if "Spatial" not in kernel else read
    return replace(whole, rereads=2 * read, reread_span=span)


def _sort_pass(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """One digit: keys and places are read, and written where they belong."""
    moved = _pairs_bytes(detail)
    return None if moved is None else _counted(moving((moved,), (moved,)), 124 * numel(detail, 0))


def _sort_histogram(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    return None if _pairs_bytes(detail) is None else _reads_first(34)(detail, whole, kernel)


def _sort_sums(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    sums = DIGITS * item_bytes(detail, 0) * INDEX_BYTES
    return _counted(moving((sums,), (sums,)), 10 * sums)


def _sort_places(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """The places 0, 1, 2, …, with a division for each."""
    return _counted(moving((), (numel(detail, 0) * INDEX_BYTES,)), 82 * numel(detail, 0))


def _pairs_bytes(detail: OpDetail) -> int | None:
    """Keys with their places; None for anything but one row, which is sorted another way."""
    dims = shape(detail, 0)
    return numel(detail, 0) * (item_bytes(detail, 0) + INDEX_BYTES) if dims and math.prod(dims) == max(dims) else None


def _adds_splits(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """Adds up the parts of a split product: at least two of them, mostly still in the cache."""
    if not whole.writes or not is_tensor(detail, 0):
        return None
    out = whole.writes[0] // item_bytes(detail, 0)
    return _counted(moving((LEAST_SPLITS * out * PARTIAL_BYTES,), whole.writes), 10 * out)


def _changes_layout(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """What cuDNN does before and after a convolution in another layout: the input and the weight are rewritten, with
    channels filled up where that is what the kernel is for.
    """
    dims = shape(detail, 0)
    if dims is None or len(dims) < 3 or not dims[1]:
        return None
    read = input_bytes(detail, 0) + input_bytes(detail, 1)
    channels = -(-dims[1] // LAYOUT_CHANNELS) * LAYOUT_CHANNELS if "Padding" in kernel else dims[1]
    return _counted(moving((read,), (read * channels // dims[1],)), 0)


def _depthwise(slots: int) -> _Formula:
    """A convolution of single channels: multiply-adds outside the tensor cores, each with its loads and index."""

    def formula(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
        return replace(whole, instructions=slots * whole.flops // 2, is_counted=True) if whole.flops else None

    return formula


def _fast_float32(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """Keys and values, and queries with them, are read for each block of 64 × 64 scores, and not kept in between."""
    if not whole.instructions or not whole.flops:
        return None
    pairs = whole.instructions // ATTENTION_PAIR
    widths = whole.flops // (2 * pairs)
    return replace(whole, crossings=whole.bytes + pairs * widths * PAIR_BYTES // PAIR_WIDTHS)


def _changes_back(detail: OpDetail, whole: Cost, kernel: str) -> Cost | None:
    """The output of a convolution, rewritten."""
    return _counted(moving(whole.writes, whole.writes), 0)


_NORM = (
    r"aten::(?:native_batch_norm|_native_batch_norm_legit|_batch_norm_with_update|batch_norm_stats|batch_norm_elemt)"
)
_GROUP_NORM = r"aten::native_group_norm"
_SORT = r"aten::(?:sort|argsort|_sort)"
_PRODUCT = r"aten::(?:mm|bmm|addmm|baddbmm|_addmm_activation|linear|_scaled_mm|_int_mm)"
_CONVOLUTION = r"aten::(?:cudnn_)?convolution(?:_relu|_add_relu)?"

_STAGES: Final[tuple[tuple[re.Pattern[str], re.Pattern[str], _Formula, _Kind], ...]] = tuple(
    (re.compile(ops), re.compile(names), formula, kind)
    for ops, names, formula, kind in (
        (_NORM, r"batch_norm_collect_statistics\w*_kernel", _reads_first(28), _Kind.STEP),
        (_NORM, r"batch_norm_transform_input\w*_kernel", _maps_first(30), _Kind.STEP),
        (_GROUP_NORM, r"RowwiseMomentsCUDAKernel", _reads_first(31), _Kind.STEP),
        (_GROUP_NORM, r"GroupNormKernelImplInternal", _maps_first(12), _Kind.STEP),
        (r"aten::(?:gather|scatter\w*)", r"_scatter_gather_elementwise_kernel", _gathers, _Kind.STEP),
        (r"aten::_?(?:log_)?softmax", r"cunn_(?:Spatial)?SoftMaxForward<", _thrice, _Kind.STEP),
        (r"aten::_conv_depthwise2d", r"conv_depthwise2d_forward_kernel", _depthwise(26), _Kind.STEP),
        (_CONVOLUTION, r"conv2d_c1_k1_nhwc", _depthwise(4), _Kind.STEP),
        (r"aten::_efficient_attention_forward", r"fmha_cutlassF_f32_", _fast_float32, _Kind.STEP),
        (_SORT, r"DeviceRadixSortOnesweepKernel", _sort_pass, _Kind.STEP),
        (_SORT, r"DeviceRadixSortHistogramKernel", _sort_histogram, _Kind.STEP),
        (_SORT, r"DeviceRadixSortExclusiveSumKernel", _sort_sums, _Kind.STEP),
        (_SORT, r"fill_reverse_indices_kernel", _sort_places, _Kind.STEP),
        (_PRODUCT, r"splitKreduce_kernel", _adds_splits, _Kind.BESIDE),
        (_CONVOLUTION, r"nchwToNhwcKernel|nhwcAddPaddingKernel", _changes_layout, _Kind.SHARED_BESIDE),
        (_CONVOLUTION, r"nhwcToNchwKernel", _changes_back, _Kind.BESIDE),
    )
)
