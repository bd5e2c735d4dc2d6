"""host_constant."""

from __future__ import annotations

import pytest
import torch

from analyzer.rules.host_constant import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import a_tensor, an_op, an_op_log, logged
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_captured_graph, a_region, captured, facts

HOST = a_tensor(2, device="cpu", is_host_made=True)
COPY = an_op("_to_copy", (HOST,), (a_tensor(2),), count=12)


def test_a_constant_moved_in_every_step_is_found_with_its_count() -> None:
    (finding,) = judge(facts(ops=an_op_log(COPY)))
    assert (finding.where, finding.count) == (COPY.where, 12)
    assert "register_buffer" in finding.remedy


def test_torch_tensor_on_a_device_is_known_by_what_it_ends_with() -> None:
    log = an_op_log(an_op("lift_fresh", (a_tensor(2),), (a_tensor(2),)))
    assert len(judge(facts(ops=log))) == 1
    on_cpu = an_op_log(an_op("lift_fresh", (HOST,), (HOST,)))
    assert judge(facts(ops=on_cpu)) == ()


def test_an_input_moved_to_the_device_is_none() -> None:
    data = a_tensor(2, device="cpu")
    log = an_op_log(an_op("_to_copy", (data,), (a_tensor(2),)), an_op("copy_", (a_tensor(2), data), (a_tensor(2),)))
    assert judge(facts(ops=log)) == ()


def test_the_cost_is_the_copies_of_the_only_graph_there() -> None:
    graph = a_captured_graph(source=(at("/home/ada/net.py:12"),))
    regions = (a_region(a_key(1), a_budget(copies=2.0, sync=1.0, memory=7.0)),)
    (finding,) = judge(facts(ops=an_op_log(COPY), capture=captured(graph), regions=regions))
    assert finding.ns_per_step == 3 * MS


def test_two_lines_of_one_graph_have_no_cost_of_their_own() -> None:
    graph = a_captured_graph(source=(at("/home/ada/net.py:12"), at("/home/ada/net.py:13")))
    regions = (a_region(a_key(1), a_budget(copies=2.0)),)
    other = an_op("_to_copy", (HOST,), (a_tensor(2),), place="/home/ada/net.py:13")
    found = judge(facts(ops=an_op_log(COPY, other), capture=captured(graph), regions=regions))
    assert [finding.ns_per_step for finding in found] == [None, None]


def test_in_real_logs_made_and_given_tensors_are_told_apart() -> None:
    def making(x: torch.Tensor) -> torch.Tensor:
        return torch.arange(4).to("meta")

    def moving(x: torch.Tensor) -> torch.Tensor:
        return x.to("meta")

    (finding,) = judge(facts(ops=logged(making, torch.ones(4))))
    assert finding.where is not None
    assert finding.where.function == "making"
    assert judge(facts(ops=logged(moving, torch.ones(4)))) == ()


def test_a_log_that_was_cut_is_never_fine() -> None:
    with pytest.raises(MissingData, match="not complete"):
        judge(facts(ops=an_op_log(is_complete=False)))
