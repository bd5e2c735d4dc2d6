"""`analyze explain RULE`."""

from __future__ import annotations

import pytest

from analyzer.core.errors import UsageError
from analyzer.rules import RULES
from analyzer.rules.explain import explain, list_rules


def test_it_prints_the_rules_own_documentation() -> None:
    text = explain("graph_break")
    assert text.startswith("graph_break: ")
    assert "What to do" in text


def test_dashes_and_capitals_are_the_same_rule() -> None:
    assert explain(" Graph-Break ") == explain("graph_break")


def test_a_near_miss_is_answered_with_the_rule_meant() -> None:
    with pytest.raises(UsageError) as caught:
        explain("graph_brake")
    assert caught.value.hint == "did you mean graph_break?"


def test_anything_else_is_answered_with_all_rules() -> None:
    with pytest.raises(UsageError) as caught:
        explain("\x1b[31m")
    assert all(rule.id in str(caught.value.hint) for rule in RULES)


def test_the_list_has_a_line_a_rule() -> None:
    lines = list_rules().splitlines()
    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]
    assert all(len(line) <= 80 for line in lines)
