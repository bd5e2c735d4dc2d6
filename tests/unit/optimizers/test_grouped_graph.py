"""Linear layers of one input merged in the captured graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.fx import GraphModule

from collectors import torch_compat
from optimizers.compiling import NOTHING_TO_MERGE
from optimizers.grouped_graph import LINEAR, merge_linears
from tests.unit.optimizers.candidates_compiled import assert_same, compiled
from tests.workloads import captured

X = torch.randn(2, 5, 8)


class Branches(nn.Module):
    """Layers of one input, of different widths; `between` runs before the last of them."""

    def __init__(self, bias: bool = True, between: Callable[[torch.Tensor], Any] | None = None) -> None:
        super().__init__()
        self.first, self.second, self.third = (nn.Linear(8, width, bias=bias) for width in (4, 6, 4))
        self.between = between

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.first(x), self.second(x)
        if self.between is not None:
            self.between(x)
        return first * self.third(x) + second.sum(-1, keepdim=True)


def merged(model: nn.Module, *args: Any) -> tuple[GraphModule, GraphModule, tuple[Any, ...], int]:
    """The captured graph, the merged one, their inputs, and how many layers were merged."""
    ((gm, inputs),) = captured(model, *args)
    graph = torch_compat.copied_nodes(gm)
    count = merge_linears(graph)
    return gm, torch_compat.with_nodes(gm, graph), inputs, count


def linears(gm: GraphModule) -> int:
    return sum(node.target is LINEAR for node in gm.graph.nodes)


@pytest.mark.parametrize("bias", [True, False])
def test_layers_of_one_input_become_one_with_the_same_results(bias: bool) -> None:
    gm, graph, inputs, count = merged(Branches(bias), X)
    assert (count, linears(gm), linears(graph)) == (3, 3, 1)
    assert_same(graph(*inputs), gm(*inputs))


def test_gradients_are_the_same() -> None:
    model = Branches()
    gm, graph, inputs, _ = merged(model, X)
    found = []
    for one in (gm, graph):
        model.zero_grad(set_to_none=True)
        one(*inputs)[0].sum().backward()
        found.append([p.grad for p in model.parameters()])
    assert_same(*found)


def test_the_captured_graph_is_left_alone() -> None:
    gm, _, inputs, _ = merged(Branches(), X)
    assert linears(gm) == 3
    gm.graph.lint()
    gm(*inputs)


def test_an_input_that_is_written_between_two_layers_keeps_them_apart() -> None:
    gm, graph, inputs, count = merged(Branches(between=lambda x: x.mul_(2)), X.clone())
    assert count == 2
    again = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    assert_same(graph(*inputs), gm(*again))


def test_a_result_that_is_written_to_is_not_merged() -> None:
    class Written(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 4), nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(x).add_(1) * self.right(x)

    assert merged(Written(), X)[3] == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda a, b: (a, b),
        lambda a, b: a.view(-1, 2) @ b.view(-1, 2).t(),
        lambda a, b: torch.as_strided(a, (2, 2), (1, 2)) + b.sum(),
    ],
    ids=["returned", "viewed", "strided"],
)
def test_what_depends_on_the_layout_of_a_result_sees_a_dense_one(use: Callable[..., Any]) -> None:
    class Used(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 4), nn.Linear(8, 4)

        def forward(self, x: torch.Tensor) -> Any:
            return use(self.left(x), self.right(x))

    gm, graph, inputs, count = merged(Used(), X)
    assert count == 2
    found, expected = graph(*inputs), gm(*inputs)
    assert_same(found, expected)
    assert [value.stride() for value in found] == [value.stride() for value in expected]


def test_compiled_it_is_right_and_one_product() -> None:
    model = Branches()
    with torch.no_grad(), compiled(model, (X,), ("grouped", "frozen+grouped")) as one:
        for candidate in ("grouped", "frozen+grouped"):
            assert_same(one.under(candidate, X), model(X))
        weights = [str(node.target) for node in one.heard.programs["frozen+grouped.inference"].graph.nodes]  # type: ignore[union-attr]
        assert not [name for name in weights if "cat" in name], "the weights are joined once, not in each call"


def test_in_training_its_gradients_are_right() -> None:
    model = Branches()
    with compiled(model, (X,), ("grouped",)) as one:
        gradients = []
        for run in (lambda: one.under("grouped", X), lambda: model(X)):
            model.zero_grad(set_to_none=True)
            run().sum().backward()
            gradients.append([p.grad for p in model.parameters()])
        assert_same(*gradients)


def test_where_there_is_nothing_to_merge_it_is_refused() -> None:
    with torch.no_grad(), compiled(nn.Linear(8, 4), (X,), ("grouped",)) as one:
        assert one.refusal("grouped") == NOTHING_TO_MERGE


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x + 1, False),
        (lambda x: x.add(1), False),
        (lambda x: x.__and__(x), False),
        (lambda x: x.add_(1), True),
        (lambda x: torch.relu_(x), True),
        (lambda x: torch.layer_norm(x, (8,)), False),
        (lambda x: torch.ops.aten.add_.Tensor(x, x), True),
        (lambda x: torch.ops.aten.add.Tensor(x, x), False),
        (lambda x: torch.add(x, x, out=x), True),
    ],
)
def test_what_may_write_is_known(call: Callable[..., Any], expected: bool) -> None:
    graph = torch.fx.symbolic_trace(call).graph
    node = next(node for node in graph.nodes if node.op.startswith("call"))
    assert torch_compat.may_write(node) is expected


@pytest.mark.parametrize(("args", "kwargs"), [((), {"inplace": True}), ((True,), {})])
def test_a_function_asked_to_work_in_place_writes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    relu = torch.nn.functional.relu
    assert torch_compat.may_write(graph.call_function(relu, (x, *args), kwargs))
    assert not torch_compat.may_write(graph.call_function(relu, (x,)))


class Halved(torch.Tensor):
    """A weight kept as half of itself, as torchao keeps one in eight bits: it can be multiplied by, and no `cat`."""

    _stored: torch.Tensor

    @staticmethod
    def __new__(cls, half: torch.Tensor) -> Halved:
        made: Halved = torch.Tensor._make_wrapper_subclass(cls, half.shape, dtype=half.dtype)
        made._stored = half
        return made

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Halved({self._stored.shape})"  # torch's own would run operators, and logs it as it compiles

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["_stored"], None

    @staticmethod
    def __tensor_unflatten__(inner: dict[str, torch.Tensor], *_: Any) -> Halved:
        return Halved(inner["_stored"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        if func in (torch.ops.aten.detach.default, torch.ops.aten.t.default):
            return Halved(func(args[0]._stored))
        if func not in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.view.default):
            raise NotImplementedError(f"{func} of a Halved")
        return func(*(one._stored * 2 if isinstance(one, Halved) else one for one in args))


def test_weights_of_a_class_of_their_own_are_left_alone() -> None:
    """Torchao's quantized weights, DTensors: what they do when laid side by side is theirs to say."""
    model = Branches()
    with torch.no_grad():
        expected = model(X)
    for layer in (model.first, model.second, model.third):
        layer.weight = nn.Parameter(Halved(layer.weight.detach() / 2))
    with torch.no_grad(), compiled(model, (X,), ("grouped",)) as one:
        assert one.refusal("grouped") == f"{NOTHING_TO_MERGE}; Halved is left alone"
        assert_same(one.under("fused", X), expected)


def test_a_layer_of_another_class_of_tensor_keeps_no_plain_ones_apart() -> None:
    model = Branches(bias=False)
    model.second.weight = nn.Parameter(Halved(model.second.weight.detach() / 2))
    with torch.no_grad(), compiled(model, (X,), ("grouped",)) as one:
        assert_same(one.under("grouped", X), model(X))
        (gm,) = {graph.captured for graph in one.backend.graphs}
        assert merge_linears(torch_compat.copied_nodes(gm)) == 2  # type: ignore[arg-type]
