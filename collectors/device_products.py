"""The dense matrix rate of a device for each dtype it multiplies in, by torch's own products."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from analyzer.core.device import Peak
from collectors import torch_compat
from collectors.device_precision import tf32

SIDES: Final = (4096, 8192)
"""Square products of these sides fill every GPU up to an H200 (132 multiprocessors); the better one counts."""

_LONG_NS: Final = 2e8
"""A product expected to take longer is not tried: on a slow GPU six dtypes must fit into some seconds."""

Call = Callable[[], object]
TimeNs = Callable[[Call], float]
"""The device time of one call, in nanoseconds, as the median of several."""

_REFUSALS: Final = (RuntimeError, ValueError)
"""What torch raises where a device, or its library, has no such product."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product that has a rate of its own. `prepare` makes the operands, and returns the call to be timed."""

    label: str
    prepare: Callable[[int, str], Call]
    allows_tf32: bool = False


@dataclass(frozen=True, slots=True)
class Products:
    """`notes` say of each dtype without a peak why it has none."""

    peaks: tuple[Peak, ...]
    notes: tuple[str, ...]


def measure_products(on: str, time_ns: TimeNs, sides: Sequence[int] = SIDES) -> Products:
    """The best rate over `sides` of every product in `PRODUCTS` that torch runs on the device `on`.

    A product of side n has 2 n³ operations.
    """
    peaks, notes = [], []
    for product in PRODUCTS:
        try:
            rate = _best_rate(product, on, time_ns, sides)
        except _REFUSALS as problem:
            notes.append(f"no {product.label} products: {first_line(problem)}")
        else:
            peaks.append(Peak(product.label, rate))
    return Products(tuple(peaks), tuple(notes))


def first_line(problem: BaseException) -> str:
    """The first line of an error; the name of its type where it has none."""
    return (str(problem).strip().splitlines() or [""])[0].strip() or type(problem).__name__


def _best_rate(product: Product, on: str, time_ns: TimeNs, sides: Sequence[int]) -> float:
    """Operations a second. Raises what torch raises, when not even the first side could be run."""
    best, expected_ns = 0.0, 0.0
    for side, larger in zip(sides, (*sides[1:], math.inf), strict=True):
        if expected_ns > _LONG_NS:
            break
        try:
            with tf32(product.allows_tf32):
                taken_ns = time_ns(product.prepare(side, on))
        except torch.cuda.OutOfMemoryError:
            if not best:
                raise
            break
        best = max(best, 2 * side**3 / taken_ns * 1e9)
        expected_ns = taken_ns * (larger / side) ** 3
    return best


def _floating(dtype: torch.dtype) -> Callable[[int, str], Call]:
    def prepare(side: int, on: str) -> Call:
        left, right = _random(side, on).to(dtype), _random(side, on).to(dtype)
        result = torch.empty(side, side, device=on, dtype=dtype)
        return lambda: torch.mm(left, right, out=result)

    return prepare


def _float8(side: int, on: str) -> Call:
    left, right = _random(side, on).to(torch.float8_e4m3fn), _random(side, on).to(torch.float8_e4m3fn)
    scale = torch.ones((), device=on, dtype=torch.float32)
    return lambda: torch_compat.float8_product(left, right.t(), scale)


def _int8(side: int, on: str) -> Call:
    left = torch.randint(-128, 128, (side, side), device=on, dtype=torch.int8)
    right = torch.randint(-128, 128, (side, side), device=on, dtype=torch.int8)
    return lambda: torch_compat.int8_product(left, right.t())


def _random(side: int, on: str) -> torch.Tensor:
    # Random, not zero: on an H200 a bfloat16 product of zeros ran 13 % faster than one of random data.
    return torch.randn(side, side, device=on, dtype=torch.float32)


PRODUCTS: Final = (
    Product("float32", _floating(torch.float32)),
    Product("tf32", _floating(torch.float32), allows_tf32=True),
    Product("bfloat16", _floating(torch.bfloat16)),
    Product("float16", _floating(torch.float16)),
    Product("float8_e4m3fn", _float8),
    Product("int8", _int8),
)
