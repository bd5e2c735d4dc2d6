"""How far off a change of meaning that the user allowed may bring a result."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

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
