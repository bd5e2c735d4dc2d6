"""The gradient mode of a user's own inference step, which is measured under no_grad."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.environment import Environment
from analyzer.core.settings import Mode
from collectors.environment import read_environment
from collectors.left_gradients import with_gradient_mode
from collectors.state import State
from collectors.step import Stepper
from tests.workloads import Mlp, a_workload

X = torch.ones(2, 8)


def seen(step: Callable[..., Any] | None, model: nn.Module | None = None, mode: Mode = Mode.INFERENCE) -> Environment:
    work = a_workload(model or Mlp(), X, mode=mode, step=step)
    return with_gradient_mode(read_environment(), Stepper(work, work.model, State(work)))


def plain(model: Any, x: torch.Tensor) -> Any:
    x = x * 2
    return model(x)


def test_a_step_that_leaves_gradients_on_is_seen_at_the_line_that_calls_the_model() -> None:
    found = seen(plain)
    assert found.is_grad_enabled is True
    assert found.grad_line is not None
    assert Path(found.grad_line.file).name == Path(__file__).name
    assert (found.grad_line.line, found.grad_line.function) == (plain.__code__.co_firstlineno + 2, "plain")


@torch.no_grad()
def decorated(model: Any, x: torch.Tensor) -> Any:
    return model(x)


def within(model: Any, x: torch.Tensor) -> Any:
    with torch.inference_mode():
        return model(x)


@pytest.mark.parametrize("step", [decorated, within])
def test_a_step_that_turns_them_off_is_seen_too(step: Callable[..., Any]) -> None:
    found = seen(step)
    assert (found.is_grad_enabled, found.grad_line) == (False, None)


def test_a_model_without_anything_to_train_records_nothing() -> None:
    assert seen(plain, Mlp().requires_grad_(False)).is_grad_enabled is False


def test_of_a_step_of_ours_and_of_training_nothing_is_known() -> None:
    assert seen(None).is_grad_enabled is None
    assert seen(lambda model, x: model(x).sum(), mode=Mode.TRAINING).is_grad_enabled is None


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Mlp()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return self.inner(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("step", [plain, decorated])
def test_the_models_state_is_put_back(step: Callable[..., Any]) -> None:
    model = Counting()
    seen(step, model)
    assert model.calls.item() == 0
    assert torch.is_grad_enabled()


def test_a_step_that_fails_under_a_watch_is_not_known() -> None:
    def refuses(model: Any, x: torch.Tensor) -> Any:
        raise RuntimeError("no modes here")

    assert seen(refuses).is_grad_enabled is None
