"""Kernels that do one step of an operator of several: each has a cost of its own, and no share of the operator's.

Which tensors a step reads and writes is from ATen's sources (Normalization.cuh, group_norm_kernel.cu, SoftMax.cu,
SortStable.cu) and CUB's (agent_radix_sort_onesweep.cuh). Instructions an element are multiprocessor throughput as
Nsight Compute counted it on an H200 (torch 2.11), in issue slots.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import fused_attention, layouts, placing, reductions, selecting
from analyzer.derive.costs.aten_kernels import template_slots
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.step import Formula, Kernel, counted
from analyzer.derive.costs.tensors import dense_bytes, input_bytes, is_tensor, item_bytes, numel, shape

PARTIAL_BYTES: Final = 4
"""Partial sums of a product that is split along its inner dimension are float32."""

LEAST_SPLITS: Final = 2

ROWS_AT_ONCE: Final = 264
"""Two blocks on each of the 132 multiprocessors of an H100 or H200."""


DIGITS: Final = 256
"""CUB sorts eight bits a pass."""


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


def stage_of(op: str, detail: OpDetail, kernel: str, whole: Cost, launch: Launch | None = None) -> Stage | None:
    """The step that a kernel does of an operator of which `whole` is the cost; None where it is no such kernel."""
    for ops, names, formula, kind in _STAGES:
        if ops.fullmatch(op) and names.search(kernel):
            try:
                cost = formula(detail, whole, Kernel(kernel, launch))
            except (IndexError, KeyError):
                # A recording with fewer inputs than the schema has.
                return None
            if cost is None:
                continue
            return Stage(cost, is_shared=kind is _Kind.SHARED_BESIDE, is_beside=kind is not _Kind.STEP)
    return None


def has_stages(op: str) -> bool:
    """Whether some kernel may do but a step of this operator."""
    return any(ops.fullmatch(op) for ops, _, _, _ in _STAGES)


def _reads_first(slots: int) -> Formula:
    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        return counted(moving((input_bytes(detail, 0),)), slots * numel(detail, 0))

    return formula


def _maps_first(slots: int) -> Formula:
    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        cost = moving((input_bytes(detail, 0),), (dense_bytes(detail, 0),))
        return counted(cost, (slots + template_slots(kernel.name)) * numel(detail, 0))

    return formula


def _thrice(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A softmax whose rows fit no shared memory reads them for the maximum, the sum and the result. A block has one
    row, and two blocks of 1024 threads are on each of an H200's multiprocessors.
    """
    dims = shape(detail, 0)
    if not dims:
        return None
    read = input_bytes(detail, 0)
    span = min(read, ROWS_AT_ONCE * dims[-1] * item_bytes(detail, 0)) if "Spatial" not in kernel.name else read
    return replace(whole, rereads=2 * read, reread_span=span)


def _sort_pass(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """One digit: keys and places are read, and written where they belong."""
    moved = _pairs_bytes(detail)
    return None if moved is None else counted(moving((moved,), (moved,)), 124 * numel(detail, 0))


def _sort_histogram(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    return None if _pairs_bytes(detail) is None else _reads_first(34)(detail, whole, kernel)


def _sort_sums(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    sums = DIGITS * item_bytes(detail, 0) * INDEX_BYTES
    return counted(moving((sums,), (sums,)), 10 * sums)


def _sort_places(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """The places 0, 1, 2, …, with a division for each."""
    return counted(moving((), (numel(detail, 0) * INDEX_BYTES,)), 82 * numel(detail, 0))


def _pairs_bytes(detail: OpDetail) -> int | None:
    """Keys with their places; None for anything but one row, which is sorted another way."""
    dims = shape(detail, 0)
    return numel(detail, 0) * (item_bytes(detail, 0) + INDEX_BYTES) if dims and math.prod(dims) == max(dims) else None


def _adds_splits(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Adds up the parts of a split product: at least two of them, mostly still in the cache."""
    if not whole.writes or not is_tensor(detail, 0):
        return None
    out = whole.writes[0] // item_bytes(detail, 0)
    return counted(moving((LEAST_SPLITS * out * PARTIAL_BYTES,), whole.writes), 10 * out)


def _depthwise(slots: int) -> Formula:
    """A convolution of single channels: multiply-adds outside the tensor cores, each with its loads and index."""

    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        return replace(whole, instructions=slots * whole.flops // 2, is_counted=True) if whole.flops else None

    return formula


def _keeps_losses(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A loss writes that of each element even where it is reduced: `aten::mean` or `aten::sum` reads them after it
    (`mse_loss_out` and its like in ATen's Loss.cpp).
    """
    written = dense_bytes(detail, 0)
    return replace(whole, bytes=sum(whole.reads) + written, writes=(written,))


def _power_of_two(slots: int) -> Formula:
    """A softmax of rows of up to 1024 or 2048 in registers: the row is filled up to the next power of two
    (`dispatch_softmax_forward` in ATen's PersistentSoftmax.cuh).
    """

    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        dims = shape(detail, 0)
        if not dims or not dims[-1]:
            return None
        rows, width = numel(detail, 0) // dims[-1], 1 << (dims[-1] - 1).bit_length()
        return replace(whole, instructions=slots * rows * width, is_counted=True)

    return formula


_NORM = (
    r"aten::(?:native_batch_norm|_native_batch_norm_legit|_batch_norm_with_update|batch_norm_stats|batch_norm_elemt)"
)
_GROUP_NORM = r"aten::native_group_norm"
_LOOKUP = r"aten::(?:index|index_select|embedding|gather|index_copy_|index_fill_|_index_put_impl_|index_put_)"
_LOSS = r"aten::(?:mse_loss|smooth_l1_loss|huber_loss|binary_cross_entropy)"
_POOL = r"aten::(?:max_pool[23]d_with_indices|avg_pool[23]d)"
_SORT = r"aten::(?:sort|argsort|_sort)"
_PRODUCT = r"aten::(?:mm|bmm|addmm|baddbmm|_addmm_activation|linear|_scaled_mm|_int_mm)"
_CONVOLUTION = r"aten::(?:cudnn_)?convolution(?:_relu|_add_relu)?"
_NEAREST = r"aten::(?:_upsample_nearest_exact|upsample_nearest)2d"
_SUM = r"aten::(?:sum|nansum|prod)"

_STAGES: Final[tuple[tuple[re.Pattern[str], re.Pattern[str], Formula, _Kind], ...]] = tuple(
    (re.compile(ops), re.compile(names), formula, kind)
    for ops, names, formula, kind in (
        (_NORM, r"batch_norm_collect_statistics_channels_last_kernel", _reads_first(39), _Kind.STEP),
        (_NORM, r"batch_norm_transform_input_channels_last_kernel", _maps_first(15), _Kind.STEP),
        (_NORM, r"batch_norm_collect_statistics\w*_kernel", _reads_first(28), _Kind.STEP),
        (_NORM, r"batch_norm_transform_input\w*_kernel", _maps_first(30), _Kind.STEP),
        (_GROUP_NORM, r"RowwiseMomentsCUDAKernel", _reads_first(31), _Kind.STEP),
        (_GROUP_NORM, r"GroupNormKernelImplInternal", _maps_first(12), _Kind.STEP),
        (r"aten::(?:gather|scatter\w*)", r"_scatter_gather_elementwise_kernel", placing.gathers, _Kind.STEP),
        (_LOOKUP, r"vectorized_gather_kernel<16,", placing.gathers_rows, _Kind.STEP),
        (_LOOKUP, r"index_elementwise_kernel<", placing.indexes, _Kind.STEP),
        (r"aten::_embedding_bag(?:_forward_only)?", r"EmbeddingBag_updateOutputKernel", placing.bags, _Kind.STEP),
        (r"aten::nll_loss(?:2d)?_forward", r"nll_loss", placing.looks_up, _Kind.STEP),
        (_LOSS, r"elementwise_kernel<", _keeps_losses, _Kind.STEP),
        (_POOL, r"max_pool_forward|avg_pool[23]d_out", placing.pools, _Kind.STEP),
        (_NEAREST, r"upsample_nearest2d_nhwc_out_frame<", placing.nearest_channels_last, _Kind.STEP),
        (r"aten::_?upsample_\w+[123]d", r"upsample_", placing.resizes, _Kind.STEP),
        (r"aten::index_add_", r"indexFuncLargeIndex<", placing.adds_rows, _Kind.STEP),
        (r"aten::topk", r"mbtopk::computeBlockDigitCounts<", selecting.counts_digits, _Kind.STEP),
        (r"aten::topk", r"mbtopk::gatherTopK<", selecting.picks, _Kind.STEP),
        (_SUM, r"reduce_kernel<", reductions.converted, _Kind.STEP),
        (r"aten::_softmax", r"softmax_warp_forward<", _power_of_two(42), _Kind.STEP),
        (r"aten::_log_softmax", r"softmax_warp_forward<", _power_of_two(28), _Kind.STEP),
        (r"aten::_?(?:log_)?softmax", r"cunn_(?:Spatial)?SoftMaxForward<", _thrice, _Kind.STEP),
        (r"aten::_conv_depthwise2d", r"conv_depthwise2d_forward_kernel", _depthwise(26), _Kind.STEP),
        (_CONVOLUTION, r"conv2d_c1_k1_nhwc", _depthwise(4), _Kind.STEP),
        (r"aten::_efficient_attention_forward", r"fmha_cutlassF_f32_", fused_attention.fast_float32, _Kind.STEP),
        (r"aten::_flash_attention_forward", r"flash_fwd_kernel<", fused_attention.flash, _Kind.STEP),
        (r"aten::_cudnn_attention_forward", r"sdpa_sm90_flash_fprop", fused_attention.cudnn_flash, _Kind.STEP),
        (_SORT, r"DeviceRadixSortOnesweepKernel", _sort_pass, _Kind.STEP),
        (_SORT, r"DeviceRadixSortHistogramKernel", _sort_histogram, _Kind.STEP),
        (_SORT, r"DeviceRadixSortExclusiveSumKernel", _sort_sums, _Kind.STEP),
        (_SORT, r"fill_reverse_indices_kernel", _sort_places, _Kind.STEP),
        (_PRODUCT, r"splitKreduce_kernel", _adds_splits, _Kind.BESIDE),
        (_CONVOLUTION, r"nchwToNhwcKernel", layouts.tiled_layout, _Kind.BESIDE),
        (_CONVOLUTION, r"nchwToNhwcKernel|nhwcAddPaddingKernel", layouts.changes_layout, _Kind.SHARED_BESIDE),
        (_CONVOLUTION, r"nhwcToNchwKernel", layouts.changes_back, _Kind.BESIDE),
    )
)
