"""A model of TorchScript is refused before anything is made of it; one inside a model is state like any other."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError
from collectors.callables import require_callable
from collectors.state import State
from collectors.workload import Workload
from tests.workloads import Mlp, a_workload

X = torch.ones(4, 8)


def scripted(model: nn.Module) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates what users have
        return torch.jit.script(model)


def traced(model: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.jit.trace(model, X)


@pytest.mark.parametrize(
    "made",
    [
        lambda: scripted(nn.Linear(8, 4)),
        lambda: traced(nn.Linear(8, 4)),
        lambda: traced(lambda x: x.sin()),
    ],
    ids=["scripted", "traced", "a function"],
)
def test_it_is_refused_by_name_with_what_to_give_instead(made: Callable[[], Any]) -> None:
    model = made()
    with pytest.raises(UsageError, match="TorchScript") as caught:
        Workload.of(model, (X,))
    assert type(model).__name__ in caught.value.message
    assert "scripted or traced from" in str(caught.value.hint)


def test_python_is_not_refused() -> None:
    for model in (Mlp(), torch.compile(Mlp()), Mlp().forward, torch.sin):
        require_callable(model, "the model")


def test_a_scripted_layer_of_a_model_is_put_back_like_any_other() -> None:
    model = nn.Sequential(nn.Linear(8, 4), scripted(nn.BatchNorm1d(4)))
    work = a_workload(model, X)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = State(work)
    model.train()(torch.randn(4, 8))
    changed = [name for name, value in model.state_dict().items() if not torch.equal(value, before[name])]
    assert len(changed) == 3, changed  # the statistics of the batch norm
    assert state.changed_model()
    state.restore()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
