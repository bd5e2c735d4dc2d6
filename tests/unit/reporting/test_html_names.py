"""Names beside each other: short where that is enough, and never two that look alike."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.reporting.html_names import told_apart

_TRICKY = st.text(alphabet="ab \t\n\u00a0\u3000\u2423\u200b\u202e\\x09e\u0301\u00e9\ufb01\x1b\x00", max_size=6)


def shown(*names: str) -> list[str]:
    told = told_apart(names)
    return [told.of(name) for name in names]


def test_names_that_differ_stand_as_they_are() -> None:
    assert shown("gpt-1", "gpt 2", "x\ty") == ["gpt-1", "gpt 2", "x y"]


def test_white_space_is_seen_where_names_would_look_alike_and_only_there() -> None:
    assert shown("a b", "a  b", "c d") == ["a␣b", "a␣␣b", "c d"]
    assert shown("a", " a", "a ") == ["a", "␣a", "a␣"]
    assert shown("a b", "a\tb", "a\u00a0b") == ["a␣b", "a\\x09b", "a\\xa0b"]


def test_long_names_with_one_beginning_are_shown_whole() -> None:
    long = "m" * 90
    assert shown(f"{long}1", f"{long}2") == [f"{long}1", f"{long}2"]
    assert shown(f"{long}1") == ["m" * 79 + "…"]


@pytest.mark.parametrize(
    "names",
    [
        ("e\u0301", "\u00e9"),
        ("x\x1b", "x\\x1b"),
        ("a b", "a  b", "a\u2423b"),
        ("a\u200bb", "a\\u200bb"),
        ("\ufb01", "fi"),
        ("", " ", "  "),
    ],
)
def test_what_is_written_like_another_or_composed_otherwise_is_told_apart(names: tuple[str, ...]) -> None:
    assert len({unicodedata.normalize("NFKC", text) for text in shown(*names)}) == len(names)


@given(st.lists(_TRICKY | st.text(max_size=100), unique=True, max_size=8))
def test_no_two_names_ever_look_alike(names: list[str]) -> None:
    found = shown(*names)
    assert len({unicodedata.normalize("NFKC", text) for text in found}) == len(names)
    hidden = {unicodedata.category(character) for text in found for character in text} & {"Cc", "Cf", "Zl", "Zp"}
    assert not hidden


def test_a_name_of_white_space_alone_can_be_seen() -> None:
    assert shown("  ", "a") == ["␣␣", "a"]


def test_the_order_of_names_and_a_repeated_one_change_nothing() -> None:
    names = ("a b", "a  b", "c")
    assert told_apart(names).shown == told_apart(reversed((*names, *names))).shown
