"""What a user hands over becomes a Workload, on its device and in its mode."""

from __future__ import annotations

import random
import re
from collections import namedtuple

import numpy as np
import pytest
import torch
from torch import nn

from analyzer.core.errors import UsageError
from analyzer.core.settings import Mode
from collectors import workload as module
from collectors.workload import NO_LOSS, NO_OPTIMIZER, OWN_STEP, Workload, fixed_seeds, move, resolve_device


def test_a_tuple_and_a_list_are_positional_and_a_dict_is_keywords() -> None:
    x = torch.ones(2)
    for inputs in ((x,), [x], x):
        made = Workload.of(nn.Linear(2, 2), inputs)
        assert [a is x for a in made.args] == [True]
        assert made.kwargs == {}
    made = Workload.of(nn.Linear(2, 2), {"input": x})
    assert made.args == ()
    assert made.kwargs["input"] is x


def test_the_mode_of_the_model_follows_the_mode_of_the_workload() -> None:
    model = nn.Dropout()
    assert Workload.of(model, torch.ones(1)).model.training is False
    assert Workload.of(model, torch.ones(1), mode="training").model.training is True


def test_a_plain_function_is_named_after_itself_and_left_alone() -> None:
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    made = Workload.of(double, torch.ones(1))
    assert made.model is double
    assert made.name == "double"


def test_a_training_run_says_what_was_not_given() -> None:
    model = nn.Linear(2, 2)
    assert Workload.of(model, torch.ones(2), mode="training").notes == (NO_LOSS, NO_OPTIMIZER)
    own = Workload.of(model, torch.ones(2), mode="training", step=lambda run, x: run(x))
    assert own.notes == (OWN_STEP,)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    made = Workload.of(model, torch.ones(2), mode="training", loss=torch.sum, optimizer=optimizer)
    assert made.notes == ()
    assert made.optimizer is optimizer


def test_inference_has_neither_loss_nor_optimizer() -> None:
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    made = Workload.of(model, torch.ones(2), loss=torch.sum, optimizer=optimizer)
    assert (made.mode, made.loss, made.optimizer, made.notes) == (Mode.INFERENCE, None, None, ())


@pytest.mark.parametrize(
    ("model", "inputs", "options", "says"),
    [
        (3, (), {}, "a int, which cannot be called"),
        (nn.ReLU, (), {}, "the class ReLU, and no instance of it"),
        (torch.sum, 3, {}, "of type int"),
        (torch.sum, {1: 2}, {}, "no argument name"),
        (torch.sum, (), {"mode": "tuning"}, "no such mode: tuning"),
        (torch.sum, (), {"device": "tpu"}, "no such device: tpu"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason(
    model: object, inputs: object, options: dict[str, str], says: str
) -> None:
    with pytest.raises(UsageError, match=says):
        Workload.of(model, inputs, **options)  # type: ignore[arg-type]


def test_cuda_without_a_gpu_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match=re.escape(f"torch {torch.__version__}")) as caught:
        resolve_device("cuda")
    assert caught.value.hint == "use --device cpu"
    assert resolve_device(None) == "cpu"


def test_a_numbered_gpu_is_chosen_through_the_environment() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_device("cuda:3")
    assert "CUDA_VISIBLE_DEVICES=3" in str(caught.value.hint)


def test_a_storage_among_the_inputs_is_moved_by_what_it_has_in_place_of_to() -> None:
    storage = torch.ones(3).untyped_storage()
    (moved,) = Workload.of(nn.Identity(), (storage,), device="cpu").args
    assert moved.tolist() == storage.tolist()


def test_moving_keeps_the_structure_and_moves_a_shared_tensor_once() -> None:
    pair = namedtuple("pair", "first second")
    x = torch.ones(2, requires_grad=True)
    moved = move({"a": pair(x, [x, 3]), "b": (None, "text")}, "meta")
    assert moved["a"].first.device.type == "meta"
    assert moved["a"].first is moved["a"].second[0]
    assert moved["a"].first.is_leaf
    assert moved["a"].first.requires_grad
    assert moved["a"].second[1] == 3
    assert moved["b"] == (None, "text")


def test_a_tensor_already_there_stays_the_same_object() -> None:
    x = torch.ones(2)
    assert move([x], "cpu")[0] is x


def test_seeds_are_fixed_inside_and_go_on_as_before_outside() -> None:
    def draw() -> tuple[float, float, float]:
        return float(torch.rand(())), float(np.random.rand()), random.random()

    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    before = draw()
    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    with fixed_seeds():
        first = draw()
    assert draw() == before
    with fixed_seeds():
        assert draw() == first
    assert first != before
