"""torch.compile's own result is judged like any candidate's."""

from __future__ import annotations

import time

import pytest
import torch

from analyzer.core.settings import Mode
from analyzer.core.trial import AccuracyReference
from analyzer.session import Session
from analyzer.session_judge import StepJudge
from collectors.state import State
from collectors.step import Stepper
from tests.workloads import a_workload


class Liar(torch.nn.Module):
    def __init__(self, lie: float) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.lie = lie

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.layer(x)
        return y + self.lie if torch.compiler.is_compiling() else y


@pytest.mark.slow
@pytest.mark.parametrize(("lie", "is_right"), [(1.0, False), (0.0, True)])
def test_a_model_that_computes_something_else_when_compiled_is_told(lie: float, is_right: bool) -> None:
    session = Session(a_workload(Liar(lie)), lambda event: None)
    try:
        session.start()
        session.capture()
        accuracy = session.judge_default()
    finally:
        session.close()
    assert accuracy is not None
    assert accuracy.is_right is is_right
    assert accuracy.reference is AccuracyReference.FLOAT64


class Brink(torch.nn.Module):
    """One of its ReLUs stands at its corner: compiled, its input is rounded to the other side of it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.weight * x - 1
        return torch.relu(h + 1e-7 if torch.compiler.is_compiling() else h)


@pytest.mark.slow
def test_a_gradient_that_rounding_alone_decides_is_no_accusation() -> None:
    """MobileNetV2 on 4 images of 64 pixels: a bias's gradient was off by 0.012, eager's own by 2e-05, and 0.05 with
    weights one unit of rounding off.
    """
    x = torch.full((64,), 2.0).index_fill(0, torch.tensor([0, 9, 33]), 1.0)
    session = Session(a_workload(Brink(), x, mode=Mode.TRAINING), lambda event: None)
    try:
        session.start()
        session.capture()
        accuracy = session.judge_default()
    finally:
        session.close()
    assert accuracy is not None
    assert accuracy.is_right
    assert accuracy.error > 0.05
    assert accuracy.eager_error > 0.05


class Forgetful(torch.nn.Module):
    """Keeps count of its calls and of the time, and when compiled does not count."""

    def __init__(self, forgets: bool) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
        self.forgets, self.calls, self.last = forgets, 0, 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count(self.forgets and torch.compiler.is_compiling())
        y: torch.Tensor = self.layer(x)
        return y

    def count(self, is_over: bool) -> None:
        self.calls = 1 if not is_over else 0
        self.note()

    @torch.compiler.disable
    def note(self) -> None:
        self.last = time.perf_counter_ns()


@pytest.mark.slow
@pytest.mark.parametrize("forgets", [True, False])
def test_a_number_that_the_compiled_model_does_not_keep_is_told_and_what_ever_changes_is_noted(forgets: bool) -> None:
    session = Session(a_workload(Forgetful(forgets)), lambda event: None)
    try:
        session.start()
        session.capture()
        accuracy = session.judge_default()
        notes = session.facts().notes
    finally:
        session.close()
    assert accuracy is not None
    assert accuracy.is_right is not forgets
    assert (accuracy.detail == "0 where the model itself leaves 1") is forgets
    assert [note for note in notes if note.startswith("number last differs from run to run")]


class Whirl(torch.nn.Module):
    """The gradient of `fine` is the cosine of numbers of which one unit of rounding is twenty full turns."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(256))
        self.fine = torch.nn.Parameter(torch.linspace(1.0, 2.0, 256))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.weight * x) + torch.sin(self.fine * 2.21e9) * 1e-10


def multiplied_otherwise(model: Whirl, x: torch.Tensor, share: float) -> torch.Tensor:
    """The same model with its product in two, and this share of the gradient."""
    return torch.tanh(model.weight * x) + torch.sin(model.fine * 1.3e4 * 1.7e5) * 1e-10 * share


@pytest.mark.parametrize(("share", "is_right"), [(1.0, True), (-1.0, True), (0.0, False)])
def test_a_gradient_that_eager_itself_does_not_pin_down_is_judged_by_its_size(share: float, is_right: bool) -> None:
    work = a_workload(Whirl(), torch.ones(256), mode=Mode.TRAINING)
    assert isinstance(work.model, Whirl)
    model, state = work.model, State(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(Stepper(work, model, state))
    found = judge.accuracy(Stepper(work, lambda x: multiplied_otherwise(model, x, share), state))
    assert found is not None
    assert found.worst == "grad:fine"
    assert found.is_right is is_right
    assert found.error > 0.9
    assert [note for note in judge.notes if note.startswith("grad:fine: rounding the model's weights otherwise")]


class LeavesLayersOut(torch.nn.Module):
    """Each of its layers in half of its steps: of a layer's gradient a draw has all or nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(12))

    def forward(self, x: torch.Tensor, sign: float = 1.0) -> torch.Tensor:
        for layer in self.layers:
            if torch.rand(()) < 0.5:
                x = x + torch.tanh(sign * layer(x))
        return x


@pytest.mark.parametrize("seed", range(2))
def test_a_step_that_leaves_other_layers_out_is_right(seed: int) -> None:
    work = a_workload(LeavesLayersOut(), torch.randn(32, 16), mode=Mode.TRAINING)
    model, state = work.model, State(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(Stepper(work, model, state))

    def drawing_otherwise(x: torch.Tensor) -> torch.Tensor:
        torch.rand(seed + 1)
        result: torch.Tensor = model(x)
        return result

    found = judge.accuracy(Stepper(work, drawing_otherwise, state))
    assert found is not None
    assert found.is_right
    assert found.is_random
    half = judge.accuracy(Stepper(work, lambda x: drawing_otherwise(x) * 0, state))
    assert half is not None
    assert not half.is_right
