"""Alike products batched in the captured graph, with what follows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.fx import GraphModule

from collectors import torch_compat
from optimizers.batched_graph import SMALL_FLOPS, batch_products
from optimizers.grouped_graph import merge_linears
from optimizers.merged_graph import merge_alike, merged_share
from tests.unit.optimizers.candidates_compiled import assert_same, compiled
from tests.workloads import captured

X = torch.randn(2, 6, 8)

Use = Callable[[Tensor], Tensor]


class Head(nn.Module):
    def __init__(self, after: Use = lambda scores: scores) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 4, bias=False) for _ in range(3))
        self.register_buffer("visible", torch.ones(6, 6, dtype=torch.bool).tril())
        self.after = after

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        scores = self.after(query @ key.transpose(-2, -1) / 2.0)
        return scores.masked_fill(~self.visible, float("-inf")).softmax(dim=-1) @ value


class Heads(nn.Module):
    def __init__(self, *heads: nn.Module, join: Callable[[list[Tensor]], Any] | None = None) -> None:
        super().__init__()
        self.heads = nn.ModuleList(heads or (Head(), Head(), Head()))
        self.join = join or (lambda parts: torch.cat(parts, dim=-1))

    def forward(self, x: Tensor) -> Any:
        return self.join([head(x) for head in self.heads])


def batched(model: nn.Module, *args: Any, merge: bool = True) -> tuple[GraphModule, GraphModule, tuple[Any, ...], int]:
    """The captured graph, the batched one, their inputs, and how many products and layers became fewer."""
    ((gm, inputs),) = captured(model, *args)
    graph = torch_compat.copied_nodes(gm)
    count = (merge_linears(graph) if merge else 0) + batch_products(graph)
    return gm, torch_compat.with_nodes(gm, graph), inputs, count


def calls(gm: GraphModule, *names: str) -> int:
    return sum(torch_compat.called_name(node) in names for node in gm.graph.nodes)


def products(gm: GraphModule) -> int:
    return calls(gm, "matmul", "bmm", "__matmul__")


def test_the_heads_of_an_attention_become_one() -> None:
    gm, graph, inputs, count = batched(Heads(), X)
    assert count == 9 + 6, "nine layers and six products"
    assert (products(gm), products(graph)) == (6, 2)
    assert calls(graph, "softmax", "masked_fill") == 2
    assert calls(graph, "cat") == 1, "that of the weights: what joined the heads is a view of their batch"
    assert_same(graph(*inputs), gm(*inputs))


def test_parts_of_one_merged_layer_are_seen_as_a_batch_and_not_copied() -> None:
    _, graph, _, _ = batched(Heads(), X)
    assert calls(graph, "stack") == 1, "the masks, which each head has for itself"


def test_a_key_that_is_turned_by_an_attribute_is_one_too() -> None:
    class Scores(nn.Module):
        def forward(self, *inputs: Tensor) -> Tensor:
            return torch.cat([(x @ x.mT).softmax(-1) for x in inputs], dim=-1)

    gm, graph, inputs, count = batched(Scores(), X, X + 1, merge=False)
    assert (count, products(graph), calls(graph, "stack")) == (2, 1, 2)
    assert_same(graph(*inputs), gm(*inputs))


def test_without_merged_layers_their_results_are_stacked() -> None:
    gm, graph, inputs, count = batched(Heads(), X, merge=False)
    assert (count, products(graph)) == (6, 2)
    assert_same(graph(*inputs), gm(*inputs))


def test_gradients_are_the_same() -> None:
    model = Heads()
    gm, graph, inputs, _ = batched(model, X)
    found = []
    for one in (gm, graph):
        model.zero_grad(set_to_none=True)
        one(*inputs)[0].square().sum().backward()
        found.append([p.grad for p in model.parameters()])
    assert_same(*found)


def test_the_captured_graph_is_left_alone() -> None:
    ((gm, inputs),) = captured(Heads(), X)
    assert merge_alike(gm) is not None
    assert merged_share(gm) is not None
    assert products(gm) == 6
    gm.graph.lint()
    gm(*inputs)


@pytest.mark.parametrize(
    "join",
    [
        lambda parts: torch.cat(parts, dim=1),
        lambda parts: torch.cat(parts),
        lambda parts: torch.stack(parts, dim=2),
        lambda parts: torch.cat(parts[::-1], dim=-1),
        lambda parts: torch.cat(parts[:2], dim=-1) + parts[2].sum(),
        lambda parts: torch.cat(parts, dim=-1).view(-1),
        lambda parts: parts[0] * parts[1] + parts[2].view(-1, 4).view(2, 6, 4),
        lambda parts: sum(part.sum(-1) for part in parts),
    ],
    ids=["dim 1", "dim 0", "stacked", "another order", "some of them", "viewed", "each for itself", "added up"],
)
def test_however_the_parts_are_put_together_the_result_is_the_same(join: Callable[[list[Tensor]], Any]) -> None:
    gm, graph, inputs, count = batched(Heads(join=join), X)
    assert count > 9
    found, expected = graph(*inputs), gm(*inputs)
    assert_same(found, expected)
    assert [value.stride() for value in found] == [value.stride() for value in expected]


def test_what_leaves_the_graph_keeps_memory_of_its_own() -> None:
    gm, graph, inputs, _ = batched(Heads(join=tuple), X)
    found = graph(*inputs)
    assert_same(found, gm(*inputs))
    assert len({value.untyped_storage().data_ptr() for value in found}) == 3
    assert products(graph) == 4, "the scores are one product, the results three"


def test_what_leaves_the_graph_is_no_part_of_a_stack() -> None:
    """Inductor computes what is stacked in its place, and would return parts of one tensor."""

    class Weights(nn.Module):
        def forward(self, *inputs: Tensor) -> Any:
            weights = [(x @ x.transpose(-2, -1)).softmax(-1) for x in inputs]
            return sum(w @ x for w, x in zip(weights, inputs, strict=True)), [w.transpose(-2, -1) for w in weights]

    gm, graph, inputs, count = batched(Weights(), X, X + 1, merge=False)
    assert (count, products(graph), calls(graph, "stack")) == (2, 3, 2), "the inputs alone are stacked, for the scores"
    assert_same(graph(*inputs), gm(*inputs))


@pytest.mark.parametrize(
    ("after", "left"),
    [
        (lambda scores: scores.add_(1), 6),
        (lambda scores: nn.functional.dropout(scores, 0.5), 6),
        (lambda scores: scores + torch.rand(()), 6),
        (lambda scores: nn.functional.dropout(scores, 0.5, training=False), 2),
        (lambda scores: scores.softmax(dim=1), 2),
        (lambda scores: scores.cumsum(-1), 6),
    ],
    ids=["written to", "dropped out", "drawn", "a dropout that is off", "another dimension", "not known"],
)
def test_nothing_is_moved_around_what_writes_or_draws(after: Use, left: int) -> None:
    model = Heads(Head(after), Head(after), Head(after))
    gm, graph, inputs, _ = batched(model, X)
    assert products(graph) == left
    found = []
    for one in (gm, graph):
        torch.manual_seed(0)
        found.append(one(*inputs))
    assert_same(*found)


def test_draws_stay_in_their_order() -> None:
    """A dropout between the products of each head: batched scores would draw for all heads at once."""
    model = Heads(*(Head(lambda scores: nn.functional.dropout(scores, 0.5)) for _ in range(3)))
    gm, graph, *_ = batched(model, X)
    assert calls(graph, "dropout") == calls(gm, "dropout") == 3


def test_products_that_depend_on_each_other_stay_apart() -> None:
    class Chain(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return (x @ x) @ x

    assert batched(Chain(), torch.randn(4, 4), merge=False)[3] == 0


def test_products_of_unlike_sizes_types_or_factors_stay_apart() -> None:
    class Unlike(nn.Module):
        def forward(self, x: Tensor, y: Tensor, z: Tensor) -> Any:
            return (x @ x).sum() + (y @ y).sum() + (z @ z).sum()

    args = torch.randn(4, 4), torch.randn(5, 5), torch.randn(4, 4, dtype=torch.float64)
    assert batched(Unlike(), *args, merge=False)[3] == 0


def test_a_large_product_stays_as_it_is() -> None:
    side = round((SMALL_FLOPS / 2) ** (1 / 3)) + 1

    class Two(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (x @ x).relu().sum() + (y @ y).relu().sum()

    for size, expected in ((side, 0), (side // 4, 2)):
        x, y = torch.empty(2, size, size, device="meta").unbind()
        assert batched(Two(), x, y, merge=False)[3] == expected


def test_numbers_that_differ_keep_what_follows_apart() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (x @ x) * 2.0 + (y @ y) * 3.0

    gm, graph, inputs, count = batched(Scaled(), torch.randn(4, 4), torch.randn(4, 4), merge=False)
    assert (count, calls(graph, "mul")) == (2, 2)
    assert_same(graph(*inputs), gm(*inputs))


def test_a_number_in_a_tensor_promotes_no_type() -> None:
    class Promoted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = (nn.Parameter(torch.tensor(float(n))) for n in (1, 2))

        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            return (x @ x) * self.one + (y @ y) * self.two

    x, y = (torch.randn(4, 4, dtype=torch.bfloat16) for _ in range(2))
    gm, graph, inputs, _ = batched(Promoted(), x, y, merge=False)
    found, expected = graph(*inputs), gm(*inputs)
    assert [value.dtype for value in found] == [value.dtype for value in expected] == [torch.bfloat16]
    assert_same(found, expected)


def test_vectors_and_operands_that_are_shared() -> None:
    class Shared(nn.Module):
        def forward(self, x: Tensor, y: Tensor, w: Tensor, v: Tensor) -> Tensor:
            return (x @ w).relu() + (y @ w).relu() + (x @ v)[:, None] + (y @ v)[:, None]

    args = torch.randn(4, 4), torch.randn(4, 4), torch.randn(4, 4), torch.randn(4)
    gm, graph, inputs, count = batched(Shared(), *args, merge=False)
    assert count == 2
    assert_same(graph(*inputs), gm(*inputs))


_STEPS: dict[str, Use] = {
    "scale": lambda x: x * 0.5,
    "relu": torch.relu,
    "softmax": lambda x: x.softmax(-1),
    "softmax over rows": lambda x: x.softmax(-2),
    "transpose": lambda x: x.transpose(-2, -1),
    "square": lambda x: x @ x,
    "own product": lambda x: x @ x.transpose(-2, -1),
    "norm": lambda x: nn.functional.layer_norm(x, (4,)),
    "add": lambda x: x + x,
    "slice": lambda x: x[..., :4, :4],
    "flat": lambda x: x.reshape(x.shape[0], 16).reshape(x.shape),
}


@given(
    steps=st.lists(st.sampled_from(sorted(_STEPS)), min_size=1, max_size=5),
    branches=st.integers(2, 3),
    mixed=st.booleans(),
)
@settings(max_examples=8, deadline=None)
def test_whatever_the_branches_do_the_result_is_the_same(steps: list[str], branches: int, mixed: bool) -> None:
    class Branches(nn.Module):
        def forward(self, *inputs: Tensor) -> Tensor:
            parts = list(inputs)
            for number, step in enumerate(steps):
                parts = [_STEPS[step](part) for part in parts]
                if mixed and number == 1:
                    parts[0] = parts[0] + parts[-1]
            return torch.cat(parts, dim=-1)

    args = tuple(torch.randn(2, 4, 4) for _ in range(branches))
    gm, graph, inputs, _ = batched(Branches(), *args)
    found, expected = graph(*inputs), gm(*inputs)
    assert_same(found, expected)
    assert [value.stride() for value in found] == [value.stride() for value in expected]


def test_a_graph_of_which_little_is_alike_keeps_its_share() -> None:
    ((many, _),) = captured(Heads(*(Head() for _ in range(8))), X)
    ((few, _),) = captured(Heads(), X)
    ((none, _),) = captured(nn.Linear(8, 4), X)
    assert merged_share(none) is None
    assert 0 < (merged_share(many) or 0) < (merged_share(few) or 0) < 1


def _attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return (query @ key.transpose(-2, -1) / 2.0).softmax(dim=-1) @ value


class _OpenHead(nn.Module):
    """A head without a mask, its query, key and value layers of inputs that `use` makes."""

    def __init__(self, use: Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 4) for _ in range(3))
        self.use = use

    def forward(self, x: Tensor) -> Tensor:
        return _attention(*(layer(given) for layer, given in zip(self.layers, self.use(x), strict=True)))


class _StackedHeads(nn.Module):
    """Heads laid beside each other before the attention."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.randn(8, 8) for _ in range(9))

    def forward(self, x: Tensor) -> Tensor:
        parts = []
        for first in (0, 3, 6):
            parts.append(torch.stack([x @ self.weights[first + number] for number in range(3)], dim=1))
            x = x.relu()
        return _attention(*parts)


@pytest.mark.parametrize(
    "model",
    [
        Heads(*(_OpenHead(lambda x: (x, x, x)) for _ in range(3))),
        Heads(*(_OpenHead(lambda x: (x, x + 1, x * 2)) for _ in range(3))),
        _StackedHeads(),
    ],
    ids=["one input", "three inputs", "stacked"],
)
def test_torch_does_not_take_a_batch_for_heads_at_the_second_dimension(model: nn.Module) -> None:
    with torch.no_grad(), compiled(model, (X,), ("grouped",)) as one:
        assert_same(one.under("grouped", X), model(X))


def test_compiled_it_is_right() -> None:
    model = Heads()
    with torch.no_grad(), compiled(model, (X,), ("grouped", "frozen+grouped")) as one:
        for candidate in ("grouped", "frozen+grouped"):
            assert_same(one.under(candidate, X), model(X))
