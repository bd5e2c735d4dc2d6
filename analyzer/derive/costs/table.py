"""Which formula counts which operator: one ordered table of anchored patterns, the first match wins."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from analyzer.core.trace import OpDetail
from analyzer.derive.costs import attention, convolution, elementwise, inductor, matmul
from analyzer.derive.costs.cost import Cost

Formula = Callable[[OpDetail], Cost | None]

_LIKE_FIRST: Final = (
    "abs|acos|asin|atan|bitwise_not|cos|cosh|erf|erfc|erfinv|exp|exp2|expm1|floor|ceil|round|trunc|frac|log|log10|log1p"
    "|log2|logical_not|neg|reciprocal|relu|relu6|rsqrt|sigmoid|sign|sin|sinh|sqrt|tan|tanh|gelu|silu|mish|elu|celu|selu"
    "|softplus|leaky_relu|hardtanh|hardswish|hardsigmoid|log_sigmoid_forward|clamp|clamp_min|clamp_max|isnan|isinf"
    "|nan_to_num|threshold|native_dropout|_softmax|_log_softmax|native_layer_norm|native_group_norm|native_batch_norm"
    "|_native_batch_norm_legit|_native_batch_norm_legit_no_training|cudnn_batch_norm|miopen_batch_norm"
    "|_fused_rms_norm|cumsum|cumprod|triu|tril|clone|flip|roll|masked_fill|bernoulli"
    "|(?:threshold|gelu|silu|tanh|sigmoid|elu|hardswish|hardtanh|hardsigmoid|leaky_relu|softplus|log_sigmoid)_backward"
    "|native_dropout_backward|_softmax_backward_data|_log_softmax_backward_data|native_layer_norm_backward"
    "|native_group_norm_backward|native_batch_norm_backward|cudnn_batch_norm_backward|_fused_rms_norm_backward"
)
_BROADCAST: Final = (
    "add|sub|rsub|mul|div|true_divide|floor_divide|pow|fmod|remainder|maximum|minimum|atan2|where|lerp|addcmul|addcdiv"
    "|eq|ne|lt|le|gt|ge|logical_and|logical_or|logical_xor|bitwise_and|bitwise_or|bitwise_xor|__and__|__or__|__xor__"
)
_READS: Final = (
    "sum|mean|prod|amax|amin|max|min|argmax|argmin|any|all|norm|linalg_vector_norm|var|std|var_mean|std_mean|logsumexp"
    "|max_pool2d_with_indices|avg_pool2d|_adaptive_avg_pool2d|mse_loss|nll_loss_forward"
)

TABLE: Final[tuple[tuple[str, Formula], ...]] = (
    (r"aten::(?:mm|bmm|_scaled_mm|_int_mm)", matmul.mm),
    (r"aten::(?:addmm|baddbmm|_addmm_activation)_?", matmul.addmm),
    (r"aten::mv", matmul.mv),
    (r"aten::(?:linear|mkldnn_linear)|mkldnn::_linear_pointwise", matmul.linear),
    (r"mkl::_mkl_linear", matmul.mkl_linear),
    (r"aten::_?convolution", convolution.convolution),
    (r"aten::cudnn_convolution", convolution.cudnn_convolution),
    (r"aten::(?:mkldnn|miopen)_convolution|mkldnn::_convolution_pointwise", convolution.mkldnn_convolution),
    (r"aten::cudnn_convolution_relu", convolution.cudnn_convolution_relu),
    (r"aten::convolution_backward", convolution.convolution_backward),
    (r"aten::_scaled_dot_product_flash_attention(?:_for_cpu)?", attention.flash_forward),
    (r"aten::_scaled_dot_product_(?:efficient|cudnn)_attention", attention.efficient_forward),
    (r"aten::_scaled_dot_product_(?:flash|efficient)_attention_backward", attention.flash_backward),
    (r"aten::_scaled_dot_product_cudnn_attention_backward", attention.cudnn_backward),
    (r"aten::_scaled_dot_product_flash_attention_for_cpu_backward", attention.cpu_backward),
    (r"aten::(?:fill|zero)_", elementwise.writes_first),
    (r"aten::copy_", elementwise.moves_all),
    (rf"aten::(?:{_LIKE_FIRST})", elementwise.like_first),
    (rf"aten::(?:{_BROADCAST})", elementwise.broadcast),
    (rf"aten::(?:{_READS})", elementwise.reads),
    (rf"aten::(?:{_LIKE_FIRST}|{_BROADCAST})_", elementwise.in_place),
)

TRITON: Final = re.compile(r"triton_(?:poi|red|per|for|unk|split)_\w+")
"""Pointwise, reduction, persistent, foreach kernels. Templates (`triton_tem_…`, `triton_mm`) multiply matrices whose
shapes their arguments do not tell, so they have no formula."""

_COMPILED: Final = tuple((re.compile(pattern), formula) for pattern, formula in TABLE)


def cost_of(name: str, detail: OpDetail | None) -> Cost | None:
    """What an operator costs at least; None for an operator without a formula, or without its shapes."""
    if detail is None:
        return None
    if TRITON.fullmatch(name):
        return inductor.triton(name, detail)
    formula = formula_of(name)
    try:
        return formula(detail) if formula else None
    except (IndexError, KeyError):
        # A recording with fewer inputs than the schema has.
        return None


def formula_of(name: str) -> Formula | None:
    return next((formula for pattern, formula in _COMPILED if pattern.fullmatch(name)), None)
