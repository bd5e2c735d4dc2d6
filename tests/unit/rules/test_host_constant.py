"""host_constant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from analyzer.core.activity import CopyDirection, CopyGroup
from analyzer.core.finding import Finding
from analyzer.rules.host_constant import judge
from analyzer.rules.rule import MissingData
from collectors.host_made import moved_lines
from tests.op_logs import a_tensor, an_op, an_op_log, logged
from tests.reports import MS, a_budget, a_key, at
from tests.rule_facts import a_captured_graph, a_region, a_workload, an_activity, captured, facts
from tests.workloads import captured as captured_graphs

HERE = Path(__file__).resolve()

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


def test_a_constant_that_compiled_code_has_in_its_kernels_costs_nothing_there() -> None:
    (finding,) = judge(facts(ops=an_op_log(COPY)))
    assert finding.ns_per_step == 0
    assert finding.message.endswith(
        "as it is written; compiled, it copies nothing: torch.compile has their values in its code"
    )
    to_device = CopyGroup(CopyDirection.TO_DEVICE, None, (), a_key(1), 1.0, 8, 900, 900, holds_host=True)
    for activity in (None, an_activity(copies=(to_device,)), an_activity(is_linked=False)):
        (unknown,) = judge(facts(ops=an_op_log(COPY), activity=activity))
        assert unknown.ns_per_step is None
        assert unknown.message.endswith("in every step")


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


def test_of_an_array_of_numpy_it_is_not_known_what_it_was_computed_from() -> None:
    def sorts(x: torch.Tensor) -> torch.Tensor:
        return x * torch.from_numpy(np.sort(x.numpy(), axis=-1))

    log = logged(sorts, torch.ones(2, 4))
    assert log.named("aten::lift_fresh")
    assert judge(facts(ops=log, workload=ON_CPU, capture=None)) == ()


def test_a_log_that_was_cut_is_never_fine() -> None:
    with pytest.raises(MissingData, match="not complete"):
        judge(facts(ops=an_op_log(is_complete=False)))


ON_CPU = a_workload(device="cpu")


def on_cpu(model: Callable[..., Any], *inputs: Any) -> tuple[Finding, ...]:
    """What is found of a real step on a CPU, with the graphs as Dynamo wrote them down."""
    lines = [line for gm, _ in captured_graphs(model, *inputs) for line in moved_lines(gm, HERE.parent)]
    graph = a_captured_graph(host_made=tuple(lines))
    return judge(facts(ops=logged(model, *inputs), capture=captured(graph), workload=ON_CPU))


def lists(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor([0.5, 0.25], device=x.device)


def moves(x: torch.Tensor) -> torch.Tensor:
    return x + (torch.arange(2) * 2).to(x.device)


def follows(x: torch.Tensor) -> torch.Tensor:
    return x + torch.ones(2).type_as(x)


@pytest.mark.parametrize("model", [lists, moves, follows])
def test_on_a_cpu_what_a_gpu_would_copy_is_found_at_its_line(model: Callable[..., Any]) -> None:
    (finding,) = on_cpu(model, torch.ones(2))
    assert finding.where is not None
    assert finding.where.file == str(HERE)
    assert finding.where.line == model.__code__.co_firstlineno + 1
    assert finding.count == 1
    assert finding.ns_per_step is None
    assert "on a GPU" in finding.message


def in_place(x: torch.Tensor) -> torch.Tensor:
    return x + torch.arange(2, device=x.device) + x.new_full((2,), 3.0)


def casts(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.float64) + torch.zeros(2).to(torch.float64)


def scalar(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor(0.5)


def given(x: torch.Tensor) -> torch.Tensor:
    return x.to(x.device) + (x + torch.ones(2)).to(x.device)


@pytest.mark.parametrize("model", [in_place, casts, scalar, given])
def test_on_a_cpu_what_a_gpu_would_not_copy_is_none(model: Callable[..., Any]) -> None:
    assert on_cpu(model, torch.ones(2)) == ()


def test_two_graphs_of_one_line_are_one_move_and_the_log_counts_better() -> None:
    where = at("/home/ada/net.py:12")
    graphs = [a_captured_graph(number, host_made=(where,)) for number in (1, 2)]
    (finding,) = judge(facts(ops=an_op_log(), capture=captured(*graphs), workload=ON_CPU))
    assert (finding.where, finding.count) == (where, 1)
    made = a_tensor(2, device="cpu", is_host_made=True)
    log = an_op_log(an_op("lift_fresh", (made,), (made,), count=3))
    (finding,) = judge(facts(ops=log, capture=captured(*graphs), workload=ON_CPU))
    assert finding.count == 3


def test_without_graphs_the_log_alone_tells() -> None:
    made = a_tensor(2, device="cpu", is_host_made=True)
    log = an_op_log(an_op("lift_fresh", (made,), (made,)))
    assert len(judge(facts(ops=log, capture=None, workload=ON_CPU))) == 1
