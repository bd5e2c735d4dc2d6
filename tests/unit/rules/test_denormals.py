"""denormals."""

from __future__ import annotations

import pytest

from analyzer.core.finding import Finding
from analyzer.core.ops import DenormalFacts, DenormalTensor
from analyzer.rules.denormals import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op_log
from tests.reports import at
from tests.rule_facts import a_workload, facts

PLACE = at("/home/ada/net.py:12")


def found(share: float, slowdown: float | None = 30.0) -> tuple[Finding, ...]:
    tensors = (DenormalTensor("parameter a.weight", None, share), DenormalTensor("aten::mm", PLACE, share / 2))
    log = an_op_log(denormals=DenormalFacts(1000, int(1000 * share), tensors, slowdown))
    return judge(facts(ops=log, workload=a_workload(device="cpu")))


def test_denormal_weights_on_a_slow_cpu_are_found_with_the_line_they_reach() -> None:
    (finding,) = found(0.9)
    assert "a.weight" in finding.message
    assert "30" in finding.message
    assert finding.where == PLACE


def test_a_cpu_that_does_not_mind_and_a_trace_of_them_are_none() -> None:
    assert found(0.9, slowdown=1.08) == ()
    assert found(0.001) == ()


def test_what_was_not_measured_is_not_fine() -> None:
    with pytest.raises(MissingData, match="slow"):
        found(0.9, slowdown=None)
    with pytest.raises(MissingData, match="looked for"):
        judge(facts(ops=an_op_log(), workload=a_workload(device="cpu")))


def test_a_gpu_computes_with_them_at_full_speed() -> None:
    log = an_op_log(denormals=DenormalFacts(1, 1, (DenormalTensor("x", None, 1.0),), 30.0))
    assert judge(facts(ops=log)) == ()
