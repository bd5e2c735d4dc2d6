"""Numbers of a file become exact integers."""

from __future__ import annotations

import pytest

from collectors.readers.exact import integer, nanoseconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"5100986317371.160", 5_100_986_317_371_160),
        (b"5100986317371.16", 5_100_986_317_371_160),
        (b"1712195495505583123.457", None),
        (b"1712195495505583.123", 1_712_195_495_505_583_123),
        (b"7", 7_000),
        (b"0.0004", 0),
        (b"0.0006", 1),
        (b'"12.5"', 12_500),
        (b"-0.002", -2),
        (b"1.5e3", 1_500_000),
        (b"99999999999999999999999", None),
        (b"NaN", None),
        (b"null", None),
        (b"1e999999999", None),
        (b"", None),
    ],
)
def test_a_time_is_the_nearest_nanosecond_or_unknown(text: bytes, expected: int | None) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"7", 7),
        (b'"stream 7"', 7),
        (b'"-1"', -1),
        (b"18446744073709551616", None),
        (b'"main"', None),
        (b"", None),
    ],
)
def test_an_integer_may_stand_at_the_end_of_a_text(text: bytes, expected: int | None) -> None:
    assert integer(text) == expected
