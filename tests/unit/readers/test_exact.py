"""Numbers of a file become exact integers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from collectors.readers.exact import integer, nanosecond_texts, nanoseconds


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


DIGITS = st.text("0123456789", min_size=0, max_size=20)
TIMES = st.builds(
    lambda whole, point, fraction: f"{whole}{point}{fraction}", DIGITS, st.sampled_from(["", "."]), DIGITS
)
WORDS = st.one_of(TIMES, st.sampled_from(["null", '"12.5"', "-3", "1e3", "[1,\n2]", "", "NaN"]))


@given(st.lists(WORDS, max_size=6))
def test_many_texts_are_read_as_each_alone(texts: list[str]) -> None:
    value, known = nanosecond_texts([Raw(text.encode()) for text in texts])
    found = [ns if is_known else None for ns, is_known in zip(value.tolist(), known.tolist(), strict=True)]
    assert found == [nanoseconds(text.encode()) for text in texts]


@given(st.integers(1, 17), st.integers(0, 4), st.data())
def test_texts_that_all_look_alike_are_read_as_each_alone(whole: int, places: int, data: st.DataObject) -> None:
    digits = st.text("0123456789", min_size=whole + places, max_size=whole + places)
    numbers = data.draw(st.lists(digits, min_size=1, max_size=5))
    texts = [f"{n[:whole]}.{n[whole:]}" if places else n for n in numbers]
    value, known = nanosecond_texts([Raw(text.encode()) for text in texts])
    found = [ns if is_known else None for ns, is_known in zip(value.tolist(), known.tolist(), strict=True)]
    assert found == [nanoseconds(text.encode()) for text in texts]
