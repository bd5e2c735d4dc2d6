"""Operators that change the size of an image: pools, interpolation, padding."""

from __future__ import annotations

import math

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.elementwise import INDEX_BYTES
from analyzer.derive.costs.tensors import dense_bytes, flags, input_bytes, item_bytes, numbers, shape


def max_pool(detail: OpDetail) -> Cost | None:
    """`max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil)` and in 3 dimensions: values and places."""
    out = _pooled(detail, dilation=4, ceil=5)
    return None if out is None else moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0), out * INDEX_BYTES))


def mkldnn_max_pool(detail: OpDetail) -> Cost | None:
    """`mkldnn_max_pool2d`, and the plain `max_pool2d` of the CPU: no places."""
    out = _pooled(detail, dilation=4, ceil=5)
    return None if out is None else moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def avg_pool(detail: OpDetail) -> Cost | None:
    """`avg_pool2d(x, kernel, stride, padding, ceil, …)`."""
    out = _pooled(detail, dilation=None, ceil=4)
    return None if out is None else moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def adaptive_avg_pool(detail: OpDetail) -> Cost | None:
    """`_adaptive_avg_pool2d(x, size)`."""
    out = _resized(detail, numbers(detail, 1))
    return None if out is None else moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def adaptive_max_pool(detail: OpDetail) -> Cost | None:
    """`adaptive_max_pool2d(x, size)`: values and places."""
    out = _resized(detail, numbers(detail, 1))
    return None if out is None else moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0), out * INDEX_BYTES))


def pool_backward(detail: OpDetail) -> Cost | None:
    """`max_pool2d_with_indices_backward(grad, x, …, indices)` and the average's: the size of `x` is written, its values
    are not read.
    """
    if shape(detail, 0) is None or shape(detail, 1) is None:
        return None
    places = len(detail.dtypes) - 1
    indices = input_bytes(detail, places) if places > 1 else 0
    return moving((input_bytes(detail, 0), indices), (dense_bytes(detail, 1),))


def upsample(detail: OpDetail) -> Cost | None:
    """`upsample_nearest2d(x, size, …)`; a scale, where there is no size, comes last."""
    out = _resized(detail, numbers(detail, 1) or None)
    if out is None:
        scales = _reals(detail, len(detail.values) - 1)
        dims = shape(detail, 0)
        if dims is None or scales is None or len(scales) != len(dims) - 2:
            return None
        spatial = [math.floor(d * s) for d, s in zip(dims[2:], scales, strict=True)]
        out = math.prod(dims[:2]) * math.prod(spatial)
    return moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def upsample_backward(detail: OpDetail) -> Cost | None:
    """`upsample_nearest2d_backward(grad, size, input size, …)`."""
    size = numbers(detail, 2)
    if shape(detail, 0) is None or not size or len(size) != len(shape(detail, 0) or ()):
        return None
    return moving((input_bytes(detail, 0),), (math.prod(size) * item_bytes(detail, 0),))


def pad(detail: OpDetail) -> Cost | None:
    """`constant_pad_nd(x, pad)`, `reflection_pad2d`, …: pairs of amounts, from the last dimension on."""
    dims, amounts = shape(detail, 0), numbers(detail, 1)
    if dims is None or amounts is None or len(amounts) % 2 or len(amounts) > 2 * len(dims):
        return None
    out = list(dims)
    for i in range(len(amounts) // 2):
        out[-1 - i] += amounts[2 * i] + amounts[2 * i + 1]
    if any(d < 0 for d in out):
        return None
    written = math.prod(out) * item_bytes(detail, 0)
    return moving((min(input_bytes(detail, 0), written),), (written,))


def unfold(detail: OpDetail) -> Cost | None:
    """`im2col(x, kernel, dilation, padding, stride)`: an output for each place of each window."""
    dims = shape(detail, 0)
    kernel, spread, edges, steps = (numbers(detail, i) for i in range(1, 5))
    if dims is None or len(dims) not in (3, 4) or not kernel or not spread or not edges or not steps:
        return None
    out = math.prod(dims[:-2]) * math.prod(_at(kernel, i) for i in range(2))
    for i, size in enumerate(dims[-2:]):
        reach = size + 2 * _at(edges, i) - _at(spread, i) * (_at(kernel, i) - 1) - 1
        out *= max(0, reach // _at(steps, i) + 1) if _at(steps, i) > 0 else 0
    return moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def fold(detail: OpDetail) -> Cost | None:
    """`col2im(x, size, kernel, dilation, padding, stride)`: what `unfold` took apart is added up into an image."""
    dims, size, kernel = shape(detail, 0), places(detail, 1, 2), places(detail, 2, 2)
    if dims is None or len(dims) not in (2, 3) or size is None or kernel is None or not math.prod(kernel):
        return None
    out = math.prod(dims[:-1]) // math.prod(kernel) * math.prod(size)
    return moving((input_bytes(detail, 0),), (out * item_bytes(detail, 0),))


def places(detail: OpDetail, index: int, sides: int) -> tuple[int, ...] | None:
    """The sizes along so many sides that an argument gives, one number standing for all; None where there are none, or
    another number of them.
    """
    found = numbers(detail, index)
    if not found or len(found) not in (1, sides):
        return None
    return found if len(found) == sides else found * sides


def _pooled(detail: OpDetail, dilation: int | None, ceil: int) -> int | None:
    """The elements of a pool's output (`pooling_output_shape` in ATen's Pool.h)."""
    dims, kernel, padding = shape(detail, 0), numbers(detail, 1), numbers(detail, 3)
    is_ceil = flags(detail, ceil)
    if dims is None or not kernel or padding is None or is_ceil is None:
        return None
    stride = numbers(detail, 2) or kernel
    spread = (numbers(detail, dilation) if dilation is not None else None) or (1,)
    rank = 3 if len(kernel) == 3 else 2
    if len(dims) <= rank:
        return None
    out = math.prod(dims[:-rank])
    for i, size in enumerate(dims[-rank:]):
        window, step, edge, gap = (_at(v, i) for v in (kernel, stride, padding or (0,), spread))
        reach = size + 2 * edge - gap * (window - 1) - 1
        steps = (reach + (step - 1 if is_ceil[0] else 0)) // step + 1
        # The last window must start inside the input or its left edge.
        out *= steps - 1 if is_ceil[0] and (steps - 1) * step >= size + edge else steps
    return max(out, 0)


def _resized(detail: OpDetail, size: tuple[int, ...] | None) -> int | None:
    dims = shape(detail, 0)
    if dims is None or not size or len(size) >= len(dims):
        return None
    return math.prod(dims[: len(dims) - len(size)]) * math.prod(size)


def _at(values: tuple[int, ...], i: int) -> int:
    return values[min(i, len(values) - 1)]


def _reals(detail: OpDetail, index: int) -> tuple[float, ...] | None:
    try:
        words = detail.values[index].strip("[] ").split(",") if 0 <= index < len(detail.values) else []
        return tuple(float(w) for w in words if w.strip()) or None
    except ValueError:
        return None
