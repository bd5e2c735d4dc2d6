"""A gate's number as text. The unit's own text is made by `quantities`."""

from __future__ import annotations

import math
from typing import Final, assert_never

from analyzer.core import quantities
from analyzer.core.gate import GateUnit

_ROUNDING: Final = 1e-9
"""Of a per cent: what is this little more than a whole one is that one, computed in floating point."""


def gate_number(value: float | None, unit: GateUnit) -> str:
    """`3`, `31.8 ms`, `1.50 GiB`, `92 %`, `3.1e-03`; None is `unknown`."""
    match unit:
        case GateUnit.COUNT:
            return quantities.count(value)
        case GateUnit.NS:
            return quantities.duration(value)
        case GateUnit.BYTES:
            return quantities.byte_count(value)
        case GateUnit.SHARE:
            return quantities.share(value)
        case GateUnit.ERROR_SIZE:
            return quantities.error_size(value)
        case _:
            assert_never(unit)


def seen_text(seen: float | None) -> str | None:
    """`a slow-down of 12 % or more would most likely have been found`; None where it is not known."""
    return None if seen is None else f"a slow-down of {seen_share(seen)} or more would most likely have been found"


def seen_share(seen: float) -> str:
    """Rounded up: of what is less, nothing is promised."""
    return quantities.share(math.ceil(seen * 100 - _ROUNDING) / 100)
