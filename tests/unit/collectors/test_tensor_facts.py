"""Tensors as plain values."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from collectors.tensor_facts import TensorReader, plain_values, tensors_in
from tests.op_logs import logged


@pytest.mark.parametrize(
    ("tensor", "layout"),
    [
        (torch.zeros(2, 3), "contiguous"),
        (torch.zeros(2, 3).t(), "strided"),
        (torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last), "channels_last"),
        (torch.zeros(2, 3, 4, 5, 6).to(memory_format=torch.channels_last_3d), "channels_last_3d"),
        (torch.zeros(2, 3).to_sparse(), "sparse_coo"),
    ],
)
def test_a_layout_has_its_name(tensor: torch.Tensor, layout: str) -> None:
    assert TensorReader(None).facts(tensor).layout == layout


def test_a_parameter_is_known_by_its_name_through_views_and_a_copy_is_none() -> None:
    model = nn.Sequential(nn.Linear(4, 4))
    reader = TensorReader(model)
    weight = model[0].weight
    assert reader.facts(weight).parameter == "0.weight"
    assert reader.facts(weight.detach().t()[:2]).parameter == "0.weight"
    assert reader.facts(weight.detach().clone()).parameter is None


def test_a_parameter_of_no_module_of_the_model_is_still_one() -> None:
    reader = TensorReader(None)
    first, second = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    names = [reader.facts(p).parameter for p in (first, second, first)]
    assert names[0] == names[2] is not None
    assert names[1] not in (None, names[0])


def test_no_tensor_is_kept_alive() -> None:
    reader = TensorReader(None)
    tensor = torch.ones(3)
    reader.facts(tensor)
    reader.note_origin([], [tensor], is_data=False)
    gone = weakref.ref(tensor)
    del tensor
    gc.collect()
    assert gone() is None


def host_made(step: Any, *inputs: Any) -> list[bool]:
    """Whether what was copied off the CPU in a step, in order, was made there out of nothing."""
    log = logged(step, *inputs)
    copies = [c for c in log.calls if c.op in ("aten::_to_copy", "aten::copy_") and c.outputs[0].device == "meta"]
    return [call.inputs[-1].is_host_made for call in copies]


def test_what_is_made_of_python_values_alone_is_made_on_the_host() -> None:
    def step(x: torch.Tensor) -> None:
        torch.arange(4).to("meta")
        torch.tensor([1.0, 2.0]).mul(2).to("meta")
        torch.from_numpy(np.ones(3)).to("meta")

    assert host_made(step, torch.ones(2)) == [True, True, True]


def test_what_depends_on_an_input_is_not_made_on_the_host() -> None:
    def step(x: torch.Tensor) -> None:
        x.to("meta")
        (x + torch.arange(2)).to("meta")
        torch.zeros(2).copy_(x).to("meta")

    assert host_made(step, torch.ones(2)) == [False, False, False]


def test_the_batch_of_a_loader_is_data() -> None:
    loader = torch.utils.data.DataLoader([torch.ones(2), torch.ones(2)], batch_size=2)

    def step(x: torch.Tensor) -> None:
        next(iter(loader)).to("meta")

    assert host_made(step, torch.ones(2)) == [False]


def test_tensors_are_found_in_lists_and_dicts_and_the_rest_is_text() -> None:
    x, y = torch.ones(1), torch.ones(2)
    assert [t.numel() for t in tensors_in([x, 3, (y, None), {"k": x}])] == [1, 2, 1]
    assert plain_values((x, 2, [y], None, [1, 2]), {"dim": 0, "out": x}) == ("2", "[1, 2]", "dim=0")
    assert len(plain_values((list(range(1000)),), {})[0]) == 80


def test_what_is_no_plain_value_is_told_by_its_type() -> None:
    class Endless:
        def __str__(self) -> str:
            raise AssertionError("asked for its text")

        __repr__ = __str__

    told = plain_values((torch.float32, torch.device("cpu"), ["mean", Endless()]), {"source": Endless()})
    assert told == ("torch.float32", "cpu", "['mean', Endless]", "source=Endless")
    assert plain_values((torch.zeros(3).untyped_storage(),), {}) == ("UntypedStorage",)
