"""What a model itself does otherwise in each step, and what only a copy of it refuses, is no accusation."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.session_judge import StepJudge
from collectors.effects import written
from collectors.kept_numbers import kept_numbers
from collectors.outputs import not_finite
from collectors.state import State
from collectors.step import Stepper
from tests.workloads import a_workload

Trial = tuple[Accuracy, tuple[str, ...]]

STEPS_BETWEEN = 40
"""As many as a timing takes, in small."""


def trial(model: nn.Module, run: Callable[..., Any] | None = None, *, steps: int = STEPS_BETWEEN) -> Trial:
    """What is said of `run`, the model itself where none is given, after it was run for a while; and the notes."""
    work = a_workload(model, torch.randn(3, 4))
    state = State(work)
    eager, tried = Stepper(work, model, state), Stepper(work, run or model, state)
    eager.run()
    state.written = written(work, state)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    for _ in range(steps):
        tried.run()
    accuracy = judge.accuracy(tried)
    assert accuracy is not None
    return accuracy, judge.notes


class Lined(nn.Module):
    """Writes down each of its results under a key that the subclass makes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.seen: dict[object, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        self.seen[self.key(y)] = y * 2
        return y

    def key(self, y: torch.Tensor) -> object:
        raise NotImplementedError


class ByUuid(Lined):
    def key(self, y: torch.Tensor) -> object:
        return uuid.uuid4().hex


class ByCount(Lined):
    def __init__(self) -> None:
        super().__init__()
        self.count = itertools.count()

    def key(self, y: torch.Tensor) -> object:
        return next(self.count)


class Seldom(Lined):
    """Writes into a name of its own in every fifth step, by a count that nobody puts back."""

    def __init__(self) -> None:
        super().__init__()
        self.count = itertools.count(1)

    def key(self, y: torch.Tensor) -> object:
        if next(self.count) % 5 == 0:
            self.fifth = y + 1
        return "y"


class Schedule:
    def __init__(self) -> None:
        self.lock, self.steps = threading.Lock(), 0


class Drifting(nn.Module):
    """Its results grow by a count that lies beside a lock, and is not put back."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.schedule = Schedule()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.schedule.steps += 1
        y: torch.Tensor = self.linear(x)
        return y * (1 + 0.001 * self.schedule.steps)


@pytest.mark.parametrize(
    ("make", "noted"),
    [(ByUuid, "attribute seen"), (ByCount, "attribute seen"), (Drifting, "output")],
)
def test_what_eager_does_otherwise_in_each_step_is_no_accusation_and_is_noted(
    make: Callable[[], nn.Module], noted: str
) -> None:
    found, notes = trial(make())
    assert found.is_right, found
    assert any(noted in note and "differ" in note for note in notes), notes


def test_what_is_written_in_every_fifth_step_is_no_accusation_in_whichever_step_it_is_met() -> None:
    found = [trial(Seldom(), steps=steps) for steps in range(5)]
    assert [accuracy.is_right for accuracy, _ in found] == [True] * 5
    assert any("attribute fifth differs" in note for _, notes in found for note in notes)


@pytest.mark.parametrize("make", [ByUuid, Seldom])
def test_beside_what_changes_in_each_step_all_else_is_still_compared(make: Callable[[], nn.Module]) -> None:
    model = make()
    found, _ = trial(model, lambda x: model(x) + 1)
    assert (found.is_right, found.worst, found.reference) == (False, "output", AccuracyReference.FLOAT64)


def test_a_key_that_is_an_address_is_named_by_its_place() -> None:
    class ByAddress(Lined):
        def key(self, y: torch.Tensor) -> object:
            return id(y) + 2**32

    accuracy, notes = trial(ByAddress())
    assert (accuracy.is_right, notes) == (True, ())
    model = ByAddress()
    found, _ = trial(model, lambda x: (model(x), model.seen.update({2**40: torch.zeros(1)}))[0])
    assert (found.is_right, found.detail) == (False, "this gives attribute seen[key 1], eager does not")


def test_a_container_keyed_by_tensors_is_put_back() -> None:
    class ByTensor(Lined):
        def __init__(self) -> None:
            super().__init__()
            self.seen[torch.zeros(5)] = torch.zeros(5)

        def key(self, y: torch.Tensor) -> object:
            self.seen.clear()
            return y

    model = ByTensor()
    work = a_workload(model, torch.randn(3, 4))
    state, kept = State(work), list(model.seen)
    model(*work.args)
    assert state.changed_model()
    state.restore()
    assert [one is other for one, other in zip(model.seen, kept, strict=True)] == [True]
    assert not state.changed_model()
    assert trial(model)[0].is_right


class RefusedError(Exception):
    """Of the user's own."""


@pytest.mark.parametrize("problem", [KeyError("float64"), RefusedError("float32 alone")])
def test_a_copy_that_raises_whatever_it_likes_costs_the_reference_and_not_the_run(problem: Exception) -> None:
    class Own(nn.Module):
        """Looks itself up by its identity, or its dtype in a table."""

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.me = id(self)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.me != id(self):
                raise problem
            y: torch.Tensor = self.linear(x)
            return y

    model = Own()
    assert trial(model)[0].is_right
    found, _ = trial(model, lambda x: model(x) * 1.1)
    assert (found.is_right, found.reference) == (False, AccuracyReference.EAGER)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_results_in_float8_are_compared(dtype: torch.dtype) -> None:
    class Narrow(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.linear(x)
            return y.to(dtype)

    model = Narrow()
    assert trial(model)[0].is_right
    assert not trial(model, lambda x: (model(x).float() * 2).to(dtype))[0].is_right
    assert not_finite((("output", torch.tensor([1.0, float("nan")]).to(dtype)),)) == ("output",)


def test_what_dynamo_switches_on_an_optimizer_is_no_number_of_the_model() -> None:
    model = nn.Linear(4, 4)
    adam = torch.optim.Adam(model.parameters(), lr=0.5)
    vars(model)["opt"] = adam
    found = kept_numbers(a_workload(model, torch.randn(3, 4)))
    assert found["number opt.param_groups[0]['lr']"] == 0.5
    assert not [path for path in found if path.endswith("['capturable']")]
    assert "capturable" in adam.param_groups[0]


def test_a_cache_that_was_made_in_inference_mode_is_put_back() -> None:
    class Caching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("cache", torch.zeros(3, 4))

        @torch.inference_mode()
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.cache.add_(self.linear(x))
            return self.cache * 2

    with torch.inference_mode():
        model = Caching()
    accuracy, notes = trial(model)
    assert (accuracy.is_right, notes) == (True, ())
    assert not trial(model, lambda x: model(x) + 1)[0].is_right
