"""empty_cache_in_loop."""

from __future__ import annotations

import torch

from analyzer.core.ops import HostCall
from analyzer.rules.empty_cache_in_loop import judge
from tests.op_logs import an_op_log, logged
from tests.reports import at
from tests.rule_facts import a_workload, facts

CALL = HostCall("torch.cuda.empty_cache", at("/home/ada/net.py:12"), 4)


def test_a_cache_emptied_in_the_step_is_found() -> None:
    (finding,) = judge(facts(ops=an_op_log(host_calls=(CALL,))))
    assert (finding.where, finding.count) == (CALL.where, 4)


def test_on_a_cpu_it_does_nothing_and_another_call_is_none() -> None:
    assert judge(facts(ops=an_op_log(host_calls=(CALL,)), workload=a_workload(device="cpu"))) == ()
    assert judge(facts(ops=an_op_log(host_calls=(HostCall("gc.collect", None, 1),)))) == ()


def test_in_a_real_step_it_is_heard_and_silence_is_none() -> None:
    def emptying(x: torch.Tensor) -> torch.Tensor:
        torch.cuda.empty_cache()
        return x + 1

    (finding,) = judge(facts(ops=logged(emptying, torch.ones(2))))
    assert finding.where is not None
    assert finding.where.function == "emptying"
    assert judge(facts(ops=logged(lambda x: x + 1, torch.ones(2)))) == ()
