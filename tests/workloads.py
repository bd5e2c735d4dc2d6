"""Tiny models, and what `torch.compile` hands to a backend for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.fx import GraphModule

from analyzer.core.settings import Mode
from collectors import torch_compat
from collectors.state import State
from collectors.step import Stepper
from collectors.workload import Workload

Captured = tuple[GraphModule, tuple[Any, ...]]


@contextmanager
def fresh_dynamo() -> Iterator[None]:
    """No compiled frame before, none after."""
    torch_compat.reset()
    try:
        with warnings.catch_warnings():
            # Dynamo itself looks at the gradient of an activation behind a graph break.
            warnings.filterwarnings("ignore", message="The .grad attribute of a Tensor that is not a leaf")
            yield
    finally:
        torch_compat.reset()


def captured(function: Callable[..., Any], *args: Any, **options: Any) -> list[Captured]:
    """The Dynamo graphs of one call, each with the inputs its backend was given."""
    found: list[Captured] = []

    def backend(gm: GraphModule, inputs: list[Any]) -> Callable[..., Any]:
        found.append((gm, tuple(inputs)))
        return gm.forward

    with fresh_dynamo():
        torch.compile(function, backend=backend, **options)(*args)
    return found


class Mlp(nn.Module):
    """Two small layers; with `talks`, a graph break between them."""

    def __init__(self, width: int = 8, *, talks: bool = False) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width)
        self.talks = talks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        if self.talks:
            torch._dynamo.graph_break()
        return torch.tanh(self.second(x))


def a_workload(
    model: Callable[..., Any] | None = None, inputs: object = None, mode: Mode = Mode.INFERENCE, **rest: Any
) -> Workload:
    torch.manual_seed(0)
    inputs = inputs if inputs is not None else torch.randn(4, 8)
    return Workload.of(model or Mlp(), inputs, mode=mode, device="cpu", **rest)


def a_stepper(workload: Workload, model: Callable[..., Any] | None = None) -> Stepper:
    return Stepper(workload, model or workload.model, State(workload))
