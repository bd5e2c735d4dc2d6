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
from analyzer.derive.costs import (
    embedding_gradient,
    flash_backward,
    fused_attention,
    layouts,
    multi_tensor,
    normalisation,
    placing,
    plain_tiles,
    recurrent,
    reductions,
    searching,
    selecting,
    sorting,
    tiled,
    windows,
)
from analyzer.derive.costs.aten_kernels import template_slots
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.step import Formula, Kernel, counted
from analyzer.derive.costs.strided import WARP
from analyzer.derive.costs.tensors import dense_bytes, input_bytes, is_tensor, item_bytes, numel, shape

PARTIAL_BYTES: Final = 4
"""Partial sums of a product that is split along its inner dimension are float32."""

LEAST_SPLITS: Final = 2

ROWS_AT_ONCE: Final = 264
"""Two blocks on each of the 132 multiprocessors of an H100 or H200."""


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
    SHARED = "several kernels do a step"
    SHARED_BESIDE = "several kernels do what is beside the operator"


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
            return Stage(
                cost,
                is_shared=kind in (_Kind.SHARED, _Kind.SHARED_BESIDE),
                is_beside=kind in (_Kind.BESIDE, _Kind.SHARED_BESIDE),
            )
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


PLANE_SLOTS: Final = 20
PLANE_THREAD_SLOTS: Final = 61
"""`batch_norm_transform_input_kernel`: each thread first loads what holds for its channel. 30 slots an element where a
thread has six (planes of 56 × 56), 22 where it has 24 (112 × 112, of 32 images)."""


def _maps_planes(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    threads = kernel.launch.all_threads if kernel.launch is not None else 0
    cost = moving((input_bytes(detail, 0),), (dense_bytes(detail, 0),))
    return counted(cost, PLANE_SLOTS * numel(detail, 0) + PLANE_THREAD_SLOTS * threads)


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


def _adds_splits(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """Adds up the parts of a split product: at least two of them, mostly still in the cache."""
    if not whole.writes or not is_tensor(detail, 0):
        return None
    out = whole.writes[0] // item_bytes(detail, 0)
    return counted(moving((LEAST_SPLITS * out * PARTIAL_BYTES,), whole.writes), 10 * out)


COUNTED_FILTER: Final = (3, 3)
"""Of the depthwise convolutions that counters were held against, whose outputs take 26 slots for each place."""
COUNTED_OUTPUT: Final = 26 * 9
DEPTHWISE_OUTPUT: Final = 87
"""Of these the output's own, whatever its filter: three divisions by numbers of the launch, which find its place (21
each, `placing.DIVISION_SLOTS`), its offsets, its bias and its store. The rest is the places'. Read off the
source (`conv_depthwise2d_forward_kernel` in ATen's DepthwiseConv2d.cu)."""


CUDNN_OUTPUT: Final = 20
CUDNN_PLACE: Final = 1.7
"""Of cuDNN's own (`conv2d_c1_k1_nhwc_specialized`): an output, and each place of its filter. By the counters of an H200
an output takes 30 to 33 slots with 9 places (three convolutions), 68 with 25 and 102 with 49: a line through them."""


def _depthwise(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A convolution of single channels by cuDNN: multiply-adds outside the tensor cores, each with its loads."""
    size = (shape(detail, 1) or ())[2:]
    places = math.prod(size)
    if not whole.flops or not places:
        return None
    slots = round(whole.flops / 2 / places * (CUDNN_OUTPUT + CUDNN_PLACE * places))
    return replace(whole, instructions=slots, is_counted=size == COUNTED_FILTER)


def _single_channels(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """ATen's own convolution of single channels: what an output takes, and each place of its filter beside that."""
    size = (shape(detail, 1) or ())[2:]
    places = math.prod(size)
    if not whole.flops or not places:
        return None
    each = (COUNTED_OUTPUT - DEPTHWISE_OUTPUT) / math.prod(COUNTED_FILTER)
    outputs = whole.flops / 2 / places
    slots = round(outputs * (DEPTHWISE_OUTPUT + each * places))
    return replace(whole, instructions=slots, is_counted=size == COUNTED_FILTER)


def _keeps_losses(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
    """A loss writes that of each element even where it is reduced: `aten::mean` or `aten::sum` reads them after it
    (`mse_loss_out` and its like in ATen's Loss.cpp).
    """
    written = dense_bytes(detail, 0)
    return replace(whole, bytes=sum(whole.reads) + written, writes=(written,))


JOIN_SLOTS: Final = 5
"""`warp_reduce` of a maximum and of a sum, a level: two shuffles, a comparison and a choice, and an addition."""


def _power_of_two(slots: int) -> Formula:
    """A softmax of rows of up to 1024 or 2048 in registers: the row is filled up to the next power of two
    (`dispatch_softmax_forward` in ATen's PersistentSoftmax.cuh).
    """

    def formula(detail: OpDetail, whole: Cost, kernel: Kernel) -> Cost | None:
        dims = shape(detail, 0)
        if not dims or not dims[-1]:
            return None
        rows, width = numel(detail, 0) // dims[-1], 1 << (dims[-1] - 1).bit_length()
        lanes = min(width, WARP)
        joined = JOIN_SLOTS * lanes * (lanes.bit_length() - 1)
        return replace(whole, instructions=rows * (slots * width + joined), is_counted=True)

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
_ANY_CONVOLUTION = rf"{_CONVOLUTION}|aten::cudnn_convolution_transpose"
_NEAREST = r"aten::(?:_upsample_nearest_exact|upsample_nearest)2d"
_LISTS = r"aten::_(?:foreach_\w+|fused_(?:adamw?|sgd|adagrad)_)"
_SUM = r"aten::(?:sum|nansum|prod)"
_FLASH_BACKWARD = r"aten::_flash_attention_backward"
_NORM_BACKWARD = r"aten::native_layer_norm_backward"
_EMBEDDING_GRADIENT = r"aten::embedding_dense_backward"

_STAGES: Final[tuple[tuple[re.Pattern[str], re.Pattern[str], Formula, _Kind], ...]] = tuple(
    (re.compile(ops), re.compile(names), formula, kind)
    for ops, names, formula, kind in (
        (_NORM, r"batch_norm_collect_statistics_channels_last_kernel", _reads_first(39), _Kind.STEP),
        (_NORM, r"batch_norm_transform_input_channels_last_kernel", _maps_first(15), _Kind.STEP),
        (_NORM, r"batch_norm_collect_statistics\w*_kernel", _reads_first(28), _Kind.STEP),
        (_NORM, r"batch_norm_transform_input\w*_kernel", _maps_planes, _Kind.STEP),
        (_GROUP_NORM, r"RowwiseMomentsCUDAKernel", _reads_first(31), _Kind.STEP),
        (_GROUP_NORM, r"GroupNormKernelImplInternal", _maps_first(12), _Kind.STEP),
        (r"aten::(?:gather|scatter\w*)", r"_scatter_gather_elementwise_kernel", placing.gathers, _Kind.STEP),
        (r"aten::(?:triu|tril)_?", r"triu_tril_kernel<", placing.triangles, _Kind.STEP),
        (_LOOKUP, r"vectorized_gather_kernel<16,", placing.gathers_rows, _Kind.STEP),
        (_LOOKUP, r"index_elementwise_kernel<", placing.indexes, _Kind.STEP),
        (r"aten::masked_select", r"index_elementwise_kernel<", placing.selects, _Kind.STEP),
        (r"aten::_embedding_bag(?:_forward_only)?", r"EmbeddingBag_updateOutputKernel", placing.bags, _Kind.STEP),
        (r"aten::nll_loss(?:2d)?_forward", r"nll_loss", placing.looks_up, _Kind.STEP),
        (_LOSS, r"elementwise_kernel<", _keeps_losses, _Kind.STEP),
        (_POOL, r"max_pool_forward|avg_pool[23]d_out", placing.pools, _Kind.STEP),
        (_POOL, r"avg_pool3d_cuda_update_output<", windows.averages_volumes, _Kind.STEP),
        (_POOL, r"max_pool3d_with_indices_single_out_frame<", windows.maxima_of_volumes, _Kind.STEP),
        (rf"{_POOL}_backward", r"max_pool_backward_nchw<", windows.spreads_maxima, _Kind.STEP),
        (rf"{_POOL}_backward", r"avg_pool2d_backward_out_cuda_frame", windows.shares_out_averages, _Kind.STEP),
        (r"aten::reflection_pad2d", r"reflection_pad2d_out_kernel<", windows.mirrors, _Kind.STEP),
        (_NEAREST, r"upsample_nearest2d_nhwc_out_frame<", placing.nearest_channels_last, _Kind.STEP),
        (r"aten::_?upsample_\w+[123]d", r"upsample_", placing.resizes, _Kind.STEP),
        (r"aten::im2col", r"im2col_kernel<", placing.unfolds, _Kind.STEP),
        (r"aten::col2im", r"col2im_(?:batched_)?kernel<", windows.folds, _Kind.STEP),
        (r"aten::searchsorted", r"searchsorted_cuda_kernel<", searching.halves(0), _Kind.STEP),
        (r"aten::bucketize", r"searchsorted_cuda_kernel<", searching.halves(1), _Kind.STEP),
        (_EMBEDDING_GRADIENT, r"compute_grad_weight<", embedding_gradient.sums_parts, _Kind.STEP),
        (_EMBEDDING_GRADIENT, r"sum_and_scatter<", embedding_gradient.sums_ids, _Kind.STEP),
        (r"aten::index_add_", r"indexFuncLargeIndex<", placing.adds_rows, _Kind.STEP),
        (r"aten::topk", r"mbtopk::computeBlockDigitCounts<", selecting.counts_digits, _Kind.STEP),
        (r"aten::topk", r"mbtopk::computeDigitCumSum", selecting.sums_digits, _Kind.STEP),
        (r"aten::topk", r"mbtopk::computeBlockwiseWithinKCounts<", selecting.finds_digits, _Kind.STEP),
        (_SORT, r"radixSortKVInPlace<", sorting.in_a_block, _Kind.STEP),
        (r"aten::topk", r"mbtopk::gatherTopK<", selecting.picks, _Kind.STEP),
        (_SUM, r"reduce_kernel<", reductions.converted, _Kind.STEP),
        (r"aten::_softmax", r"softmax_warp_forward<", _power_of_two(42), _Kind.STEP),
        (r"aten::_log_softmax", r"softmax_warp_forward<", _power_of_two(28), _Kind.STEP),
        (r"aten::_?(?:log_)?softmax", r"cunn_(?:Spatial)?SoftMaxForward<", _thrice, _Kind.STEP),
        (r"aten::_conv_depthwise2d", r"conv_depthwise2d_forward_kernel", _single_channels, _Kind.STEP),
        (_CONVOLUTION, r"conv2d_c1_k1_nhwc", _depthwise, _Kind.STEP),
        (r"aten::_efficient_attention_forward", r"fmha_cutlassF_f32_", fused_attention.fast_float32, _Kind.STEP),
        (r"aten::_efficient_attention_forward", r"fmha_cutlassF_b?f16_", fused_attention.efficient, _Kind.STEP),
        (r"aten::_flash_attention_forward", r"flash_fwd_kernel<", fused_attention.flash, _Kind.STEP),
        (_FLASH_BACKWARD, r"flash_bwd_dot_do_o_kernel<true", flash_backward.prepares, _Kind.STEP),
        (_FLASH_BACKWARD, r"flash_bwd_dq_dk_dv_loop", flash_backward.multiplies, _Kind.STEP),
        (_FLASH_BACKWARD, r"flash_bwd_convert_dq_kernel<", flash_backward.converts, _Kind.STEP),
        (r"aten::_cudnn_rnn", r"elemWiseRNNcell<", recurrent.cell, _Kind.BESIDE),
        (_NORM_BACKWARD, r"layer_norm_grad_input_kernel", normalisation.gradient_of_rows, _Kind.STEP),
        (_NORM_BACKWARD, r"GammaBetaBackward", normalisation.gradient_of_columns, _Kind.SHARED),
        (r"aten::_cudnn_attention_forward", r"sdpa_sm90_flash_fprop", fused_attention.cudnn_flash, _Kind.STEP),
        (_SORT, r"DeviceRadixSortOnesweepKernel", sorting.one_pass, _Kind.STEP),
        (_SORT, r"DeviceRadixSortHistogramKernel", sorting.histogram, _Kind.STEP),
        (_SORT, r"DeviceRadixSortExclusiveSumKernel", sorting.sums, _Kind.STEP),
        (_SORT, r"fill_reverse_indices_kernel", sorting.places, _Kind.STEP),
        (_LISTS, r"multi_tensor_apply_kernel<", multi_tensor.launched, _Kind.STEP),
        (rf"{_PRODUCT}|{_CONVOLUTION}", r"Kernel2?<cutlass_(?:75_|80_)?tensorop_", tiled.product, _Kind.STEP),
        (_PRODUCT, r"splitKreduce_kernel|sm80_xmma_gemm_f32f32_\w*_split_k_kernel", _adds_splits, _Kind.BESIDE),
        (_PRODUCT, r"sm80_xmma_gemm_f32f32_f32f32_", plain_tiles.product, _Kind.STEP),
        (rf"{_PRODUCT}|{_CONVOLUTION}", r"nvjet_sm90_|sm90_xmma_(?:gemm|fprop)_", tiled.hopper, _Kind.STEP),
        (_ANY_CONVOLUTION, r"nchwToNhwcKernel", layouts.tiled_layout, _Kind.BESIDE),
        (_ANY_CONVOLUTION, r"nchwToNhwcKernel|nhwcAddPaddingKernel", layouts.changes_layout, _Kind.SHARED_BESIDE),
        (_ANY_CONVOLUTION, r"nhwcToNchwKernel", layouts.changes_back, _Kind.BESIDE),
    )
)
