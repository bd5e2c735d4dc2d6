"""What is kept of the code that Inductor generated, and what is cut of it."""

from __future__ import annotations

import pytest

from collectors import kept_code
from collectors.kept_code import KeptCode
from tests.reports import a_key


def test_the_first_code_of_each_graph_stands() -> None:
    kept = KeptCode()
    kept.add(a_key(1), "fused", "first")
    kept.add(a_key(1), "fused", "second")
    kept.add(a_key(2), "cpp_wrapper", "other")
    assert [(code.key, code.text, code.code_bytes) for code in kept.codes()] == [
        (a_key(1), "first", 5),
        (a_key(2), "other", 5),
    ]


def test_with_a_candidate_others_are_not_kept() -> None:
    kept = KeptCode("fused")
    kept.add(a_key(1), "cpp_wrapper", "no")
    kept.add(a_key(1), "fused", "yes")
    assert [code.text for code in kept.codes()] == ["yes"]


def test_what_is_too_long_is_cut_at_a_line_and_its_whole_size_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_code, "MOST_CODE_BYTES", 10)
    monkeypatch.setattr(kept_code, "MOST_RUN_BYTES", 14)
    kept = KeptCode()
    kept.add(a_key(1), "fused", "éé\n1234\n567\n")  # 14 bytes, of which two lines are 10
    kept.add(a_key(2), "fused", "12\n3456789\n")
    kept.add(a_key(3), "fused", "12345\n")
    assert [(code.text, code.code_bytes) for code in kept.codes()] == [("éé\n1234\n", 14), ("12\n", 11), ("", 6)]


def test_a_surrogate_does_not_stop_a_compilation() -> None:
    kept = KeptCode()
    kept.add(a_key(1), "fused", "# \udc80\n")
    assert kept.codes()[0].text == "# ?\n"
