"""Which formula counts which operator: one ordered table of anchored patterns, the first match wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import (
    attention,
    convolution,
    elementwise,
    fft,
    indexing,
    inductor,
    lists,
    matmul,
    multi_tensor,
    normalisation,
    pooling,
    recurrent,
    searching,
)
from analyzer.derive.costs.aten_kernels import is_strided, template_slots, thread_slots
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import aten_slots, is_counted, power_slots
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.normalisation import row_slots
from analyzer.derive.costs.reductions import scattered_slots
from analyzer.derive.costs.strided import crossings
from analyzer.derive.costs.tensors import numel, tensor_inputs

Formula = Callable[[OpDetail], Cost | None]
ListFormula = Callable[[OpDetail, int], Cost | None]

_UNARY: Final = (
    "abs|acos|asin|atan|bitwise_not|cos|cosh|digamma|lgamma|erf|erfc|erfinv|exp|exp2|expm1|floor|ceil|round|trunc|frac|log"
    "|log10|log1p"
    "|log2|neg|reciprocal|relu|relu6|rsqrt|sigmoid|sign|sin|sinh|sqrt|square|tan|tanh|gelu|silu|mish|elu|celu|selu"
    "|softplus|leaky_relu|hardtanh|hardswish|hardsigmoid|hardshrink|softshrink|log_sigmoid_forward|nan_to_num|threshold"
    "|bernoulli|cumsum|cumprod|triu|tril|clone|flip|roll"
)
_LIKE_FIRST: Final = (
    "_softmax|_log_softmax|_masked_softmax|native_group_norm"
    "|native_batch_norm|_native_batch_norm_legit|_native_batch_norm_legit_no_training|_batch_norm_with_update"
    "|_batch_norm_no_update|cudnn_batch_norm|miopen_batch_norm|batch_norm_elemt|_fused_rms_norm|masked_fill|_prelu_kernel"
    "|(?:threshold|gelu|silu|tanh|sigmoid|elu|hardswish|hardtanh|hardsigmoid|leaky_relu|softplus|log_sigmoid|mish)_backward"
    "|native_dropout_backward|_softmax_backward_data|_log_softmax_backward_data|native_layer_norm_backward"
    "|native_group_norm_backward|native_batch_norm_backward|batch_norm_backward|batch_norm_backward_elemt"
    "|cudnn_batch_norm_backward|miopen_batch_norm_backward|_fused_rms_norm_backward"
)
_BINARY: Final = (
    "add|sub|rsub|mul|div|true_divide|floor_divide|pow|fmod|remainder|maximum|minimum|atan2|bitwise_and|bitwise_or"
    "|bitwise_xor|__and__|__or__|__xor__"
)
_BROADCAST: Final = "lerp|addcmul|addcdiv|addr"
_CLAMPS: Final = "clamp|clamp_min|clamp_max"
_COMPARISON: Final = "eq|ne|lt|le|gt|ge|logical_and|logical_or|logical_xor"
_RANDOM: Final = "normal|uniform|random|exponential|log_normal|geometric|cauchy"
_SCATTER: Final = "scatter|scatter_add|scatter_reduce|index_copy|index_fill"
_SIZED: Final = "(?:_upsample_nearest_exact|upsample_(?:nearest|linear|bilinear|bicubic|trilinear))[123]d"

TABLE: Final[tuple[tuple[str, Formula], ...]] = (
    (r"aten::native_layer_norm", normalisation.layer_norm),
    (r"aten::(?:mm|bmm)", matmul.mm),
    (r"aten::(?:addmm|baddbmm|_addmm_activation)_?", matmul.addmm),
    (r"aten::addbmm_?", matmul.addbmm),
    (r"aten::mv", matmul.mv),
    (r"aten::addmv_?", matmul.addmv),
    (r"aten::v?dot", matmul.dot),
    (r"aten::(?:linear|mkldnn_linear)|mkldnn::_linear_pointwise", matmul.linear),
    (r"mkl::_mkl_linear", matmul.mkl_linear),
    (r"aten::_int_mm", matmul.int_mm),
    (r"aten::_scaled_mm", matmul.scaled_mm),
    (r"aten::_scaled_mm_v2", matmul.scaled_mm_v2),
    (r"aten::_grouped_mm", matmul.grouped_mm),
    (r"aten::_scaled_grouped_mm", matmul.scaled_grouped_mm),
    (r"aten::_weight_int8pack_mm", matmul.int8_packed_mm),
    (r"aten::_weight_int4pack_mm", matmul.int4_packed_mm),
    (r"aten::(?:_?convolution|convolution_overrideable)", convolution.convolution),
    (r"aten::cudnn_convolution", convolution.cudnn_convolution),
    (r"aten::cudnn_convolution_transpose", convolution.cudnn_convolution_transpose),
    (
        r"aten::(?:mkldnn|miopen)_convolution|aten::miopen_depthwise_convolution|mkldnn::_convolution_pointwise_?",
        convolution.mkldnn_convolution,
    ),
    (r"aten::miopen_convolution_transpose", convolution.miopen_convolution_transpose),
    (r"aten::(?:cudnn|miopen)_convolution_relu", convolution.cudnn_convolution_relu),
    (r"aten::(?:cudnn|miopen)_convolution_add_relu", convolution.cudnn_convolution_add_relu),
    (r"aten::(?:_conv_depthwise2d|conv_depthwise3d)", convolution.depthwise),
    (r"aten::(?:_slow_conv2d_forward|thnn_conv2d|slow_conv3d_forward)", convolution.slow_convolution),
    (r"aten::convolution_backward", convolution.convolution_backward),
    (r"aten::convolution_backward_overrideable", convolution.convolution_backward_overrideable),
    (r"aten::_scaled_dot_product_flash_attention(?:_for_cpu)?", attention.sdpa_flash),
    (r"aten::_scaled_dot_product_(?:efficient|cudnn)_attention", attention.sdpa_efficient),
    (r"aten::_scaled_dot_product_fused_attention_overrideable", attention.sdpa_overrideable),
    (r"aten::_cudnn_attention_forward", attention.cudnn),
    (r"aten::_flash_attention_forward", attention.flash),
    (r"aten::_efficient_attention_forward", attention.efficient),
    (r"aten::_scaled_dot_product_flash_attention_backward", attention.sdpa_flash_backward),
    (r"aten::_scaled_dot_product_efficient_attention_backward", attention.sdpa_efficient_backward),
    (r"aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention.sdpa_cpu_backward),
    (r"aten::_scaled_dot_product_fused_attention_overrideable_backward", attention.sdpa_overrideable_backward),
    (r"aten::(?:_scaled_dot_product_cudnn|_cudnn)_attention_backward", attention.cudnn_backward),
    (r"aten::_flash_attention_backward", attention.flash_backward),
    (r"aten::_efficient_attention_backward", attention.efficient_backward),
    (r"aten::_cudnn_rnn", recurrent.cudnn),
    (r"aten::_cudnn_rnn_backward", recurrent.cudnn_backward),
    (r"aten::miopen_rnn", recurrent.miopen),
    (r"aten::mkldnn_rnn_layer", recurrent.mkldnn),
    (r"aten::_thnn_fused_lstm_cell", recurrent.lstm_cell),
    (r"aten::_thnn_fused_gru_cell", recurrent.gru_cell),
    (r"aten::_thnn_fused_lstm_cell_backward_impl", recurrent.lstm_cell_backward),
    (r"aten::_fft_c2c", fft.complex_to_complex),
    (r"aten::_fft_r2c", fft.real_to_complex),
    (r"aten::_fft_c2r", fft.complex_to_real),
    (r"aten::embedding", indexing.embedding),
    (r"aten::embedding_dense_backward", indexing.embedding_backward),
    (r"aten::_embedding_bag(?:_forward_only)?", indexing.embedding_bag),
    (r"aten::index_select", indexing.index_select),
    (r"aten::gather", indexing.gather),
    (r"aten::take", indexing.take),
    (r"aten::index_add_", indexing.index_add),
    (rf"aten::(?:{_SCATTER})_", indexing.scatter_in_place),
    (r"aten::(?:_index_put_impl|index_put)_", indexing.index_put),
    (r"aten::(?:sort|argsort|_sort)", indexing.sort),
    (r"aten::topk", indexing.topk),
    (r"aten::(?:nonzero|masked_select|_unique2?|unique_\w+|bincount|histc|kthvalue|median|mode)", indexing.searches),
    (r"aten::nll_loss(?:2d)?_forward", indexing.nll_loss),
    (r"aten::nll_loss(?:2d)?_backward", indexing.nll_loss_backward),
    (r"aten::max_pool[23]d_with_indices", pooling.max_pool),
    (r"aten::(?:mkldnn_max_pool[23]d|max_pool2d)", pooling.mkldnn_max_pool),
    (r"aten::avg_pool[23]d", pooling.avg_pool),
    (r"aten::_adaptive_avg_pool[23]d", pooling.adaptive_avg_pool),
    (r"aten::adaptive_max_pool[23]d", pooling.adaptive_max_pool),
    (r"aten::(?:max_pool[23]d_with_indices|avg_pool[23]d|_adaptive_avg_pool[23]d)_backward", pooling.pool_backward),
    (rf"aten::{_SIZED}", pooling.upsample),
    (rf"aten::{_SIZED}_backward", pooling.upsample_backward),
    (r"aten::im2col", pooling.unfold),
    (r"aten::col2im", pooling.fold),
    (r"aten::searchsorted", searching.searchsorted),
    (r"aten::bucketize", searching.bucketize),
    (r"aten::(?:constant_pad_nd|(?:reflection|replication)_pad[123]d)", pooling.pad),
    (rf"aten::(?:fill|zero|{_RANDOM})_|aten::bernoulli_", elementwise.writes_first),
    (r"aten::copy_", elementwise.copies),
    (r"aten::(?:native_dropout|_fused_dropout)", elementwise.dropout),
    (r"aten::glu", elementwise.gated),
    (r"aten::(?:mse_loss|smooth_l1_loss|huber_loss|binary_cross_entropy)", elementwise.loss),
    (r"aten::(?:mse_loss|smooth_l1_loss|huber_loss|binary_cross_entropy|glu)_backward", elementwise.like_second),
    (r"aten::(?:isnan|isinf|isneginf|isposinf|isfinite|logical_not|signbit)", elementwise.predicate),
    (r"aten::where", elementwise.where),
    (rf"aten::(?:{_UNARY})", elementwise.unary),
    (rf"aten::(?:{_CLAMPS})", elementwise.clamps),
    (rf"aten::(?:{_LIKE_FIRST})", elementwise.like_first),
    (rf"aten::(?:{_COMPARISON})", elementwise.comparison),
    (rf"aten::(?:{_BINARY})", elementwise.binary),
    (rf"aten::(?:{_BROADCAST})", elementwise.broadcast),
    (r"aten::(?:sum|nansum|mean|prod|amax|amin|logsumexp|var|std)", elementwise.reduces),
    (r"aten::(?:max|min)", elementwise.extreme),
    (r"aten::(?:argmax|argmin)", elementwise.finds),
    (r"aten::(?:any|all)", elementwise.truth),
    (r"aten::(?:linalg_vector_norm|norm)", elementwise.reduces_norm),
    (r"aten::(?:var_mean|std_mean|batch_norm_stats|batch_norm_backward_reduce|aminmax)", elementwise.reads),
    (
        rf"aten::(?:{_UNARY}|{_CLAMPS}|{_LIKE_FIRST}|{_BINARY}|{_BROADCAST}|{_COMPARISON}|logical_not)_",
        elementwise.in_place,
    ),
)

LISTS: Final[tuple[tuple[str, ListFormula], ...]] = (
    (r"aten::(?:cat|stack)", lists.joins),
    (r"aten::_foreach_copy_", lists.foreach_copy),
    (r"aten::_foreach_zero_", lists.foreach_zero),
    (r"aten::_foreach_norm", lists.foreach_norm),
    (r"aten::_foreach_\w+|aten::_amp_foreach_non_finite_check_and_unscale_", lists.foreach),
    (r"aten::_fused_adamw?_", lists.fused_adam),
    (r"aten::_fused_sgd_", lists.fused_sgd),
    (r"aten::_fused_adagrad_", lists.fused_adagrad),
)
"""Operators whose tensors come in lists. Their formulas also take the bytes of an element."""

TRITON: Final = re.compile(r"triton_(?:poi|red|per|for|unk|split)_\w+")
"""Pointwise, reduction, persistent, foreach kernels. Templates (`triton_tem_…`, `triton_mm`) multiply matrices whose
shapes their arguments do not tell, so they have no formula."""

_RECURRENT: Final = re.compile(r"aten::_cudnn_rnn(?:_backward)?")
_COMPILED: Final = tuple((re.compile(pattern), formula) for pattern, formula in TABLE)
_COMPILED_LISTS: Final = tuple((re.compile(pattern), formula) for pattern, formula in LISTS)


def cost_of(name: str, detail: OpDetail | None, kernel: str | None = None, launch: Launch | None = None) -> Cost | None:
    """What an operator costs at least; None for an operator without a formula, or without its shapes.

    `kernel` is the name of a kernel that it launched on a device, None on a CPU. It alone tells the type of tensors in
    lists, and by what template ATen runs the operator. `launch` is that kernel's, None where it is not told: it alone
    says how many places `aten::index` reads, whose indices a trace does not show.
    """
    if detail is None:
        return None
    if TRITON.fullmatch(name):
        return inductor.triton(name, detail)
    if inductor.is_user_kernel(name, detail):
        return inductor.user_kernel(detail)
    try:
        cost = _formula_cost(name, detail, kernel, launch)
    except (IndexError, KeyError):
        # A recording with fewer inputs than the schema has.
        return None
    if cost is None or cost.instructions is not None:
        return cost
    return _with_arithmetic(cost, name, detail, kernel, launch)


def _with_arithmetic(cost: Cost, name: str, detail: OpDetail, kernel: str | None, launch: Launch | None) -> Cost:
    """With the instructions of an operator of ATen, those of its kernel's template included, and what it crosses."""
    elements = max((numel(detail, i) for i in tensor_inputs(detail)), default=0) or lists.list_elements(detail)
    slots = power_slots(name, detail) or aten_slots(name, is_gpu=kernel is not None)
    if slots is None:
        return cost
    if kernel is None:
        return replace(cost, instructions=None if _is_double(detail) else slots * elements)
    of_threads = thread_slots(kernel) * (launch.all_threads if launch is not None else 0)
    of_threads += scattered_slots(detail, kernel)
    return replace(
        cost,
        instructions=(slots + template_slots(kernel)) * elements + row_slots(name, detail) + of_threads,
        dtype="float64" if _is_double(detail) else cost.dtype,
        is_counted=is_counted(name),
        crossings=_crossings(cost, detail) if is_strided(kernel) else cost.crossings,
    )


def _crossings(cost: Cost, detail: OpDetail) -> int | None:
    """What strided inputs cross in, and what is written beside them. `copy_` counts its target as its first input."""
    found = crossings(detail)
    return None if found is None else max(found, cost.bytes)


@lru_cache(maxsize=1 << 12)
def formula_of(name: str) -> Formula | None:
    return next((formula for pattern, formula in _COMPILED if pattern.fullmatch(name)), None)


def _formula_cost(name: str, detail: OpDetail, kernel: str | None, launch: Launch | None) -> Cost | None:
    if name == "aten::index":
        return indexing.index(detail, kernel, launch) if kernel is not None and launch is not None else None
    if kernel is not None and _RECURRENT.fullmatch(name) and recurrent.LAID_OUT_ANEW.search(kernel):
        return None
    formula = formula_of(name)
    if formula is not None:
        return formula(detail)
    over_lists = _list_formula_of(name)
    item = lists.item_bytes_of_kernel(kernel) if kernel is not None else None
    if over_lists is None or item is None or kernel is None:
        return None
    return over_lists(detail, item) or multi_tensor.of_launch(name, kernel, launch)


@lru_cache(maxsize=1 << 12)
def _list_formula_of(name: str) -> ListFormula | None:
    return next((formula for pattern, formula in _COMPILED_LISTS if pattern.fullmatch(name)), None)


def _is_double(detail: OpDetail) -> bool:
    """Double arithmetic runs at another rate on each device, from a half to a sixty-fourth of float32's."""
    return any(
        "double" in dtype for i, dtype in enumerate(detail.dtypes) if detail.shapes[i : i + 1] not in ((), ((),))
    )
