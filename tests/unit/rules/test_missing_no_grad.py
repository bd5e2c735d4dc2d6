"""missing_no_grad."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import Direction
from analyzer.core.ops import ModeUse
from analyzer.rules.missing_no_grad import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op, an_op_log
from tests.reports import at
from tests.rule_facts import a_captured_graph, a_workload, an_environment, captured, facts

FORWARD = a_captured_graph(direction=Direction.FORWARD)
TRAINING = a_workload(mode="training")


def test_a_step_of_the_users_own_that_leaves_gradients_on_is_found_at_its_line() -> None:
    line = at("/home/ada/serve.py:9")
    (finding,) = judge(facts(environment=an_environment(is_grad_enabled=True, grad_line=line)))
    assert "no_grad" in finding.remedy
    assert "measured under torch.no_grad()" in finding.message
    assert finding.where == line


def test_a_graph_compiled_for_training_is_evidence_of_its_own() -> None:
    (finding,) = judge(facts(capture=captured(FORWARD), environment=an_environment(is_grad_enabled=None)))
    assert finding.where == FORWARD.where


def test_a_step_that_takes_gradients_of_its_own_needs_them() -> None:
    backward = an_op_log(an_op("mm", is_backward=True))
    assert judge(facts(capture=captured(FORWARD), ops=backward)) == ()


def test_training_needs_its_gradients() -> None:
    environment = an_environment(is_grad_enabled=True)
    assert judge(facts(workload=TRAINING, capture=captured(FORWARD), environment=environment)) == ()


def test_a_step_without_gradients_is_silent() -> None:
    assert judge(facts()) == ()


def test_without_setting_and_graphs_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(environment=None, capture=None, ops=None))


def test_without_a_workload_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(workload=None))


def test_operators_whose_gradient_is_recorded_are_evidence_at_their_line() -> None:
    log = an_op_log(modes=(ModeUse("gradients", at("/home/ada/net.py:9"), 12),))
    (finding,) = judge(facts(ops=log, environment=None, capture=None))
    assert str(finding.where) == "/home/ada/net.py:9"


def test_a_log_without_gradients_is_evidence_that_there_are_none() -> None:
    assert judge(facts(ops=an_op_log(), environment=None, capture=None)) == ()
