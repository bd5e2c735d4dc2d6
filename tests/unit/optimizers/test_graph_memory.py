"""What a merged graph may not change: memory, strides, types and which weights have a gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.fx import GraphModule

from optimizers.merged_graph import merge_alike
from tests.unit.optimizers.candidates_compiled import assert_same
from tests.workloads import captured

X = torch.randn(2, 6, 8)
ROW = torch.randn(1, 8)

Use = Callable[[list[nn.Linear], Tensor], Any]


class Layers(nn.Module):
    def __init__(self, use: Use) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
        self.use = use

    def forward(self, x: Tensor) -> Any:
        return self.use(list(self.layers), x)  # type: ignore[arg-type]


def scores(layers: list[nn.Linear], x: Tensor) -> list[Tensor]:
    return [layer(x) @ layer(x).transpose(-1, -2) for layer in layers]


def both(model: nn.Module, x: Tensor) -> tuple[list[Any], list[Any]]:
    """What the captured graph gives and what the merged one does, each run on the weights as they are."""
    ((gm, inputs),) = captured(model, x)
    graph = merge_alike(gm)
    assert graph is not None
    return _run(gm, inputs), _run(graph, inputs)


def _run(gm: GraphModule, inputs: tuple[Any, ...]) -> list[Any]:
    return list(gm(*inputs))


def _is_shared(results: list[Tensor]) -> list[list[bool]]:
    places = [one.untyped_storage().data_ptr() for one in results]
    return [[one == other for other in places] for one in places]


def _written_join(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    parts = scores(layers, x)
    return torch.cat(parts).mul_(2), parts[0] * 1, parts[1] * 2


def _written_part(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    first, second, third = (layer(x) for layer in layers)
    first[0].add_(1)
    return first * 1, second * third


def _joined_twice(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    parts = scores(layers, x)
    return torch.cat(parts), torch.stack(parts), torch.cat(parts)[1]


@pytest.mark.parametrize(
    ("use", "x"),
    [
        (lambda layers, x: tuple(layer(x) for layer in layers), ROW),
        (lambda layers, x: tuple(layer(x).contiguous() for layer in layers), ROW),
        (lambda layers, x: tuple(layer(x).unflatten(-1, (2, 2)).transpose(1, 2) for layer in layers), X),
        (lambda layers, x: tuple(layer(x)[0].view(-1) * 2 for layer in layers), X),
        (lambda layers, x: tuple(layer(x).detach() for layer in layers), X),
        (lambda layers, x: tuple(one.transpose(1, 2) for one in scores(layers, x)), X),
        (lambda layers, x: tuple(one.float() for one in scores(layers, x)), X),
        (lambda layers, x: tuple(nn.functional.dropout(one, training=False) for one in scores(layers, x)), X),
        (_written_join, X),
        (_written_part, X),
        (_joined_twice, X),
    ],
    ids=[
        *("one row", "one dense row", "keys", "viewed", "detached", "turned", "of the same type", "switched off"),
        *("join written", "part written", "joined twice"),
    ],
)
def test_results_keep_their_strides_and_memory(use: Use, x: Tensor) -> None:
    with torch.no_grad():
        expected, found = both(Layers(use), x)
    assert_same(found, expected)
    assert [one.stride() for one in found] == [one.stride() for one in expected]
    sizes = [[one.untyped_storage().nbytes() for one in results] for results in (found, expected)]
    assert sizes[0] == sizes[1], "no more memory is kept by what leaves"
    assert _is_shared(found) == _is_shared(expected)


def _without_gradient(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    first = layers[0](x)
    with torch.no_grad():
        second = layers[1](x)
    return first * 1, second * 1, layers[2](x) * 1


def _detached_product(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
    first, second, third = (layer(x + number) @ x.transpose(-1, -2)[:, :4] for number, layer in enumerate(layers))
    return first.relu() * third.relu(), second.detach() * 1


@pytest.mark.parametrize(
    "use",
    [
        _without_gradient,
        _detached_product,
        lambda layers, x: (layers[0](x) * 1, layers[1](x).detach() * 1, layers[2](x) * 1),
        lambda layers, x: (layers[0](x) * (layers[1](x) > 0) * layers[2](x),),
    ],
    ids=["no_grad", "detached product", "detached", "compared"],
)
def test_what_had_no_gradient_is_given_none_of_zeros(use: Use) -> None:
    _assert_same_gradients(Layers(use))


def test_beside_a_layer_that_is_trained_a_frozen_one_stays_frozen() -> None:
    model = Layers(lambda layers, x: tuple(layer(x) * 1 for layer in layers))
    model.layers[0].requires_grad_(False)
    _assert_same_gradients(model)


def _assert_same_gradients(model: nn.Module) -> None:
    ((gm, inputs),) = captured(model, X)
    graph = merge_alike(gm) or gm
    gradients, trained = [], []
    for one in (gm, graph):
        model.zero_grad(set_to_none=True)
        results = _run(one, inputs)
        trained.append([result.requires_grad for result in results])
        sum(result.square().sum() for result in results).backward()
        gradients.append([p.grad for p in model.parameters()])
    assert trained[0] == trained[1]
    assert [one is None for one in gradients[0]] == [one is None for one in gradients[1]]
    assert_same(*([one for one in found if one is not None] for found in gradients))


def test_layers_within_autocast_and_after_it_keep_their_types() -> None:
    def use(layers: list[nn.Linear], x: Tensor) -> tuple[Tensor, ...]:
        with torch.autocast("cpu", torch.bfloat16):
            first = layers[0](x) * 1
        return first, layers[1](x) * 1, layers[2](x) * 1

    with torch.no_grad():
        expected, found = both(Layers(use), X)
    assert [one.dtype for one in found] == [one.dtype for one in expected] == [torch.bfloat16, *2 * (torch.float32,)]
    assert_same(found, expected)


def test_a_bias_of_one_number_for_all_columns_is_left_alone() -> None:
    model = Layers(lambda layers, x: tuple(layer(x) * 1 for layer in layers))
    for layer in model.layers:
        layer.bias = nn.Parameter(torch.randn(1))
    ((gm, _),) = captured(model, torch.randn(3, 8))
    assert merge_alike(gm) is None
