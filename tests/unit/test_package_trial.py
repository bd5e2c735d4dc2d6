"""A package is judged as it was loaded, and beyond its first call where the model keeps what it computes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from analyzer import package_trial
from analyzer.core.trial import AccuracyReference, Trial, TrialOutcome
from collectors import torch_compat
from collectors.effects import written
from collectors.reference import first_results
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload
from optimizers.accuracy import judge_of
from optimizers.export import Package, called_operators


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


class Plain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def tried(model: nn.Module, loaded: Callable[[nn.Module], Callable[..., Any]], monkeypatch: Any, path: Path) -> Trial:
    """The trial of a package that is loaded as `loaded` gives it, each time from the model as it was exported."""
    workload = Workload.of(model, (torch.ones(3),))
    state = State(workload)
    eager = Stepper(workload, model, state)
    eager.run()
    state.written = written(workload, state)
    runs = (first_results(eager), first_results(eager), first_results(eager, 1))
    judge = judge_of(runs, AccuracyReference.EAGER, None)
    state.restore()
    exported = copy.deepcopy(model)

    def export_package(*_: Any) -> Package:
        path.write_bytes(b"a package")
        return Package(load_package(path), 1)

    def load_package(_: Path) -> Callable[..., Any]:
        return loaded(copy.deepcopy(exported))

    monkeypatch.setattr(package_trial, "export_package", export_package)
    monkeypatch.setattr(torch_compat, "load_package", load_package)
    return package_trial.package_trial(workload, state, eager, judge, path)


def forgetting(model: nn.Module) -> Callable[..., Any]:
    return lambda *args: copy.deepcopy(model)(*args)


def test_a_package_that_forgets_what_the_model_keeps_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial = tried(Counting(), forgetting, monkeypatch, tmp_path / "model.pt2")
    assert trial.outcome is TrialOutcome.WRONG_RESULT
    assert trial.accuracy is not None
    assert "its second call" in str(trial.accuracy.detail)
    assert not (tmp_path / "model.pt2").exists()


def test_a_package_that_keeps_what_the_model_keeps_is_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial = tried(Counting(), lambda model: model, monkeypatch, tmp_path / "model.pt2")
    assert trial.outcome is TrialOutcome.MEASURED, trial.reason
    assert (tmp_path / "model.pt2").exists()


def test_a_model_that_keeps_nothing_is_judged_by_one_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert tried(Plain(), forgetting, monkeypatch, tmp_path / "model.pt2").outcome is TrialOutcome.MEASURED


def test_it_is_said_that_a_package_keeps_state_for_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (caution,) = tried(Counting(), lambda model: model, monkeypatch, tmp_path / "model.pt2").cautions
    assert "buffer calls" in caution
    assert "begins at each load" in caution
    assert tried(Plain(), lambda model: model, monkeypatch, tmp_path / "other.pt2").cautions == ()


def test_the_operators_of_the_users_that_a_package_calls_are_named() -> None:
    library = torch.library.Library("graphbound_package", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("twice", torch.empty_like, "Meta")

    class Calls(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = torch.ops.graphbound_package.twice(x.sin())
            return torch.ops.graphbound_package.twice(y).relu()  # type: ignore[no-any-return]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of torch's own pytree
        calling, plain = (torch.export.export(model, (torch.ones(3),)) for model in (Calls(), Plain()))
    assert called_operators(calling) == ("graphbound_package::twice",)
    assert called_operators(plain) == ()
