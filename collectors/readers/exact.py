"""Numbers of a trace file as exact integers. Never through a double that cannot hold them."""

from __future__ import annotations

import decimal
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from msgspec import Raw
from numpy.typing import NDArray

INT64_MAX: Final = int(np.iinfo(np.int64).max)
NS_PER_US_DIGITS: Final = 3
NS_PER_US: Final = 10**NS_PER_US_DIGITS
_INT64_DIGITS: Final = 19
_NEAREST_NS: Final = decimal.Context(prec=60, rounding=decimal.ROUND_HALF_EVEN)
_TRAILING_NUMBER: Final = re.compile(rb"(-?[0-9]{1,4300})\s*$")
_WIDEST_PLAIN: Final = 24
"""Characters: 19 digits, a point, a sign, and room. Longer texts are read one by one."""
_ZERO: Final = np.uint8(ord("0"))
_POINT: Final = (ord(".") - ord("0")) % 256
_LINE_END: Final = (ord("\n") - ord("0")) % 256
"""Characters less that of zero, in eight bits."""
EXACT_US: Final = float(2**43)
"""Below it (100 days) the doubles are so close that the nearest one tells every nanosecond apart."""


def nanoseconds(microseconds: bytes) -> int | None:
    """The JSON text of a time in microseconds (a number, or a number in quotes) as the nearest nanosecond.

    None where it is no number, is absent, or does not fit 64 bits.
    """
    text = microseconds.strip(b'" ')
    whole, _, fraction = text.partition(b".")
    is_short = len(whole) <= _INT64_DIGITS and len(fraction) <= NS_PER_US_DIGITS
    if is_short and whole.isdigit() and (not fraction or fraction.isdigit()):
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


def nanosecond_column(texts: Sequence[bytes]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """`nanoseconds` of each text, and which of them have one: 0.25 µs a text, whatever doubles can hold."""
    value = np.zeros(len(texts), dtype=np.int64)
    known = np.zeros(len(texts), dtype=np.bool_)
    if not texts:
        return value, known
    if max(map(len, texts)) <= _WIDEST_PLAIN:
        value, known = _plain_decimals(np.asarray(texts, dtype=np.bytes_))
    for row in np.flatnonzero(~known).tolist():
        exact = nanoseconds(texts[row])
        if exact is not None:
            value[row], known[row] = exact, True
    return value, known


def nanosecond_texts(texts: Sequence[Raw]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The same of JSON texts as they lie in a file: 0.1 µs a text where all look alike."""
    lines = b"\n".join(texts)
    found = _alike(lines, len(texts)) if texts else None
    if found is not None:
        return found, np.ones(len(texts), dtype=np.bool_)
    split = lines.split(b"\n")
    # A list may be written over several lines, and no text at all is one line.
    return nanosecond_column(split if len(split) == len(texts) else [bytes(text) for text in texts])


def _alike(lines: bytes, count: int) -> NDArray[np.int64] | None:
    """Of texts that are digits alone, all as long, with a point at the same place or none; None of any others."""
    width = (len(lines) + 1) // count
    whole, point, fraction = lines[: width - 1].partition(b".")
    if width * count != len(lines) + 1 or not whole or len(fraction) > NS_PER_US_DIGITS:
        return None
    if len(whole) + NS_PER_US_DIGITS > _INT64_DIGITS:
        return None
    digits = np.frombuffer(lines + b"\n", dtype=np.uint8).reshape(count, width) - _ZERO
    points = digits[:, len(whole)] == _POINT if point else None
    # Whatever is no digit is above nine: in each row the end of its line, and the point.
    others = count * (2 if point else 1)
    if (digits[:, -1] != _LINE_END).any() or (points is not None and not points.all()):
        return None
    if np.count_nonzero(digits > 9) != others:
        return None
    if len(whole) + NS_PER_US_DIGITS == _INT64_DIGITS and digits[:, 0].max() == 9:
        return None  # it may not fit the sign
    found: NDArray[np.int64] = digits.astype(np.int64) @ _powers(len(whole), width)
    return found


@lru_cache(maxsize=32)
def _powers(whole: int, width: int) -> NDArray[np.int64]:
    """What each character of such a text counts, in nanoseconds: 0 for the point and the end of the line."""
    powers = np.zeros(width, dtype=np.int64)
    powers[:whole] = 10 ** np.arange(whole + NS_PER_US_DIGITS - 1, NS_PER_US_DIGITS - 1, -1, dtype=np.int64)
    fraction = 10 ** np.arange(NS_PER_US_DIGITS - 1, -1, -1, dtype=np.int64)
    powers[whole + 1 : -1] = fraction[: max(width - whole - 2, 0)]
    return powers


def _plain_decimals(texts: NDArray[np.bytes_]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Texts of up to 19 digits with at most three after a point; what is anything else is not known."""
    characters = np.ascontiguousarray(texts.view(np.uint8).reshape(texts.size, -1).T)
    value = np.zeros(texts.size, dtype=np.uint64)
    digits = np.zeros(texts.size, dtype=np.uint8)
    fraction = np.zeros(texts.size, dtype=np.uint8)
    after_point = np.zeros(texts.size, dtype=np.bool_)
    is_plain = np.ones(texts.size, dtype=np.bool_)
    for column in characters:
        digit = column - np.uint8(ord("0"))
        is_digit, is_point = digit <= 9, column == ord(".")
        is_plain &= is_digit | (column == 0) | (is_point & ~after_point)
        value = np.where(is_digit, value * np.uint64(10) + digit, value)
        digits += is_digit
        fraction += is_digit & after_point
        after_point |= is_point
    missing = np.where(fraction <= NS_PER_US_DIGITS, NS_PER_US_DIGITS - fraction.astype(np.int64), 0)
    # 19 digits fit the unsigned 64 bits of `value`; whether they fit the signed ones is asked below.
    fits = (digits > 0) & (fraction <= NS_PER_US_DIGITS) & (digits + missing <= _INT64_DIGITS)
    scaled = value * (np.uint64(10) ** missing.astype(np.uint64))
    known = is_plain & fits & (scaled <= np.uint64(INT64_MAX))
    return np.where(known, scaled, 0).astype(np.int64), known


def nanoseconds_of_doubles(microseconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest nanoseconds of times below EXACT_US; whole and fraction apart, so that nothing is rounded twice."""
    whole = np.floor(microseconds)
    return whole.astype(np.int64) * NS_PER_US + np.rint((microseconds - whole) * NS_PER_US).astype(np.int64)


def integer(text: bytes) -> int | None:
    """A JSON integer, or the one at the end of a text (`"stream 7"`); None where there is none within 64 bits."""
    stripped = text.strip(b'" ')
    found = _TRAILING_NUMBER.search(stripped[-_WIDEST_PLAIN * 2 :])
    if not found or len(found.group(1).lstrip(b"-0")) > _INT64_DIGITS:
        return None
    return _fit(int(found.group(1)))


def _fit(value: int) -> int | None:
    return value if -INT64_MAX <= value <= INT64_MAX else None
