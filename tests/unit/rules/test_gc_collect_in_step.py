"""gc_collect_in_step."""

from __future__ import annotations

import gc
from dataclasses import replace

import pytest
import torch
from torch import nn

from analyzer.core.ops import HostCall
from analyzer.rules.gc_collect_in_step import judge
from analyzer.rules.rule import MissingData
from tests.op_logs import an_op_log, logged
from tests.reports import MS, at
from tests.rule_facts import facts

CALL = HostCall("gc.collect", at("/home/ada/net.py:12"), 4, 3 * MS)


def test_collecting_in_the_step_is_found_at_its_line_with_what_it_takes() -> None:
    (finding,) = judge(facts(ops=an_op_log(host_calls=(CALL,))))
    assert (finding.where, finding.count, finding.ns_per_step) == (CALL.where, 4, 3 * MS)
    assert "runs 4 times a step" in finding.message


def test_it_costs_no_more_than_the_step_and_nothing_is_known_without_its_time() -> None:
    for taken_ns, cost_ns in ((25 * MS, 10 * MS), (None, None)):
        (finding,) = judge(facts(ops=an_op_log(host_calls=(replace(CALL, host_ns=taken_ns),))))
        assert finding.ns_per_step == cost_ns


def test_other_calls_and_none_are_silent() -> None:
    other = HostCall("torch.cuda.empty_cache", None, 1, MS)
    assert judge(facts(ops=an_op_log(host_calls=(other,)))) == judge(facts()) == ()


def test_without_a_log_it_cannot_tell() -> None:
    with pytest.raises(MissingData):
        judge(facts(ops=None))


class Collecting(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = x.sin()
            gc.collect()
        return x


def test_a_real_step_that_collects_is_found_with_its_line_and_its_time() -> None:
    before = gc.collect
    (finding,) = judge(facts(ops=logged(Collecting(), torch.ones(4))))
    assert finding.count == 2
    assert finding.where is not None
    assert finding.where.function == "forward"
    assert finding.ns_per_step is not None
    assert finding.ns_per_step > 0
    assert gc.collect is before
