"""Attention that is written out, replaced in the captured graph where torch's own means the same."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from collectors import torch_compat
from optimizers.attention_graph import fuse_attention
from tests.unit.optimizers.candidates_compiled import assert_same
from tests.workloads import captured

L, E = 6, 4
BIG = torch.finfo(torch.float32).min
HIDDEN = torch.ones(L, L, dtype=torch.bool).triu(1)
ADDED = torch.zeros(2, 1, L, L).masked_fill(torch.arange(L) == L - 1, BIG)

Scores = Callable[[Tensor], Tensor]


def attention(of_scores: Scores, of_weights: Scores = lambda weights: weights) -> Callable[..., Tensor]:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return of_weights(of_scores(q @ k.transpose(-2, -1))) @ v

    return run


def softmax(scores: Tensor) -> Tensor:
    return F.softmax(scores, dim=-1)


def heads(batch: int = 2, count: int = 3) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(batch)
    return torch.randn(batch, count, L, E), torch.randn(batch, count, L, E), torch.randn(batch, count, L, 5)


def fused(run: Callable[..., Tensor], *args: Tensor) -> tuple[Tensor, Tensor, int]:
    """What the captured graph gives, what the fused one does, and how many places were replaced."""
    ((gm, inputs),) = captured(run, *args)
    graph, count = fuse_attention(gm)
    called = [torch_compat.called_name(node) for node in graph.graph.nodes]
    assert called.count("scaled_dot_product_attention") == count
    return gm(*inputs)[0], graph(*inputs)[0], count


EQUAL: dict[str, Callable[..., Tensor]] = {
    "plain": attention(softmax),
    "divided": attention(lambda s: softmax(s / math.sqrt(E))),
    "multiplied": attention(lambda s: softmax(0.3 * s)),
    "scaled twice": attention(lambda s: softmax(s * 0.5 / 3)),
    "in place": attention(lambda s: softmax(s.mul_(0.5).masked_fill_(HIDDEN, -math.inf))),
    "causal": attention(lambda s: softmax((s / 2).masked_fill(HIDDEN, -math.inf))),
    "a large number": attention(lambda s: softmax((s / 2).masked_fill(HIDDEN, -1e9))),
    "additive": attention(lambda s: softmax(s / 2 + ADDED)),
    "additive, mask first": attention(lambda s: softmax(ADDED + s / 2)),
    "method": attention(lambda s: s.softmax(-1)),
    "by number of the dimension": attention(lambda s: torch.softmax(s, 3)),
    "dropout that drops nothing": attention(softmax, lambda w: F.dropout(w, 0.1, training=False)),
    "no share dropped": attention(softmax, lambda w: F.dropout(w, 0.0)),
    "softmax in a type": attention(lambda s: F.softmax(s, dim=-1, dtype=torch.float32).to(torch.float32)),
}

UNLIKE: dict[str, Callable[..., Tensor]] = {
    "scaled after the mask": attention(lambda s: softmax(s.masked_fill(HIDDEN, -math.inf) * 2)),
    "a small fill": attention(lambda s: softmax(s.masked_fill(HIDDEN, -5.0))),
    "a fill that shows": attention(lambda s: softmax(s.masked_fill(HIDDEN, math.inf))),
    "another dimension": attention(lambda s: F.softmax(s, dim=-2)),
    "a changed weight": attention(softmax, torch.square),
    "a capped score": attention(lambda s: softmax(torch.tanh(s))),
    "a tensor as scale": attention(lambda s: softmax(s * torch.full((), 0.5))),
    "dropout": attention(softmax, lambda w: F.dropout(w, 0.5)),
    "two masks": attention(lambda s: softmax((s + ADDED).masked_fill(HIDDEN, -math.inf))),
    "a wide type": attention(lambda s: softmax(s.to(torch.bfloat16)).float()),
}


@pytest.mark.parametrize("name", EQUAL)
def test_what_means_the_same_is_replaced_and_gives_the_same(name: str) -> None:
    expected, found, count = fused(EQUAL[name], *heads())
    assert count == 1
    assert_same(found, expected)


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_not_known_to_mean_the_same_is_left_alone(name: str) -> None:
    assert fused(UNLIKE[name], *heads())[2] == 0


def test_three_dimensions_and_a_mask_of_three() -> None:
    q, k, v = (tensor[:, 0] for tensor in heads())
    hidden = HIDDEN.expand(2, L, L)
    for run in (EQUAL["causal"], attention(lambda s: softmax(s.masked_fill(hidden, -math.inf)))):
        expected, found, count = fused(run, q, k, v)
        assert count == 1
        assert_same(found, expected)


def test_weights_that_are_used_elsewhere_stay() -> None:
    def run(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        weights = softmax(q @ k.transpose(-2, -1))
        return weights @ v, weights

    ((gm, _),) = captured(run, *heads())
    assert fuse_attention(gm)[1] == 0


def test_what_is_written_between_scores_and_result_keeps_them_as_they_are() -> None:
    def run(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        weights = softmax(q @ k.transpose(-2, -1))
        q.mul_(2)
        return weights @ v

    ((gm, _),) = captured(run, *heads())
    assert fuse_attention(gm)[1] == 0


def test_heads_that_are_broadcast_are_left_alone() -> None:
    q, k, v = heads()
    assert fused(EQUAL["plain"], q, k[:, :1], v)[2] == 0


def test_gradients_are_the_same() -> None:
    ((gm, inputs),) = captured(EQUAL["causal"], *(tensor.requires_grad_() for tensor in heads()))
    graph, _ = fuse_attention(gm)
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    assert len(wanted) == 3
    found = [torch.autograd.grad(one(*inputs)[0].square().sum(), wanted) for one in (gm, graph)]
    assert_same(found[1], found[0])


def test_the_captured_graph_is_left_alone() -> None:
    ((gm, _),) = captured(EQUAL["plain"], *heads())
    before = [node.format_node() for node in gm.graph.nodes]
    fuse_attention(gm)
    assert [node.format_node() for node in gm.graph.nodes] == before


class Block(nn.Module):
    """Attention with the forms that are drawn: where the factor stands, what hides, how many heads."""

    def __init__(self, factor: float, is_on_query: bool, is_additive: bool) -> None:
        super().__init__()
        self.factor, self.is_on_query, self.is_additive = factor, is_on_query, is_additive

    def forward(self, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
        scores = (q * self.factor) @ k.mT if self.is_on_query else torch.matmul(q, k.mT) * self.factor
        fill = torch.zeros_like(hidden, dtype=q.dtype).masked_fill(hidden, -math.inf)
        scores = scores + fill if self.is_additive else scores.masked_fill(hidden, -math.inf)
        return softmax(scores).matmul(v)


@settings(max_examples=25, deadline=None)
@given(
    st.floats(-2, 2).filter(lambda factor: abs(factor) > 1e-3),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**31),
)
def test_any_factor_and_any_mask_that_shows_something_give_the_same(
    factor: float, is_on_query: bool, is_additive: bool, seed: int
) -> None:
    torch.manual_seed(seed)
    hidden = torch.rand(L, L) < 0.5
    hidden.fill_diagonal_(False)
    expected, found, count = fused(Block(factor, is_on_query, is_additive), *heads(), hidden)
    assert count == 1
    assert_same(found, expected)
