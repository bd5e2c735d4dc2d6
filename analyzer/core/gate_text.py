"""A gate's number as text. The unit's own text is made by `quantities`."""

from __future__ import annotations

from typing import assert_never

from analyzer.core import quantities
from analyzer.core.gate import GateUnit


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
