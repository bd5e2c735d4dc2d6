"""Numbers of a trace file as exact integers. Never through a double: 17 digits of nanoseconds do not fit one."""

from __future__ import annotations

import decimal
import re
from typing import Final

import numpy as np

INT64_MAX: Final = int(np.iinfo(np.int64).max)
NS_PER_US_DIGITS: Final = 3
_INT64_DIGITS: Final = 19
_NEAREST_NS: Final = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)
_TRAILING_NUMBER: Final = re.compile(rb"(-?\d+)\s*$")


def nanoseconds(microseconds: bytes) -> int | None:
    """The JSON text of a time in microseconds (a number, or a number in quotes) as the nearest nanosecond.

    None where it is no number, is absent, or does not fit 64 bits.
    """
    text = microseconds.strip(b'" ')
    whole, _, fraction = text.partition(b".")
    if whole.isdigit() and len(fraction) <= NS_PER_US_DIGITS and (not fraction or fraction.isdigit()):
        return _fit(int(whole + fraction.ljust(NS_PER_US_DIGITS, b"0")))
    try:
        value = decimal.Decimal(text.decode("ascii", "replace"))
    except decimal.InvalidOperation:
        return None
    # Asked before it is written out: `1e999999999` is a number too.
    if not value.is_finite() or value.adjusted() >= _INT64_DIGITS:
        return None
    scaled = value.scaleb(NS_PER_US_DIGITS, _NEAREST_NS)
    return _fit(int(scaled.to_integral_value(context=_NEAREST_NS)))


def integer(text: bytes) -> int | None:
    """A JSON integer, or the one at the end of a text (`"stream 7"`); None where there is none within 64 bits."""
    found = _TRAILING_NUMBER.search(text.strip(b'" '))
    return _fit(int(found.group(1))) if found else None


def _fit(value: int) -> int | None:
    return value if -INT64_MAX <= value <= INT64_MAX else None
