"""no_graph_captured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.rules.no_graph_captured import judge
from analyzer.rules.rule import MissingData
from tests.reports import at
from tests.rule_facts import a_break, an_environment, captured, facts


def test_a_step_that_runs_eager_is_said_with_the_break_that_caused_it() -> None:
    (finding,) = judge(facts(capture=replace(captured(breaks=(a_break(None), a_break())), graphs=())))
    assert "whole step runs eager" in finding.message
    assert "Tensor.item()" in finding.message
    assert finding.where == at("/home/ada/net.py:15")


def test_torchs_sentence_goes_on_in_ours() -> None:
    stop = a_break(reason="Dynamic shape operator: its shape depends on input Tensor data.")
    (finding,) = judge(facts(capture=replace(captured(breaks=(stop,)), graphs=())))
    assert "input Tensor data; the whole step runs eager" in finding.message


def test_it_is_said_without_any_break_too() -> None:
    (finding,) = judge(facts(capture=replace(captured(), graphs=())))
    assert finding.where is None


def test_one_graph_is_enough_to_be_silent() -> None:
    assert judge(facts(capture=captured(breaks=(a_break(),)))) == ()


def test_without_a_capture_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(capture=None))


def test_a_switch_that_is_off_is_named_and_no_place_where_capture_stops() -> None:
    off = facts(capture=replace(captured(), graphs=()), environment=an_environment(is_compile_disabled=True))
    (finding,) = judge(off)
    assert "switched off" in finding.message
    assert "TORCH_COMPILE_DISABLE" in str(finding.remedy)
    assert "fullgraph" not in str(finding.remedy)
