"""unfused_attention."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from analyzer.core.finding import Finding
from analyzer.rules.unfused_attention import judge
from tests.op_logs import logged
from tests.reports import at
from tests.rule_facts import a_captured_graph, a_device, captured, facts

Q = torch.randn(2, 4, 64, 16)


def found(step: Callable[..., object], *inputs: torch.Tensor) -> tuple[Finding, ...]:
    return judge(facts(ops=logged(step, *(inputs or (Q, Q + 1, Q + 2)))))


def by_hand(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    mask = torch.full((64, 64), -math.inf).triu(1)
    return torch.softmax(q @ k.transpose(-1, -2) / 4 + mask, -1) @ v


def with_einsum(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = torch.einsum("bhsd,bhtd->bhst", q, k).masked_fill(torch.ones(64, 64, dtype=torch.bool).triu(1), -math.inf)
    return torch.einsum("bhst,bhtd->bhsd", scores.softmax(-1), v)


def in_float32(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = (q.bfloat16() @ k.bfloat16().transpose(-1, -2)).float() * 0.25
    weights = nn.functional.dropout(torch.softmax(scores, dim=-1), 0.1, training=True)
    return weights.bfloat16() @ v.bfloat16()


@pytest.mark.parametrize("step", [by_hand, with_einsum, in_float32])
def test_a_written_out_attention_is_found_at_its_softmax(step: Callable[..., object]) -> None:
    (finding,) = found(step)
    assert finding.where is not None
    assert finding.where.function == step.__name__
    assert "scaled_dot_product_attention" in finding.remedy


def fused(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def fallen_back(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return nn.functional.scaled_dot_product_attention(q, k, v)


def over_another_dimension(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(-1, -2), 1) @ v


@pytest.mark.parametrize("step", [fused, fallen_back, over_another_dimension])
def test_torchs_own_attention_and_another_softmax_are_none(step: Callable[..., object]) -> None:
    assert found(step) == ()


def test_a_router_is_no_attention() -> None:
    class Router(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.keys, self.values = nn.Parameter(torch.randn(16, 64)), nn.Parameter(torch.randn(64, 16))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x @ self.keys, -1) @ self.values

    assert found(Router(), torch.randn(64, 16)) == ()


def test_scores_that_are_small_beside_the_inputs_are_none() -> None:
    one_query = torch.randn(2, 4, 1, 16)
    assert found(lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2), -1) @ v, one_query, Q, Q) == ()


def test_multihead_attention_that_returns_its_weights_is_found_with_its_own_remedy() -> None:
    layer = nn.MultiheadAttention(16, 2, batch_first=True)
    x = torch.randn(2, 64, 16)
    (finding,) = found(lambda x: layer(x, x + 1, x)[0], x)
    assert "need_weights=False" in finding.remedy
    assert found(lambda x: layer(x, x + 1, x, need_weights=False)[0], x) == ()


def test_its_cost_is_known_outside_graphs_only() -> None:
    (plain,) = found(by_hand)
    assert plain.where is not None
    device = a_device(memory_bytes_per_s=1e12, l2_bytes=1024)
    log = logged(by_hand, Q, Q + 1, Q + 2)
    (outside,) = judge(facts(ops=log, device=device))
    assert outside.ns_per_step == round(4 * (2 * 4 * 64 * 64 * 4) / 1e12 * 1e9)
    inside = captured(a_captured_graph(source=(at(f"{plain.where.file}:{plain.where.line}"),)))
    (replaced,) = judge(facts(ops=log, device=device, capture=inside))
    assert replaced.ns_per_step is None
