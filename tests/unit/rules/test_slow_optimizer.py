"""slow_optimizer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.finding import Finding
from analyzer.core.ops import OptimizerFacts
from analyzer.core.settings import Mode
from analyzer.rules.slow_optimizer import judge
from tests.op_logs import an_op_log, logged
from tests.reports import MS
from tests.rule_facts import a_device, a_workload, facts

LOOP = OptimizerFacts("Adam", "for-loop", tensors=64, operators=768, can_fuse=True)


def found(optimizer: OptimizerFacts, device: str = "cuda", **changes: Any) -> tuple[Finding, ...]:
    return judge(facts(ops=an_op_log(optimizers=(optimizer,)), workload=a_workload(device=device), **changes))


def test_a_loop_over_many_tensors_is_found() -> None:
    (finding,) = found(LOOP)
    assert finding.remedy == "torch.optim.Adam(..., fused=True)"
    (unfusable,) = found(replace(LOOP, name="RMSprop", can_fuse=False))
    assert unfusable.remedy == "torch.optim.RMSprop(..., foreach=True)"


@pytest.mark.parametrize("implementation", ["foreach", "fused", None])
def test_another_form_is_none(implementation: str | None) -> None:
    assert found(replace(LOOP, implementation=implementation)) == ()


def test_few_tensors_are_none_and_so_is_a_cpu_without_a_fused_form() -> None:
    assert found(replace(LOOP, tensors=7)) == ()
    assert found(replace(LOOP, can_fuse=False), device="cpu") == ()
    assert len(found(LOOP, device="cpu")) == 1


def test_its_cost_is_its_operators_at_the_price_of_an_empty_one_and_never_above_the_step() -> None:
    (unknown,) = found(LOOP)
    assert unknown.ns_per_step is None
    log = an_op_log(optimizers=(LOOP,))
    (known,) = judge(facts(ops=log, device=a_device(empty_op_ns=2000.0)))
    assert known.ns_per_step == 768 * 2000
    (capped,) = judge(facts(ops=log, device=a_device(empty_op_ns=2e6)))
    assert capped.ns_per_step == 10 * MS


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.mark.parametrize(("options", "number"), [({}, 1), ({"fused": True}, 0), ({"foreach": True}, 0)])
def test_in_real_logs_the_form_that_ran_counts(options: dict[str, Any], number: int) -> None:
    make = lambda model: torch.optim.AdamW(model.parameters(), **options)  # noqa: E731
    log = logged(Deep(), torch.randn(2, 4), mode=Mode.TRAINING, optimizer=make)
    assert len(judge(facts(ops=log, workload=a_workload(device="cpu", mode="training")))) == number


def test_code_that_updates_parameters_one_by_one_is_found_and_a_foreach_is_not() -> None:
    class Average(nn.Module):
        def __init__(self, together: bool) -> None:
            super().__init__()
            self.net, self.together = Deep(), together

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                if self.together:
                    torch._foreach_mul_(list(self.net.parameters()), 0.99)
                else:
                    for parameter in self.net.parameters():
                        parameter.mul_(0.99)
            return self.net(x)

    (finding,) = judge(facts(ops=logged(Average(False), torch.randn(2, 4))))
    assert finding.count == 12
    assert judge(facts(ops=logged(Average(True), torch.randn(2, 4)))) == ()
