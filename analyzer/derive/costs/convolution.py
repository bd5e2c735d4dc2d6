"""Convolutions: 2 operations an output position, filter element and channel pair, as in `torch.utils.flop_counter`.

Unlike there, the gradient of the weight of a grouped convolution is divided by the groups, as its arithmetic is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.tensors import dtype_name, flags, input_bytes, item_bytes, numbers, shape


@dataclass(frozen=True, slots=True)
class Places:
    """Where an operator's schema puts what describes the convolution; None where it has no such argument."""

    stride: int
    padding: int
    dilation: int
    transposed: int | None = None
    output_padding: int | None = None


ATEN = Places(stride=3, padding=4, dilation=5, transposed=6, output_padding=7)
CUDNN = Places(stride=3, padding=2, dilation=4)
MKLDNN = Places(stride=4, padding=3, dilation=5)
CUDNN_RELU = Places(stride=3, padding=4, dilation=5)


def convolution(detail: OpDetail) -> Cost | None:
    """`aten::convolution` and `aten::_convolution`."""
    return _forward(detail, ATEN)


def cudnn_convolution(detail: OpDetail) -> Cost | None:
    return _forward(detail, CUDNN)


def mkldnn_convolution(detail: OpDetail) -> Cost | None:
    """`aten::mkldnn_convolution`, `aten::miopen_convolution`, `mkldnn::_convolution_pointwise`."""
    return _forward(detail, MKLDNN)


def cudnn_convolution_relu(detail: OpDetail) -> Cost | None:
    return _forward(detail, CUDNN_RELU)


def convolution_backward(detail: OpDetail) -> Cost | None:
    """The gradients of input and weight that the mask asks for; each costs what the forward pass does."""
    grad, x, weight = (shape(detail, i) for i in range(3))
    transposed, wanted = flags(detail, 7), flags(detail, 10)
    if grad is None or x is None or weight is None or transposed is None or wanted is None or len(wanted) != 3:
        return None
    flops = _flops(x, weight, x if transposed[0] else grad)
    tensors = [input_bytes(detail, i) for i in range(3)]
    moved = tensors[0]
    for is_wanted, other, own in ((wanted[0], tensors[2], tensors[1]), (wanted[1], tensors[1], tensors[2])):
        moved += (other + own) if is_wanted else 0
    return Cost(flops * (wanted[0] + wanted[1]), moved, dtype_name(detail, 1))


def _forward(detail: OpDetail, places: Places) -> Cost | None:
    x, weight = shape(detail, 0), shape(detail, 1)
    if x is None or weight is None or len(x) != len(weight) or len(x) < 3:
        return None
    out = _output(detail, places, x, weight)
    if out is None:
        return None
    is_transposed = out[1]
    moved = input_bytes(detail, 0) + input_bytes(detail, 1) + math.prod(out[0]) * item_bytes(detail, 0)
    return Cost(_flops(x, weight, x if is_transposed else out[0]), moved, dtype_name(detail, 0))


def _output(
    detail: OpDetail, places: Places, x: tuple[int, ...], weight: tuple[int, ...]
) -> tuple[tuple[int, ...], bool] | None:
    """The output's shape, and whether the convolution is transposed. A list of one number holds for every dimension."""
    stride, padding, dilation = (numbers(detail, i) for i in (places.stride, places.padding, places.dilation))
    transposed = flags(detail, places.transposed) if places.transposed is not None else (False,)
    if not stride or not padding or not dilation or transposed is None:
        return None
    spatial = []
    extra = (numbers(detail, places.output_padding) if places.output_padding is not None else None) or (0,)
    for i, (size, filter_size) in enumerate(zip(x[2:], weight[2:], strict=True)):
        step, pad, spread, more = (v[min(i, len(v) - 1)] for v in (stride, padding, dilation, extra))
        reach = spread * (filter_size - 1)
        spatial.append(
            (size - 1) * step - 2 * pad + reach + more + 1
            if transposed[0]
            else (size + 2 * pad - reach - 1) // step + 1
        )
    groups = x[1] // weight[0] if transposed[0] else 1
    channels = weight[1] * max(groups, 1) if transposed[0] else weight[0]
    return (x[0], channels, *spatial), transposed[0]


def _flops(x: tuple[int, ...], weight: tuple[int, ...], positions: tuple[int, ...]) -> int:
    """`positions` is the shape whose spatial part is visited: the output's, or the input's when transposed."""
    return 2 * x[0] * math.prod(positions[2:]) * math.prod(weight)
