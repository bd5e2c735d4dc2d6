"""A run in higher precision: the same weights and inputs, and the user's model as it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.settings import Mode
from analyzer.core.trial import AccuracyReference
from collectors.effects import written
from collectors.reference import SHAKEN_RUNS, Results, first_results, reference_results, shaken_results, step_results
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from optimizers.accuracy import relative_error
from tests.workloads import Mlp, a_stepper, a_workload


def wide(work: Workload) -> tuple[AccuracyReference, Results]:
    kind, results = reference_results(work, State(work))
    assert results is not None
    return kind, results


def test_every_result_is_in_float64_and_near_the_narrow_one() -> None:
    model = Mlp().to(torch.bfloat16)
    work = a_workload(model, torch.randn(4, 8, dtype=torch.bfloat16))
    kind, ((path, output),) = wide(work)
    assert (kind, path, output.dtype) == (AccuracyReference.FLOAT64, "output", torch.float64)
    exact = copy.deepcopy(model).double()(work.args[0].double())
    torch.testing.assert_close(output, exact.detach(), rtol=1e-12, atol=0)
    torch.testing.assert_close(model(work.args[0]).double(), output, rtol=0.05, atol=0.02, check_dtype=False)


def test_the_users_model_its_gradients_and_the_default_dtype_are_left_alone() -> None:
    model = Mlp()
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    work = a_workload(model, mode=Mode.TRAINING, optimizer=sgd)
    before = copy.deepcopy(model.state_dict())
    _, results = wide(work)
    assert [(n, t.dtype) for n, t in model.state_dict().items()] == [(n, t.dtype) for n, t in before.items()]
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())
    assert torch.get_default_dtype() == torch.float32
    assert [path for path, _ in results] == ["output", "loss", *(f"grad:{n}" for n, _ in model.named_parameters())]


def make_bf16(x: torch.Tensor) -> torch.Tensor:
    return x.to(torch.bfloat16)


def half(x: torch.Tensor) -> torch.Tensor:
    return x.half()


def ones(x: torch.Tensor) -> torch.Tensor:
    return x * torch.full_like(x, 1 / 3, dtype=torch.float16)


def factory(x: torch.Tensor) -> torch.Tensor:
    return x * torch.full((1,), 1 / 3, dtype=torch.bfloat16)


def literal(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.tensor([[1.0] * 8] * 8, dtype=torch.float32)


def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(dtype=torch.float32)


@pytest.mark.parametrize("narrows", [make_bf16, half, ones, factory, literal, total])
def test_a_narrow_dtype_set_by_hand_is_widened_too(narrows: Any) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> Any:
            return narrows(self.linear(x))

    kind, ((_, output),) = wide(a_workload(Model()))
    assert kind is AccuracyReference.FLOAT64
    assert output.dtype == torch.float64


def test_a_value_rounded_by_hand_keeps_its_precision() -> None:
    work = a_workload(lambda x: x.to(torch.bfloat16).float() * 3, torch.full((2,), 1 / 3))
    _, ((_, output),) = wide(work)
    torch.testing.assert_close(output, torch.full((2,), 1 / 3).double() * 3, rtol=1e-7, atol=0)


def test_a_model_that_refuses_float64_is_run_in_float32() -> None:
    class Picky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.dtype == torch.float64:
                raise RuntimeError("no kernel for double")
            return self.linear(x)

    kind, ((_, output),) = wide(a_workload(Picky().to(torch.bfloat16), torch.randn(4, 8, dtype=torch.bfloat16)))
    assert (kind, output.dtype) == (AccuracyReference.FLOAT32, torch.float32)
    # A float32 model has nothing wider left.
    work = a_workload(Picky())
    assert reference_results(work, State(work)) == (AccuracyReference.EAGER, None)


def test_integers_and_nested_inputs_stay_what_they_are() -> None:
    embedding = nn.Embedding(10, 4)

    def model(batch: dict[str, Any], scale: float) -> Any:
        return embedding(batch["ids"]) * batch["pair"][0] * scale, batch["ids"] + 1

    batch = {"ids": torch.arange(3), "pair": (torch.ones(4), None)}
    work = a_workload(model, {"batch": batch, "scale": 2.0})
    _, results = wide(work)
    assert [(path, t.dtype) for path, t in results] == [
        ("output[0]", torch.float64),
        ("output[1]", torch.int64),
    ]
    assert batch["pair"][0].dtype == torch.float32


def test_the_state_a_step_changes_is_that_of_the_copy() -> None:
    model = nn.BatchNorm1d(8)
    work = a_workload(model, mode=Mode.TRAINING)
    wide(work)
    assert model.num_batches_tracked.item() == 0


def test_results_outlive_the_next_step() -> None:
    work = a_workload(mode=Mode.TRAINING)
    stepper = a_stepper(work)
    results = step_results(stepper)
    kept = [(path, tensor.clone()) for path, tensor in results]
    with torch.no_grad():
        work.args[0].add_(1)
    step_results(stepper)
    assert all(torch.equal(a, b) for (_, a), (_, b) in zip(results, kept, strict=True))
    assert not any(tensor.requires_grad for _, tensor in results)


def test_the_same_random_numbers_as_in_the_eager_run() -> None:
    work = a_workload(nn.Dropout(0.5), torch.ones(64), Mode.TRAINING)
    state = State(work)
    state.restore()
    eager = step_results(a_stepper(work))[0][1]
    _, results = reference_results(work, state)
    assert results is not None
    assert torch.equal(results[0][1] == 0, eager == 0)


def test_weights_rounded_otherwise_give_results_a_rounding_away_and_stay_the_users_own() -> None:
    model = Mlp()
    work = a_workload(model, mode=Mode.TRAINING)
    before = copy.deepcopy(model.state_dict())
    own = dict(step_results(a_stepper(work)))
    model.zero_grad()
    runs = [dict(results) for results in shaken_results(work, State(work))]
    assert len(runs) == SHAKEN_RUNS
    assert all(run.keys() == own.keys() for run in runs)
    assert all(torch.equal(t, before[n]) for n, t in model.state_dict().items())
    largest = max(float((run["output"] - own["output"]).abs().max()) for run in runs)
    assert 0 < largest < 1e-5
    assert not torch.equal(runs[0]["output"], runs[1]["output"])


def test_what_has_no_weights_or_cannot_be_copied_is_not_shaken() -> None:
    class NoCopy(Mlp):
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("not today")

    for model in (nn.ReLU(), NoCopy()):
        work = a_workload(model)
        assert list(shaken_results(work, State(work))) == []


def wide_error_of(model: nn.Module) -> float:
    """How far off eager is, at most, by the copy in higher precision."""
    work = a_workload(model, torch.randn(3, 4))
    state = State(work)
    stepper = Stepper(work, work.model, state)
    stepper.run()
    state.written = written(work, state)
    eager = first_results(stepper)
    kind, wide = reference_results(work, state)
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    return max(relative_error(own[1], true[1]) for own, true in zip(eager, wide, strict=True))


def test_buffers_of_one_storage_share_one_in_the_wider_copy_too() -> None:
    class Sharing(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("whole", torch.ones(4))
            self.register_buffer("end", self.whole[2:])
            self.register_buffer("same", self.whole)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.end.mul_(3)
            return x * self.whole + self.same

    assert wide_error_of(Sharing()) < 1e-6


def test_a_complex_buffer_keeps_its_imaginary_part_in_the_wider_copy() -> None:
    class Turning(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("turn", torch.polar(torch.ones(4), torch.arange(4.0)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.view_as_real(x * self.turn)

    assert wide_error_of(Turning()) < 1e-6
