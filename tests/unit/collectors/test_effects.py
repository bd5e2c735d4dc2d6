"""What a step writes beside what it returns is named, and read of any copy of the workload."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.settings import Mode
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.session_judge import StepJudge
from collectors.effects import effects, without_models_own, written
from collectors.reference import reference_results, step_results
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from tests.workloads import a_workload


@dataclass
class Cache:
    rows: list[torch.Tensor] = field(default_factory=list)


class Writing(nn.Module):
    """Writes to a buffer, to what it keeps, and to its input; returns what depends on none of it."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.kept = Cache()
        self.last: torch.Tensor | None = None
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x * 1)
        self.norm(y)
        self.kept.rows.append(y.detach())
        self.last = y.detach() * 2
        self.calls += 1
        x.zero_()
        return y


def stepped(work: Workload) -> tuple[State, Stepper]:
    state = State(work)
    stepper = Stepper(work, work.model, state)
    stepper.run()
    state.written = written(work, state)
    return state, stepper


def test_buffers_what_a_module_keeps_and_inputs_are_named() -> None:
    state, _ = stepped(a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING))
    norm = [f"buffer norm.{name}" for name in ("running_mean", "running_var", "num_batches_tracked")]
    assert state.written == (*norm, "attribute kept.rows[0]", "attribute last", "input 0")


def test_a_step_that_writes_nothing_has_nothing_to_compare() -> None:
    work = a_workload()
    state, stepper = stepped(work)
    assert state.written == ()
    assert [path for path, _ in step_results(stepper)] == ["output"]


def test_the_weights_that_a_step_of_the_users_own_updates_are_compared() -> None:
    model = nn.Linear(4, 4)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(run: Any, x: torch.Tensor) -> None:
        run(x).square().sum().backward()
        sgd.step()
        sgd.zero_grad(set_to_none=False)

    work = a_workload(model, torch.randn(3, 4), mode=Mode.TRAINING, step=step)
    state, _ = stepped(work)
    assert state.written == ("parameter weight", "parameter bias")
    state.restore()
    _, wide = reference_results(work, state)
    assert wide is not None
    # The copy in higher precision has weights that this optimizer does not know: it says nothing of them.
    assert [tensor.is_meta for path, tensor in wide if path in state.written] == [True, True]


def test_an_optimizer_of_ours_is_judged_by_its_gradients_alone() -> None:
    model = nn.LSTM(4, 4)
    sgd = torch.optim.SGD(model.parameters())
    work = a_workload(model, torch.randn(3, 4), mode=Mode.TRAINING, optimizer=sgd)
    assert stepped(work)[0].written == ()


def test_what_was_written_is_read_of_a_copy_and_what_is_not_there_is_left_out() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, _ = stepped(work)
    other = replace(work, model=copy.deepcopy(work.model))
    assert isinstance(other.model, Writing)
    other.model.last = None
    other.model.norm.running_mean.fill_(7.0)
    found = dict(effects(other, state.written))
    assert "attribute last" not in found
    assert found["buffer norm.running_mean"].eq(7.0).all()


def test_a_candidate_that_forgets_what_the_model_writes_is_wrong() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    same = judge.accuracy(eager)
    assert same is not None
    assert (same.is_right, same.reference) == (True, AccuracyReference.FLOAT64)

    def forgetful(x: torch.Tensor) -> Any:
        assert isinstance(work.model, Writing)
        kept = work.model.norm.running_mean.clone()
        y = work.model(x)
        work.model.norm.running_mean.copy_(kept)
        return y

    found = judge.accuracy(Stepper(work, forgetful, state))
    assert found is not None
    assert (found.is_right, found.worst) == (False, "buffer norm.running_mean")


def judged(work: Workload, run: Any) -> Accuracy:
    """What is said of a step with `run` in place of the model."""
    state, eager = stepped(work)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    accuracy = judge.accuracy(Stepper(work, run, state))
    assert accuracy is not None
    return accuracy


@pytest.mark.parametrize("path", ["buffer kept", "input 0", "attribute last"])
def test_a_candidate_that_writes_where_the_model_writes_nothing_is_wrong(path: str) -> None:
    model = nn.Linear(4, 4)
    model.register_buffer("kept", torch.zeros(3))

    def writing(x: torch.Tensor) -> Any:
        y = model(x)
        match path:
            case "buffer kept":
                model.get_buffer("kept").add_(1)
            case "input 0":
                x.zero_()
            case _:
                vars(model)["last"] = y * 2
        return y

    found = judged(a_workload(model, torch.randn(3, 4)), writing)
    assert not found.is_right
    assert path in (found.worst or found.detail or "")


def test_a_candidate_that_keeps_another_tensor_of_the_same_values_is_right() -> None:
    class Keeping(nn.Module):
        last: torch.Tensor | None = None

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = x.contiguous()
            return x * 2

    work = a_workload(Keeping(), torch.randn(3, 4))

    def copying(x: torch.Tensor) -> Any:
        y = work.model(x)
        vars(work.model)["last"] = x.clone()
        return y

    assert judged(work, copying).is_right


def test_what_differs_between_two_equal_runs_is_not_asked_of_a_candidate() -> None:
    class Ticking(nn.Module):
        ticks = 0

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("tick", torch.zeros(()))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            type(self).ticks += 1
            self.tick.fill_(float(type(self).ticks))
            return x * 2

    work = a_workload(Ticking(), torch.randn(3, 4))
    state, eager = stepped(work)
    assert state.written == ("buffer tick",)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    assert state.written == ()
    accuracy = judge.accuracy(eager)
    assert accuracy is not None
    assert accuracy.is_right


def test_of_a_package_only_what_it_returns_and_its_inputs_are_compared() -> None:
    work = a_workload(Writing(), torch.randn(3, 4), mode=Mode.TRAINING)
    state, stepper = stepped(work)
    state.restore()
    found = dict(without_models_own(step_results(stepper), state.written))
    assert {path for path, tensor in found.items() if tensor.is_meta} == {*state.written} - {"input 0"}
    assert found["attribute last"].shape == (3, 4)
