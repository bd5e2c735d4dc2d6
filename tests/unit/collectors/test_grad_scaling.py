"""A step of the user's own under a GradScaler runs on copies of the model, and leaves scaler and optimizer alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn
from torch.amp import GradScaler

from analyzer.core.settings import Mode
from analyzer.core.trial import AccuracyReference
from collectors.grad_scaling import unscaling_copies
from collectors.reference import first_results, reference_results, shaken_results
from collectors.state import State
from collectors.step import Stepper
from optimizers.likeness import relative_error
from tests.workloads import a_workload

X = torch.randn(4, 8)
SCALE = 1024.0


@dataclass
class Trained:
    model: nn.Module
    optimizer: torch.optim.Optimizer
    scaler: GradScaler
    step: Callable[..., Any]


def trained(*, unscales: bool = False, enabled: bool = True) -> Trained:
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=SCALE, enabled=enabled)

    def step(net: Any, x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = net(x).square().mean()
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if unscales:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()  # type: ignore[no-any-return]

    return Trained(model, optimizer, scaler, step)


@pytest.mark.parametrize("unscales", [False, True])
@pytest.mark.parametrize("enabled", [False, True])
def test_the_copys_gradients_are_those_of_the_model(unscales: bool, enabled: bool) -> None:
    one = trained(unscales=unscales, enabled=enabled)
    copied = copy.deepcopy(one.model)
    one.step(one.model, X)
    expected = [p.grad.clone() for p in one.model.parameters() if p.grad is not None]
    weights = copy.deepcopy(one.model.state_dict())
    momentum = copy.deepcopy(one.optimizer.state_dict())
    for _ in range(2):
        copied.zero_grad()
        with unscaling_copies(one.model, copied):
            one.step(copied, X)
    for parameter, grad in zip(copied.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad, grad)
    assert all(torch.equal(value, weights[name]) for name, value in one.model.state_dict().items())
    assert str(one.optimizer.state_dict()) == str(momentum)


def test_the_scaler_goes_on_as_if_no_copy_had_been_run() -> None:
    one = trained()
    own = (GradScaler.unscale_, GradScaler.step, GradScaler.update)
    with pytest.raises(AssertionError, match="No inf checks"):
        one.step(copy.deepcopy(one.model), X)  # as torch has it
    one = trained()
    with unscaling_copies(one.model, copied := copy.deepcopy(one.model)):
        one.step(copied, X)
    assert (GradScaler.unscale_, GradScaler.step, GradScaler.update) == own
    before = one.model[0].weight.detach().clone()  # type: ignore[index]
    one.step(one.model, X)
    assert not torch.equal(before, one.model[0].weight)  # type: ignore[index]
    assert one.scaler.get_scale() == SCALE


def test_such_a_step_has_a_float64_reference_and_runs_on_afterwards() -> None:
    one = trained()
    work = a_workload(one.model, X, mode=Mode.TRAINING, step=one.step)
    state = State(work)
    stepper = Stepper(work, one.model, state)
    eager = first_results(stepper)
    state.restore()
    kind, wide = reference_results(work, state)
    assert kind is AccuracyReference.FLOAT64
    assert wide is not None
    compared = [(path, a, b) for (path, a), (_, b) in zip(eager, wide, strict=True) if not b.is_meta]
    assert {path for path, _, _ in compared} >= {"output", *(f"grad:{n}" for n, _ in one.model.named_parameters())}
    assert all(relative_error(a, b) < 1e-5 for _, a, b in compared)
    assert next(shaken_results(work, state), None) is not None
    assert [path for path, _ in first_results(stepper)] == [path for path, _ in eager]
