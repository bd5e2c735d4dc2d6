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
from optimizers.likeness import relative_error
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
    work, why = a_workload(Picky()), list[str]()
    assert reference_results(work, State(work), why.append) == (AccuracyReference.EAGER, None)
    assert why == ["RuntimeError: no kernel for double"]


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


def wider_run(
    model: Any, x: torch.Tensor, mode: Mode = Mode.INFERENCE
) -> tuple[Results, AccuracyReference, Results | None]:
    """What eager gives and writes, and what the run in higher precision says."""
    work = a_workload(model, x, mode)
    state = State(work)
    stepper = Stepper(work, work.model, state)
    stepper.run()
    state.note_draws()
    state.written = written(work, state)
    return first_results(stepper), *reference_results(work, state)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_generator_of_the_models_own_draws_in_the_wider_run_what_it_drew(dtype: torch.dtype) -> None:
    class Noisy(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4, dtype=dtype)
            self.generator = torch.Generator().manual_seed(3)

        def forward(self, x: torch.Tensor) -> Any:
            noise = torch.randn(x.shape, generator=self.generator, dtype=dtype)
            mask = torch.empty_like(x).bernoulli_(0.5, generator=self.generator)
            return self.linear(x) + noise, mask, torch.rand(64, generator=self.generator)

    model = Noisy()
    before = model.generator.get_state()
    eager, kind, wide = wider_run(model, torch.randn(16, 4, dtype=dtype))
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    off = [relative_error(own[1], true[1]) for own, true in zip(eager, wide, strict=True)]
    assert 0 < off[0] < 4 * torch.finfo(dtype).eps
    assert off[1:] == [0.0, 0.0]
    assert all(true.dtype == torch.float64 for _, true in wide)
    assert torch.equal(model.generator.get_state(), before)


def test_a_wider_run_that_draws_otherwise_than_the_model_does_not_speak() -> None:
    class Fickle(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.generator = torch.Generator().manual_seed(3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            size = 3 if x.dtype == torch.float64 else 4
            noise = torch.rand(size, generator=self.generator).sum()
            y: torch.Tensor = self.linear(x)
            return y + noise

    _, kind, wide = wider_run(Fickle(), torch.randn(3, 4))
    assert (kind, wide) == (AccuracyReference.EAGER, None)


def test_a_model_that_draws_nothing_is_run_once_and_no_more() -> None:
    calls = []

    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> Any:
            calls.append(x.dtype)
            return self.linear(x)

    wider_run(Counted(), torch.randn(3, 4))
    assert calls == [torch.float32, torch.float32, torch.float64]


class Sliced(nn.Module):
    """Writes into its buffer through attributes that are parts of it, wherever they are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(4, 4))
        cache = self.get_buffer("cache")
        self.row, self.kept = cache[0], {"rows": [cache[1], (cache[2],)]}
        self.often = cache[3].expand(3, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        rows: Any = self.kept["rows"]
        with torch.no_grad():
            self.row.add_(y[0] / 3)
            rows[0].add_(y[1] / 3)
            rows[1][0].copy_(y[2] / 3)
            self.get_buffer("cache")[3] += 1 / 3
        return y + self.get_buffer("cache").sum() + self.often


def test_an_attribute_that_is_a_part_of_a_buffer_is_one_in_the_wider_copy_too() -> None:
    model = Sliced()
    eager, kind, wide = wider_run(model, torch.randn(3, 4))
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    assert [path for path, _ in wide] == [path for path, _ in eager]
    assert {"buffer cache", "attribute row", "attribute kept['rows'][1][0]"} <= {path for path, _ in wide}
    assert all(true.dtype == torch.float64 for _, true in wide)
    assert all(0 < relative_error(own[1], true[1]) < 1e-6 for own, true in zip(eager, wide, strict=True))
    assert model.row.data_ptr() == model.get_buffer("cache").data_ptr()
    assert model.row.dtype == torch.float32


def test_a_matrix_kept_as_a_plain_attribute_is_widened() -> None:
    """As it was, its product with a wider input was refused, and nothing in higher precision ran at all."""

    class Plain(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.randn(4, 4)
            self.made = nn.Linear(4, 4).weight * 2  # no leaf: it cannot be copied deeply as it is

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x @ self.table @ self.made

    eager, kind, wide = wider_run(Plain(), torch.randn(3, 4))
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    assert 0 < relative_error(eager[0][1], wide[0][1]) < 1e-6


def test_inputs_that_share_memory_share_it_in_the_wider_copy_too() -> None:
    def shift(whole: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        part.add_(1)
        return whole / 3

    x = torch.arange(4.0)
    eager, kind, wide = wider_run(shift, (x, x[1:3]))  # type: ignore[arg-type]
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    assert relative_error(eager[0][1], wide[0][1]) < 1e-7
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_a_parameter_of_a_type_of_its_own_and_one_used_twice_stay_so() -> None:
    class Own(nn.Parameter):
        pass

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4, bias=False)
            self.second = nn.Linear(4, 4, bias=False)
            self.second.weight = self.first.weight
            self.scale = Own(torch.full((4,), 1 / 3))
            self.first.weight.named = "both"  # type: ignore[attr-defined]

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            assert self.first.weight is self.second.weight
            assert self.first.weight.named == "both"  # type: ignore[attr-defined]
            y: torch.Tensor = self.second(self.first(x)) * self.scale
            return y

    eager, kind, wide = wider_run(Tied(), torch.randn(3, 4), Mode.TRAINING)
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
    assert [path for path, _ in wide] == ["output", "loss", "grad:scale", "grad:first.weight"]
    assert all(relative_error(own[1], true[1]) < 1e-5 for own, true in zip(eager, wide, strict=True))


def test_a_number_is_read_of_the_wider_copy() -> None:
    class Keeping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.scale, self.calls = 0.0, 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.linear(x)
            self.scale, self.calls = y.sum().item(), self.calls + 1
            return y

    eager, _, wide = wider_run(Keeping(), torch.randn(3, 4))
    assert wide is not None
    own, true = dict(eager), dict(wide)
    assert 0 < abs(own["number scale"] - true["number scale"]) < 1e-5
    assert true["number calls"].item() == own["number calls"].item() == 1


def test_of_a_data_set_only_the_slices_are_copied() -> None:
    data = torch.arange(4096.0)

    def model(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        assert x.dtype == torch.float32 or x.untyped_storage().nbytes() == 4 * 8
        return x + y / 3

    _, kind, wide = wider_run(model, (data[:4], data[8:12]))  # type: ignore[arg-type]
    assert wide is not None
    assert kind is AccuracyReference.FLOAT64
