"""A caller's model is given back as it was found."""

from __future__ import annotations

import warnings

import torch
from torch import nn

from collectors.as_found import left_as_found
from collectors.workload import Workload


def _model() -> nn.Sequential:
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout())
    model.train()
    model[2].eval()
    return model


def test_the_mode_of_every_module_comes_back_even_after_an_error() -> None:
    model = _model()
    try:
        with left_as_found(model):
            Workload.of(model, (torch.ones(2, 2),))
            assert not model.training
            raise KeyError
    except KeyError:
        pass
    assert [module.training for module in model.modules()] == [True, True, True, False]


def test_parameters_buffers_and_gradients_come_back_as_the_objects_they_were() -> None:
    model = _model()
    model(torch.ones(2, 2)).sum().backward()
    weight, mean, gradient = model[0].weight, model[1].running_mean, model[0].weight.grad
    with left_as_found(model):
        model.to(torch.float64)  # stands for a move to another device
        model.zero_grad(set_to_none=True)
    assert model[0].weight is weight
    assert weight.dtype is torch.float32
    assert weight.grad is gradient
    assert model[1].running_mean is mean


def test_what_is_no_module_is_left_alone() -> None:
    with left_as_found(len):
        pass


def test_a_layer_of_torchscript_comes_back_too() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates what users have
        layer = torch.jit.script(nn.BatchNorm1d(2))
    model = nn.Sequential(nn.Linear(2, 2), layer)
    with left_as_found(model):
        model.to(torch.float64)
        model.eval()
    assert model[1].running_mean.dtype is torch.float32
    assert model.training
    assert model[1].training
