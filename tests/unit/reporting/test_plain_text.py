"""Names of a user's program, made harmless."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from analyzer.reporting.plain_text import file_name, plain, plain_lines


def test_an_escape_sequence_is_shown_and_not_obeyed() -> None:
    assert plain("\x1b[2Jmodel\x9b1m") == "\\x1b[2Jmodel\\x9b1m"


def test_a_mark_that_reverses_the_line_is_shown() -> None:
    assert plain("abc\u202ecba") == "abc\\u202ecba"


def test_lines_become_one() -> None:
    assert plain("a\nb\r\n\tc") == "a b c"


def test_a_long_name_is_cut_and_says_so() -> None:
    assert plain("x" * 2_000, 10) == "x" * 9 + "…"
    assert plain("x" * 10, 10) == "x" * 10


def test_a_message_keeps_its_lines_but_not_all_of_a_thousand() -> None:
    assert plain_lines("one\ntwo\x1b") == "one\ntwo\\x1b"
    shown = plain_lines("\n".join("x" * 1_000), limit=3)
    assert shown.splitlines() == ["x", "x", "x", "… (997 more lines)"]


def test_a_file_name_is_found_in_paths_of_either_kind() -> None:
    assert file_name("/home/ada/model.py") == "model.py"
    assert file_name("C:\\models\\model.py") == "model.py"
    assert file_name("<string>") == "<string>"


@given(st.text(), st.integers(min_value=2, max_value=50))
def test_nothing_that_is_not_seen_gets_through(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
