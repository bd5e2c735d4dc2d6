"""A step is what the user runs: forward alone, or forward, loss, backward and the optimizer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import UserProgramError
from analyzer.core.settings import Mode
from collectors.step import Stepper
from tests.workloads import Mlp, a_stepper, a_workload


def test_inference_runs_without_gradients() -> None:
    work = a_workload()
    output, loss = a_stepper(work).run()
    assert not output.requires_grad
    assert loss is None
    assert a_stepper(work).gradients() == ()


def test_the_gradient_mode_outside_a_step_is_left_as_it_was() -> None:
    a_stepper(a_workload()).run()
    assert torch.is_grad_enabled()


def test_training_without_a_loss_takes_the_sum_of_the_float_outputs() -> None:
    model = Mlp()

    def with_a_number(x: torch.Tensor) -> dict[str, Any]:
        return {"y": model(x), "index": torch.arange(3), "fixed": torch.ones(2), "n": 3}

    output, loss = a_stepper(a_workload(with_a_number, torch.randn(4, 8), Mode.TRAINING)).run()
    assert loss is not None
    assert torch.equal(loss, output["y"].sum())


def test_gradients_are_those_of_the_users_loss() -> None:
    model = Mlp()
    work = a_workload(model, mode=Mode.TRAINING, loss=lambda y: (y**2).mean())
    stepper = a_stepper(work)
    stepper.run()
    stepper.run()  # not added up over steps
    found = dict(stepper.gradients())
    model.zero_grad(set_to_none=True)
    (model(*work.args) ** 2).mean().backward()
    assert found.keys() == {f"grad:{name}" for name, _ in model.named_parameters()}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        torch.testing.assert_close(found[f"grad:{name}"], parameter.grad, rtol=0, atol=0)


def test_the_optimizer_steps_where_there_is_one_and_nothing_else_does() -> None:
    for optimizer in (True, False):
        model = Mlp()
        sgd = torch.optim.SGD(model.parameters(), lr=0.1) if optimizer else None
        before = model.first.weight.detach().clone()
        a_stepper(a_workload(model, mode=Mode.TRAINING, optimizer=sgd)).run()
        assert torch.equal(before, model.first.weight) is not optimizer


@pytest.mark.parametrize("output", [None, torch.ones(2), (torch.arange(3),)])
def test_a_training_step_whose_output_has_no_gradient_is_still_a_step(output: object) -> None:
    class Fixed(nn.Module):
        def forward(self, x: torch.Tensor) -> object:
            return output

    got, loss = a_stepper(a_workload(Fixed(), torch.ones(1), Mode.TRAINING)).run()
    assert got is output
    assert loss is None


def test_a_loss_that_is_no_tensor_is_not_differentiated() -> None:
    _, loss = a_stepper(a_workload(mode=Mode.TRAINING, loss=lambda y: 0.5)).run()
    assert loss == 0.5


def test_the_users_own_step_gets_the_model_that_stands_in() -> None:
    seen: list[object] = []

    def step(model: Any, x: torch.Tensor, *, scale: float) -> torch.Tensor:
        seen.append(model)
        return model(x) * scale

    work = a_workload(Mlp(), {"x": torch.ones(2, 8), "scale": 3.0}, step=step)
    stand_in = torch.sin
    output, _ = a_stepper(work, stand_in).run()
    assert seen == [stand_in]
    torch.testing.assert_close(output, torch.sin(torch.ones(2, 8)) * 3)


def test_inputs_that_the_step_writes_into_are_put_back_before_the_clock() -> None:
    x = torch.zeros(2)
    work = a_workload(lambda x: x.add_(1), x)
    stepper = a_stepper(work)
    stepper.state.mutates_inputs = True
    times = [stepper.timed() for _ in range(3)]
    assert x.tolist() == [1.0, 1.0]
    assert all(ns > 0 for ns in times)


def test_a_step_that_raises_leaves_the_gradient_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(x: torch.Tensor) -> torch.Tensor:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        a_stepper(a_workload(failing, torch.ones(1))).run()
    assert torch.is_grad_enabled()


def test_a_step_is_counted_from_its_call_to_an_idle_device(monkeypatch: pytest.MonkeyPatch) -> None:
    doing: list[str] = []
    stepper = a_stepper(a_workload(lambda x: doing.append("run"), torch.ones(1)))
    clock = iter(range(0, 100, 7))

    def read() -> int:
        doing.append("clock")
        return next(clock)

    monkeypatch.setattr("collectors.step.time.perf_counter_ns", read)
    monkeypatch.setattr(Stepper, "wait", lambda self: doing.append("wait"))
    assert stepper.timed() == 7
    assert doing == ["wait", "clock", "run", "wait", "clock"]


def test_a_step_that_goes_back_by_itself_and_returns_its_loss_is_told_what_to_do() -> None:
    def own(model: Any, x: torch.Tensor) -> torch.Tensor:
        loss: torch.Tensor = model(x).square().mean()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    stepper = a_stepper(a_workload(mode=Mode.TRAINING, step=own))
    with pytest.raises(UserProgramError, match=r"^own at .*test_step\.py:\d+ returned") as caught:
        stepper.run()
    assert "return loss.detach()" in str(caught.value.hint)
    detached = a_workload(mode=Mode.TRAINING, step=lambda model, x: own(model, x).detach())
    output, loss = a_stepper(detached).run()
    assert not output.requires_grad
    assert loss is None or not loss.requires_grad


def test_another_error_of_the_backward_is_the_models_own() -> None:
    class Failing(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
            raise RuntimeError("no way back")

    work = a_workload(mode=Mode.TRAINING, step=lambda model, x: Failing.apply(model(x)))  # type: ignore[no-untyped-call]
    with pytest.raises(RuntimeError, match="no way back"):
        a_stepper(work).run()
