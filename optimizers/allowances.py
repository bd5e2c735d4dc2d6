"""How far off a result may be: as eager is off, a floor, and what a change of meaning that the user allowed costs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import torch

from collectors.kept_numbers import is_number

FACTOR: Final = 3.0
"""A candidate may be three times as far from the reference as eager; torch's own benchmarks allow two to three
(`multiplier` in torch/_dynamo/utils.py, `same`)."""

FLOOR_EPS: Final = 4.0
"""Where eager is exact by luck, so many units of the dtype's rounding are allowed: a fused kernel takes other,
equally good, routines for exp and tanh, each right to one or two units."""

SMALL_TENSOR: Final = 64
"""Under so many elements the error of one run is luck, not a norm."""
SMALL_FLOOR_EPS: Final = 64.0
FLOOR_LIMIT: Final = 0.05
"""No floor above 5 %, whatever the dtype."""


FEW_ODDS: Final = 1000.0
FEW_MARGIN: Final = 1.5
"""The quotient of two equally good errors of n elements is over 1.5 x 1000^(1/n) once in a thousand times at most (F
distribution with n and n degrees of freedom, its root): of a scalar loss, 3 would be passed once in five."""
FEW_LIMIT: Final = 0.05
"""Beyond it luck excuses nothing: half of a mean in bfloat16 was within 1500 times eager's error."""

NOISE: Final = 10.0
"""Times the size of the true values: eager's, computed in a narrower type, are then rounding alone; and times eager's
size, which the noise of another order of additions stays within."""

ROUNDING: Final = {"tf32": 2.0**-11, "bf16": 2.0**-8, "int8": 2.0**-7, "fp8": 2.0**-4}
"""Half the distance of two neighbours, relative to them: what bringing a number to the narrower type costs at most
(`torch.finfo(...).eps / 2`; TF32 keeps 10 bits of mantissa, int8 127 steps to the largest of a row)."""

CHANGED_UNITS: Final = 16.0
"""Units of such rounding that an allowed change may cost: one unit at each of 256 operations in a row adds up as its
root. The user's own dtype says nothing of what a narrower one costs, so eager's error is no measure there."""

CHANGED_LIMIT: Final = 0.10
"""Beyond a tenth no change is passed as right, whatever its type."""


def allowed_for(changes: Iterable[str]) -> float:
    """How far off the worst tensor may be under these changes of meaning; 0 where they change the rounding alone."""
    return min(CHANGED_LIMIT, CHANGED_UNITS * max((ROUNDING.get(change, 0.0) for change in changes), default=0.0))


def as_far_as(error: float, tensor: torch.Tensor) -> float:
    """What a result of this size may be off where eager's is off by `error`."""
    few = FEW_MARGIN * math.pow(FEW_ODDS, 1 / max(tensor.numel(), 1))
    return max(FACTOR * error, min(few * error, FEW_LIMIT))


def floor(path: str, tensor: torch.Tensor) -> float:
    """What the result at this path may be off, however exact eager is."""
    # A Python float may come of a float32: its own 53 bits say nothing of how it was made.
    eps = torch.finfo(torch.float32 if is_number(path) else tensor.dtype).eps
    return min(FLOOR_LIMIT, eps * (SMALL_FLOOR_EPS if tensor.numel() < SMALL_TENSOR else FLOOR_EPS))
