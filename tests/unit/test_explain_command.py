"""`analyze explain` prints the rule's own text, and says what there is for a name it does not know."""

from __future__ import annotations

import pytest

from analyzer.cli import main
from analyzer.rules import RULES


def test_without_a_name_every_rule_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    listed = capsys.readouterr().out
    assert all(rule.id in listed for rule in RULES)


def test_a_rule_is_explained_with_all_its_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "graph_break"]) == 0
    text = capsys.readouterr().out
    for section in ("What it finds", "Why it costs", "How it is measured", "What to do", "When it is wrong"):
        assert section in text
    assert max(map(len, text.splitlines())) <= 80


def test_an_unknown_rule_is_a_usage_error_that_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "graph_brake"]) == 2
    assert "graph_break" in capsys.readouterr().err
