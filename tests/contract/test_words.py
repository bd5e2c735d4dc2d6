"""What every explained word keeps to, and that no word of a verdict or a budget is without an explanation."""

from __future__ import annotations

import pytest

from analyzer.commands.explain import explained, listed
from analyzer.core.budget import HostKind, Part
from analyzer.core.settings import Objective
from analyzer.core.verdict import Bound
from analyzer.reporting.word import Word
from analyzer.reporting.words import WORDS, plain_name
from analyzer.reporting.words_path import PATH_WORDS
from analyzer.reporting.words_search import SEARCH_WORDS
from analyzer.rules import RULES
from analyzer.rules.rule import SECTIONS

every_word = pytest.mark.parametrize("word", WORDS, ids=lambda word: word.id)


@pytest.mark.parametrize("value", [*Bound, *Part, *HostKind], ids=str)
def test_every_bound_part_and_kind_is_explained(value: Bound | Part | HostKind) -> None:
    assert explained(value.value).startswith(f"{value.value}: ")


def test_a_word_stands_once_and_is_no_rules_id() -> None:
    names = [*(plain_name(word.id) for word in WORDS), *(rule.id for rule in RULES)]
    assert len(set(names)) == len(names)


def test_every_word_is_one_of_a_report() -> None:
    others = {word.id for word in (*PATH_WORDS, *SEARCH_WORDS)}
    assert {word.id for word in WORDS} - others == {value.value for value in (*Bound, *Part, *HostKind)}


def test_every_objective_is_told_of() -> None:
    assert all(objective.value in explained("objective") for objective in Objective)


@every_word
def test_it_has_every_section_of_the_rules_in_order(word: Word) -> None:
    lines = word.doc.splitlines()
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    for section in SECTIONS:
        assert len(lines[lines.index(section) + 1].strip()) > 20
    assert word.title.endswith(".")


@every_word
def test_it_fits_a_terminal(word: Word) -> None:
    assert all(len(line) <= 80 for line in explained(word.id).splitlines())
    assert any(line.split("  ")[1:2] == [word.id] and len(line) <= 80 for line in listed().splitlines())


@every_word
def test_it_is_found_however_it_is_written(word: Word) -> None:
    for written in (word.id.upper(), word.id.replace(" ", "-"), f"  {word.id.replace(' ', '_')} "):
        assert explained(written) == explained(word.id)
