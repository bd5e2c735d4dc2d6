"""python_custom_op."""

from __future__ import annotations

import pytest
import torch

from analyzer.rules.python_custom_op import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op, an_op_log, logged
from tests.reports import MS
from tests.rule_facts import facts


@torch.library.custom_op("graphbound_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def often(x: torch.Tensor) -> torch.Tensor:
    for _ in range(8):
        x = twice(x)
    return x


def plain(x: torch.Tensor) -> torch.Tensor:
    for _ in range(8):
        x = x * 2
    return x


def test_an_operator_in_python_that_is_called_often_is_found_with_its_line() -> None:
    (finding,) = judge(facts(ops=logged(often, torch.ones(4)), step_ns=1 * MS))
    assert finding.count == 8
    assert "graphbound_tests::twice" in finding.message
    assert finding.where is not None
    assert finding.where.function == "often"


def test_torchs_own_operators_are_none() -> None:
    assert judge(facts(ops=logged(plain, torch.ones(4)), step_ns=1 * MS)) == ()


def test_an_operator_of_a_library_in_python_is_one_too_and_one_in_torch_alone_is_not() -> None:
    library = torch.library.Library("graphbound_tests_library", "DEF")
    library.define("thrice(Tensor x) -> Tensor")
    library.impl("thrice", lambda x: x * 3, "CPU")
    operator = torch.ops.graphbound_tests_library.thrice
    (finding,) = judge(facts(ops=logged(lambda x: operator(x), torch.ones(4)), step_ns=MS))
    assert "graphbound_tests_library::thrice" in finding.message


def test_a_few_calls_in_a_long_step_are_none() -> None:
    log = an_op_log(an_op("large", is_python=True, count=2))
    assert judge(facts(ops=log, step_ns=10 * MS)) == ()


def test_without_the_steps_time_it_cannot_tell_unless_there_is_none_at_all() -> None:
    with pytest.raises(MissingData):
        judge(facts(ops=an_op_log(an_op("large", is_python=True)), step_ns=None))
    assert judge(facts(step_ns=None)) == ()
