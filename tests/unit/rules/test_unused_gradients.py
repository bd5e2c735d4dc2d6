"""unused_gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.finding import Finding
from analyzer.core.ops import OptimizerFacts
from analyzer.core.settings import Mode
from analyzer.rules.rule import MissingData
from analyzer.rules.unused_gradients import judge
from tests.op_logs import a_tensor, an_op, an_op_log, logged
from tests.rule_facts import a_workload, facts

STEPPED = OptimizerFacts("SGD", "foreach", tensors=2)
TRAINS = a_workload(mode="training")
WEIGHT, BIAS = a_tensor(8, 8, parameter="teacher.weight"), a_tensor(8, parameter="teacher.bias")
TEACHER = an_op("addmm", (BIAS, a_tensor(8, 8), WEIGHT), (a_tensor(8, 8),))


def found(*calls: Any, **changes: Any) -> tuple[Finding, ...]:
    log = {"optimizers": (STEPPED,), "untaken_gradients": ("teacher.weight", "teacher.bias"), **changes}
    return judge(facts(ops=an_op_log(*calls, **log), workload=TRAINS))


def test_the_line_that_takes_the_parameters_is_found_with_their_number() -> None:
    backward = an_op("mm", (WEIGHT,), (a_tensor(8, 8),), is_backward=True, place="/home/ada/net.py:99")
    (finding,) = found(TEACHER, backward)
    assert (finding.where, finding.count) == (TEACHER.where, 2)
    assert "teacher.weight, teacher.bias" in finding.message
    assert "no_grad" in finding.remedy


def test_parameters_that_no_operator_shows_have_no_line() -> None:
    (finding,) = found(an_op("relu", (a_tensor(8),), (a_tensor(8),)))
    assert finding.where is None
    assert finding.count == 2


def test_without_an_optimizer_or_in_inference_nothing_is_unused() -> None:
    assert found(TEACHER, optimizers=()) == ()
    log = an_op_log(TEACHER, optimizers=(STEPPED,), untaken_gradients=("teacher.weight",))
    assert judge(facts(ops=log, workload=a_workload())) == ()


def test_a_log_that_was_cut_is_never_fine() -> None:
    with pytest.raises(MissingData, match="not complete"):
        found(untaken_gradients=(), is_complete=False)


class Student(nn.Module):
    def __init__(self, *, is_guarded: bool) -> None:
        super().__init__()
        self.teacher, self.own = nn.Linear(4, 4), nn.Linear(4, 4)
        self.is_guarded = is_guarded

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.set_grad_enabled(not self.is_guarded):
            wanted = self.teacher(x)
        return (self.own(x) - wanted).square().mean()


def of_student(held: Any, *, is_guarded: bool = False) -> tuple[Finding, ...]:
    model = Student(is_guarded=is_guarded)
    log = logged(
        model,
        torch.randn(2, 4),
        mode=Mode.TRAINING,
        loss=lambda out: out,
        optimizer=lambda m: torch.optim.SGD(held(m), lr=0.1),
    )
    return judge(facts(ops=log, workload=a_workload(mode="training", device="cpu")))


def test_in_real_steps_a_teacher_without_no_grad_is_found_at_its_line() -> None:
    (finding,) = of_student(lambda m: m.own.parameters())
    assert finding.count == 2
    assert finding.where is not None
    lines = Path(__file__).read_text().splitlines()
    assert lines[finding.where.line - 1].strip() == "wanted = self.teacher(x)"


def test_in_real_steps_a_guarded_or_a_trained_teacher_is_none() -> None:
    assert of_student(lambda m: m.own.parameters(), is_guarded=True) == ()
    assert of_student(lambda m: m.parameters()) == ()
