"""Convolutions: 2 operations an output position, filter element and channel pair, as in `torch.utils.flop_counter`.

Unlike there, the gradient of the weight of a grouped convolution is divided by the groups, as its arithmetic is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, multiplying
from analyzer.derive.costs.tensors import dtype_name, flags, input_bytes, item_bytes, numbers, shape


@dataclass(frozen=True, slots=True)
class Places:
    """Where an operator's schema puts what describes the convolution; None where it has no such argument.

    `is_transposed` where the operator always is; `transposed` is the place of a flag that says so. `beside` are
    further tensors that are read.
    """

    stride: int
    padding: int
    dilation: int | None = None
    transposed: int | None = None
    output_padding: int | None = None
    groups: int | None = None
    is_transposed: bool = False
    weight: int = 1
    beside: tuple[int, ...] = (2,)


ATEN = Places(stride=3, padding=4, dilation=5, transposed=6, output_padding=7, groups=8)
CUDNN = Places(stride=3, padding=2, dilation=4, beside=())
CUDNN_TRANSPOSE = Places(stride=4, padding=2, dilation=5, output_padding=3, groups=6, is_transposed=True, beside=())
CUDNN_RELU = Places(stride=3, padding=4, dilation=5)
CUDNN_ADD_RELU = Places(stride=5, padding=6, dilation=7, beside=(2, 4))
MKLDNN = Places(stride=4, padding=3, dilation=5)
MKLDNN_BINARY = Places(stride=5, padding=4, dilation=6, weight=2, beside=(1, 3))
MIOPEN_TRANSPOSE = Places(stride=5, padding=3, dilation=6, output_padding=4, groups=7, is_transposed=True)
DEPTHWISE = Places(stride=4, padding=5, dilation=6, beside=(3,))
SLOW = Places(stride=4, padding=5, beside=(3,))

BACKWARD_MASK = 10
BACKWARD_TRANSPOSED = 7


def convolution(detail: OpDetail) -> Cost | None:
    """`aten::convolution`, `aten::_convolution` and `aten::convolution_overrideable`."""
    return _forward(detail, ATEN)


def cudnn_convolution(detail: OpDetail) -> Cost | None:
    return _forward(detail, CUDNN)


def cudnn_convolution_transpose(detail: OpDetail) -> Cost | None:
    return _forward(detail, CUDNN_TRANSPOSE)


def cudnn_convolution_relu(detail: OpDetail) -> Cost | None:
    """`aten::cudnn_convolution_relu` and `aten::miopen_convolution_relu`."""
    return _forward(detail, CUDNN_RELU)


def cudnn_convolution_add_relu(detail: OpDetail) -> Cost | None:
    """`aten::cudnn_convolution_add_relu(x, weight, z, alpha, bias, …)` and MIOpen's."""
    return _forward(detail, CUDNN_ADD_RELU)


def mkldnn_convolution(detail: OpDetail) -> Cost | None:
    """`aten::mkldnn_convolution`, `aten::miopen_convolution`, `mkldnn::_convolution_pointwise`, whose overload with a
    second tensor puts that before the weight.
    """
    x, third = shape(detail, 0), shape(detail, 2)
    is_binary = x is not None and third is not None and len(x) == len(third)
    return _forward(detail, MKLDNN_BINARY if is_binary else MKLDNN)


def miopen_convolution_transpose(detail: OpDetail) -> Cost | None:
    return _forward(detail, MIOPEN_TRANSPOSE)


def depthwise(detail: OpDetail) -> Cost | None:
    """`aten::_conv_depthwise2d` and `aten::conv_depthwise3d`."""
    return _forward(detail, DEPTHWISE)


def slow_convolution(detail: OpDetail) -> Cost | None:
    """`aten::_slow_conv2d_forward`, `aten::thnn_conv2d` and `aten::slow_conv3d_forward`: no dilation."""
    return _forward(detail, SLOW)


def convolution_backward(detail: OpDetail) -> Cost | None:
    """`aten::convolution_backward(grad, x, weight, bias_sizes, …)`."""
    return _backward(detail, BACKWARD_TRANSPOSED, BACKWARD_MASK)


def convolution_backward_overrideable(detail: OpDetail) -> Cost | None:
    """As `convolution_backward`, without the sizes of the bias."""
    return _backward(detail, BACKWARD_TRANSPOSED - 1, BACKWARD_MASK - 1)


def _backward(detail: OpDetail, transposed_at: int, mask_at: int) -> Cost | None:
    """The gradients of input and weight that the mask asks for; each costs what the forward pass does."""
    grad, x, weight = (shape(detail, i) for i in range(3))
    transposed, wanted = flags(detail, transposed_at), flags(detail, mask_at)
    if grad is None or x is None or weight is None or transposed is None or wanted is None or len(wanted) != 3:
        return None
    if not len(grad) == len(x) == len(weight) or grad[0] != x[0]:
        return None
    flops = _flops(x, weight, x if transposed[0] else grad)
    own_x, own_weight = input_bytes(detail, 1), input_bytes(detail, 2)
    reads, writes = [input_bytes(detail, 0)], []
    for is_wanted, other, own in ((wanted[0], own_weight, own_x), (wanted[1], own_x, own_weight)):
        reads += [other] if is_wanted else []
        writes += [own] if is_wanted else []
    return multiplying(flops * (wanted[0] + wanted[1]), dtype_name(detail, 1), reads, writes)


def _forward(detail: OpDetail, places: Places) -> Cost | None:
    x, weight = shape(detail, 0), shape(detail, places.weight)
    if x is None or weight is None or len(x) != len(weight) or len(x) < 3:
        return None
    out = _output(detail, places, x, weight)
    if out is None:
        return None
    positions = x if out[1] else out[0]
    reads = [input_bytes(detail, i) for i in (0, places.weight, *places.beside)]
    written = math.prod(out[0]) * item_bytes(detail, 0)
    return multiplying(_flops(x, weight, positions), dtype_name(detail, 0), reads, (written,))


def _output(
    detail: OpDetail, places: Places, x: tuple[int, ...], weight: tuple[int, ...]
) -> tuple[tuple[int, ...], bool] | None:
    """The output's shape, and whether the convolution is transposed. A list of one number holds for every dimension."""
    stride, padding = numbers(detail, places.stride), numbers(detail, places.padding)
    dilation = (1,) if places.dilation is None else numbers(detail, places.dilation)
    is_transposed = _is_transposed(detail, places)
    if not stride or not padding or not dilation or is_transposed is None:
        return None
    spatial = []
    extra = (numbers(detail, places.output_padding) if places.output_padding is not None else None) or (0,)
    for i, (size, filter_size) in enumerate(zip(x[2:], weight[2:], strict=True)):
        step, pad, spread, more = (v[min(i, len(v) - 1)] for v in (stride, padding, dilation, extra))
        reach = spread * (filter_size - 1)
        spatial.append(
            (size - 1) * step - 2 * pad + reach + more + 1
            if is_transposed
            else (size + 2 * pad - reach - 1) // step + 1
        )
    groups = _groups(detail, places, x, weight) if is_transposed else 1
    if groups is None or any(s < 0 for s in spatial) or (not is_transposed and (not weight[1] or x[1] % weight[1])):
        return None
    return (x[0], weight[1] * groups if is_transposed else weight[0], *spatial), is_transposed


def _is_transposed(detail: OpDetail, places: Places) -> bool | None:
    if places.transposed is None:
        return places.is_transposed
    found = flags(detail, places.transposed)
    return None if found is None else found[0]


def _groups(detail: OpDetail, places: Places, x: tuple[int, ...], weight: tuple[int, ...]) -> int | None:
    """The groups of a transposed convolution, whose weight is [in, out / groups, …]; None where they are not told."""
    groups = numbers(detail, places.groups) if places.groups is not None else None
    return groups[0] if groups and x[1] == weight[0] else None


def _flops(x: tuple[int, ...], weight: tuple[int, ...], positions: tuple[int, ...]) -> int:
    """`positions` is the shape whose spatial part is visited: the output's, or the input's when transposed."""
    return 2 * x[0] * math.prod(positions[2:]) * math.prod(weight)
