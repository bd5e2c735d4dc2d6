"""Optimizers, loaders and emptied caches inside a step."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

from analyzer.core.settings import Mode
from collectors.host_calls import optimizer_facts
from tests.op_logs import logged
from tests.workloads import Mlp


def with_gradients(model: nn.Module) -> list[nn.Parameter]:
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    return parameters


@pytest.mark.parametrize(
    ("options", "implementation"),
    [({}, "for-loop"), ({"foreach": True}, "foreach"), ({"foreach": False}, "for-loop"), ({"fused": True}, "fused")],
)
def test_an_optimizers_form_is_the_one_that_torch_takes(options: dict[str, Any], implementation: str) -> None:
    facts = optimizer_facts(torch.optim.Adam(with_gradients(Mlp()), **options))
    assert (facts.name, facts.implementation, facts.tensors) == ("Adam", implementation, 4)
    assert facts.can_fuse


def test_the_form_found_is_the_one_that_runs() -> None:
    ran = {}
    for options in ({}, {"foreach": True}, {"fused": True}):
        make = lambda model, o=options: torch.optim.Adam(model.parameters(), **o)  # noqa: E731
        log = logged(Mlp(), torch.randn(4, 8), mode=Mode.TRAINING, optimizer=make)
        ops = {call.op for call in log.calls}
        form = "fused" if "aten::_fused_adam_" in ops else "foreach" if "aten::_foreach_addcdiv_" in ops else "for-loop"
        ran[log.optimizers[0].implementation] = form
    assert ran == {"for-loop": "for-loop", "foreach": "foreach", "fused": "fused"}


def test_parameters_without_a_gradient_are_not_stepped_and_the_slowest_group_names_the_form() -> None:
    first, second = Mlp(), Mlp()
    groups = [{"params": with_gradients(first), "foreach": True}, {"params": with_gradients(second), "foreach": False}]
    first.first.weight.grad = None
    facts = optimizer_facts(torch.optim.SGD(groups, lr=0.1))
    assert (facts.implementation, facts.tensors) == ("for-loop", 7)


def test_an_optimizer_that_does_not_say_has_no_form() -> None:
    embedding = nn.Embedding(4, 2, sparse=True)
    embedding(torch.tensor([1])).sum().backward()
    facts = optimizer_facts(torch.optim.SparseAdam(embedding.parameters()))
    assert facts.implementation is None
    assert not facts.can_fuse


class OwnStep(nn.Module):
    """A training step inside forward, with its own optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.net = Mlp()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        loss = self.net(x).sum()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def test_an_optimizer_inside_the_model_is_heard_with_its_line_and_its_operators() -> None:
    log = logged(OwnStep(), torch.randn(4, 8), mode=Mode.TRAINING)
    (optimizer,) = log.optimizers
    assert optimizer.where is not None
    assert Path(optimizer.where.file).name == Path(__file__).name
    updates = sum(c.count for c in log.named("aten::add_") if c.inputs[0].parameter and c.where == optimizer.where)
    assert optimizer.operators == updates == 4


def test_loaders_are_counted_with_their_workers() -> None:
    loader = DataLoader([torch.ones(2)] * 6, batch_size=2)

    def step(x: torch.Tensor) -> torch.Tensor:
        for batch in loader:
            x = x + batch.sum()
        return x

    (use,) = logged(step, torch.ones(1)).loaders
    assert use.batches == 3
    assert (use.workers, use.pins_memory) == (0, False)
    assert use.where is not None


def test_emptied_caches_are_counted_through_every_name() -> None:
    from torch.cuda import empty_cache  # a name that a user's module may hold

    empty = {"torch": torch}

    def step(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            empty["torch"].cuda.empty_cache()
        with contextlib.suppress(RuntimeError):  # without any accelerator it raises, and was called all the same
            torch.accelerator.empty_cache()
        return x

    calls = {call.name: call.count for call in logged(step, torch.ones(1)).host_calls}
    assert calls == {"torch.cuda.empty_cache": 3, "torch.accelerator.empty_cache": 1}
    assert torch.cuda.empty_cache is torch.cuda.memory.empty_cache is empty_cache
