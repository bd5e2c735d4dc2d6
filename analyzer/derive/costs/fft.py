"""Fourier transforms: 5 n log2 n operations a complex one, half of it where one side is real (fftw.org/speed)."""

from __future__ import annotations

import math
from dataclasses import replace

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost, moving
from analyzer.derive.costs.instructions import FFT_STEP
from analyzer.derive.costs.tensors import input_bytes, item_bytes, numbers, shape


def complex_to_complex(detail: OpDetail) -> Cost | None:
    """`_fft_c2c(x, dims, …)`."""
    dims = shape(detail, 0)
    return None if dims is None else _cost(detail, dims, dims, item_bytes(detail, 0), 1.0)


def real_to_complex(detail: OpDetail) -> Cost | None:
    """`_fft_r2c(x, dims, normalization, onesided)`: one side keeps n / 2 + 1 of the last transformed dimension."""
    dims, over = shape(detail, 0), numbers(detail, 1)
    if dims is None or not over or not -len(dims) <= over[-1] < len(dims):
        return None
    out = list(dims)
    is_onesided = len(detail.values) > 3 and detail.values[3] in ("True", "1")
    out[over[-1]] = out[over[-1]] // 2 + 1 if is_onesided else out[over[-1]]
    return _cost(detail, dims, tuple(out), 2 * item_bytes(detail, 0), 0.5)


def complex_to_real(detail: OpDetail) -> Cost | None:
    """`_fft_c2r(x, dims, normalization, last size)`."""
    dims, over, last = shape(detail, 0), numbers(detail, 1), numbers(detail, 3)
    if dims is None or not over or not last or not -len(dims) <= over[-1] < len(dims):
        return None
    out = list(dims)
    out[over[-1]] = last[0]
    return _cost(detail, tuple(out), tuple(out), item_bytes(detail, 0) // 2, 0.5)


def _cost(
    detail: OpDetail, transformed: tuple[int, ...], out: tuple[int, ...], out_item: int, part: float
) -> Cost | None:
    over = numbers(detail, 1)
    if not over or not all(-len(transformed) <= d < len(transformed) for d in over):
        return None
    length = math.prod(transformed[d] for d in over)
    steps = math.log2(length) if length > 1 else 0.0
    work = round(part * FFT_STEP * math.prod(transformed) * steps)
    # Long transforms go over memory more than once.
    moved = moving((input_bytes(detail, 0),), (math.prod(out) * out_item,), is_floor=True)
    return replace(moved, instructions=work)
