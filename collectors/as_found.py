"""Leaves a caller's model as it was found, after it was moved, put into a mode and trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch.nn.parameter import is_lazy


@contextlib.contextmanager
def left_as_found(model: object) -> Iterator[None]:
    """Put back each module's mode and buffers and each parameter's data and gradient, as the objects that they were.

    What a step writes into them is `State`'s to restore; a move to another device left the originals untouched.
    """
    modules = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    modes = [(module, module.training, dict(module._buffers.items())) for module in modules]
    parameters = [p for module in modules for p in module._parameters.values() if p is not None]
    data = [(p, p.data, p.grad, None if p.grad is None else p.grad.data) for p in parameters if not is_lazy(p)]
    try:
        yield
    finally:
        for module, was_training, buffers in modes:
            module.training = was_training
            for name, buffer in buffers.items():  # of TorchScript they are no dict
                module._buffers[name] = buffer
        for parameter, values, gradient, gradient_values in data:
            parameter.grad = None
            parameter.data = values
            if gradient is not None and gradient_values is not None:
                gradient.data = gradient_values  # a move took it along
                parameter.grad = gradient
