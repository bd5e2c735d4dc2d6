"""What eager writes twice, as a checkpoint computes its part again, and compiled code once is said as what it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from analyzer.core.settings import Mode
from analyzer.core.trial import Accuracy, AccuracyReference
from analyzer.session_judge import StepJudge
from collectors.effects import written
from collectors.state import State
from collectors.step import Stepper
from tests.workloads import a_workload

Way = Callable[["Checkpointed", torch.Tensor], torch.Tensor]


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh())
        self.last = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.last(checkpoint(self.body, x, use_reentrant=False))
        return y


def once(model: Checkpointed, x: torch.Tensor) -> torch.Tensor:
    """As compiled code writes it."""
    y: torch.Tensor = model.last(model.body(x))
    return y


def twice(model: Checkpointed, x: torch.Tensor) -> torch.Tensor:
    return model(x)  # type: ignore[no-any-return]


def thrice(model: Checkpointed, x: torch.Tensor) -> torch.Tensor:
    model.body(x)
    return model(x)  # type: ignore[no-any-return]


def counts_alone(model: Checkpointed, x: torch.Tensor) -> torch.Tensor:
    """Its count is right and its mean is not."""
    y = once(model, x)
    model.body[1].running_mean.data.add_(0.1)  # type: ignore[union-attr, operator]
    return y


def another_result(model: Checkpointed, x: torch.Tensor) -> torch.Tensor:
    return once(model, x) * 1.5


def judged(way: Way) -> tuple[Accuracy, tuple[str, ...]]:
    model = Checkpointed()
    work = a_workload(model, torch.randn(8, 4), mode=Mode.TRAINING)
    state = State(work)
    eager = Stepper(work, model, state)
    eager.run()
    state.written = written(work, state)
    judge = StepJudge(lambda event: None)
    judge.prepare(eager)
    accuracy = judge.accuracy(Stepper(work, lambda x: way(model, x), state))
    assert accuracy is not None
    return accuracy, judge.notes


def test_a_step_that_writes_once_is_right_and_the_difference_is_said_with_its_reason() -> None:
    accuracy, (note,) = judged(once)
    assert accuracy.is_right
    assert accuracy.reference is AccuracyReference.FLOAT64
    for said in ("buffer body.1.num_batches_tracked", "twice a step", "checkpoint", "no wrong result"):
        assert said in note


def test_a_step_that_writes_as_eager_does_needs_no_word() -> None:
    accuracy, notes = judged(twice)
    assert accuracy.is_right
    assert notes == ()


@pytest.mark.parametrize(
    ("way", "where"),
    [(thrice, "buffer body.1"), (counts_alone, "buffer body.1"), (another_result, "output")],
)
def test_what_is_neither_is_still_wrong(way: Way, where: str) -> None:
    accuracy, _ = judged(way)
    assert not accuracy.is_right
    assert where in str(accuracy.worst) or "grad:" in str(accuracy.worst)
