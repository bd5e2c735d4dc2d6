"""What a CUDA graph would copy at each replay: inputs, and no parameter or buffer."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from analyzer.core.graphs import Direction
from collectors import torch_compat
from collectors.copied_inputs import copied_bytes
from tests.workloads import captured


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(4, 8), nn.BatchNorm1d(8)

    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        return self.norm(self.layer(x)) * scale


@pytest.fixture(scope="module")
def graph() -> torch.fx.GraphModule:
    with torch.no_grad():
        ((gm, _),) = captured(Model().eval(), torch.randn(16, 4), 2.0)
    return gm


def test_parameters_and_buffers_keep_their_place(graph: torch.fx.GraphModule) -> None:
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    moving = [node for node in placeholders if not torch_compat.is_static_input(node)]
    assert len(placeholders) == 7
    assert [tuple(node.meta["example_value"].shape) for node in moving] == [(16, 4)]


def test_inputs_on_the_device_are_copied_and_those_of_the_host_are_not(
    graph: torch.fx.GraphModule, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert copied_bytes(graph, Direction.INFERENCE) == 0
    (moving,) = [n for n in graph.graph.nodes if n.op == "placeholder" and not torch_compat.is_static_input(n)]
    with torch._subclasses.FakeTensorMode():
        # No storage and no driver: a fake tensor says that it is there.
        on_device = torch.empty(16, 4, device="cuda")
    monkeypatch.setitem(moving.meta, "example_value", on_device)
    assert copied_bytes(graph, Direction.INFERENCE) == 16 * 4 * 4
    assert copied_bytes(graph, Direction.BACKWARD) is None


def test_a_size_that_is_not_known_is_not_guessed(graph: torch.fx.GraphModule, monkeypatch: pytest.MonkeyPatch) -> None:
    (moving,) = [n for n in graph.graph.nodes if n.op == "placeholder" and not torch_compat.is_static_input(n)]
    monkeypatch.delitem(moving.meta, "example_value")
    assert copied_bytes(graph, Direction.INFERENCE) is None
