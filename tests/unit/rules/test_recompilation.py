"""recompilation."""

from __future__ import annotations

import itertools

import pytest

from analyzer.core.graphs import Recompile
from analyzer.rules.recompilation import judge
from analyzer.rules.rule import MissingData
from tests.reports import at
from tests.rule_facts import captured, facts

SIZE = "tensor 'x' size mismatch at index 0. expected 3, actual 4"


def _again(guard: str, line: int = 7, **changes: object) -> Recompile:
    return Recompile(where=at(f"net.py:{line}"), guard=guard, compile_id="0/1", **changes)


def test_a_failed_guard_is_named_with_what_to_do() -> None:
    (finding,) = judge(facts(capture=captured(recompiles=(_again(SIZE),))))
    assert SIZE in finding.message
    assert "mark_dynamic" in finding.remedy
    assert finding.where == at("net.py:7")
    assert finding.ns_per_step is None


def test_guards_that_differ_in_their_numbers_only_are_one_finding() -> None:
    again = (_again("self.n == 0"), _again("self.n == 1", count=3), _again("self.n == 12"))
    (finding,) = judge(facts(capture=captured(recompiles=again)))
    assert finding.count == 5


def test_one_tensor_of_several_types_is_one_finding() -> None:
    types = ("Float", "Double", "BFloat16", "Half")
    pairs = itertools.pairwise(types)
    again = tuple(_again(f"tensor 'x' dtype mismatch. expected {one}, actual {other}") for one, other in pairs)
    (finding,) = judge(facts(capture=captured(recompiles=again)))
    assert finding.count == 3
    assert "expected Float, actual Double" in finding.message
    assert "the same dtype" in finding.remedy


def test_other_guards_and_other_lines_are_findings_of_their_own() -> None:
    again = (_again(SIZE), _again(SIZE, line=9), _again("self.n == 0"))
    assert len(judge(facts(capture=captured(recompiles=again)))) == 3


def test_the_limit_is_left_to_its_own_rule() -> None:
    assert judge(facts(capture=captured(recompiles=(_again(SIZE, is_limit=True),)))) == ()


def test_a_frame_compiled_once_is_silent() -> None:
    assert judge(facts()) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(capture=None))
