"""unfused_attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from analyzer.core.finding import Finding
from analyzer.rules.remedies import tried_by
from analyzer.rules.unfused_attention import judge
from tests.op_logs import a_tensor, an_op, an_op_log, logged
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


def remedy(step: Callable[[torch.Tensor], torch.Tensor], scale: float | None = 0.25) -> str:
    """For scores that `step` changes before the softmax; 1/sqrt(d) is a quarter here."""

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2)
        return torch.softmax(step(scores if scale is None else scores * scale), -1) @ v

    (finding,) = found(attention)
    said = finding.remedy.removesuffix(f"; {tried_by('fused_attention')}")
    assert said != finding.remedy
    return said.removeprefix("torch.nn.functional.scaled_dot_product_attention")


def test_the_remedy_masks_only_what_was_masked() -> None:
    mask, bias = torch.ones(64, 64, dtype=torch.bool), torch.randn(64, 64)

    def causal(scores: torch.Tensor) -> torch.Tensor:
        return scores.masked_fill(torch.ones(64, 64).tril() == 0, -math.inf)

    def band(scores: torch.Tensor) -> torch.Tensor:
        return scores.masked_fill(torch.ones(64, 64).tril().triu(-8) == 0, -math.inf)

    assert remedy(lambda scores: scores) == "(q, k, v)"
    assert remedy(causal).startswith("(q, k, v, is_causal=True); with attn_mask=mask instead if")
    assert all("is_causal" not in remedy(step) for step in (band, lambda s: s + bias, lambda s: causal(s) + bias))
    for step in (band, lambda s: s + bias, lambda s: torch.where(mask, s, -1e9), lambda s: causal(s) + bias):
        assert remedy(step).startswith("(q, k, v, attn_mask=mask)")


def test_the_remedy_keeps_the_scale() -> None:
    assert remedy(lambda scores: scores, scale=None) == "(q, k, v, scale=1)"
    assert remedy(lambda scores: scores, scale=0.5) == "(q, k, v, scale=0.5)"
    assert remedy(lambda scores: scores / 2, scale=0.5) == "(q, k, v)"
    assert remedy(lambda scores: scores * torch.tensor(0.5)) == "(q, k, v); scale= is what the scores are multiplied by"


def test_two_attentions_of_one_line_keep_their_own_remedies() -> None:
    q = a_tensor(8, 64, 16, device="cpu")
    scores = a_tensor(8, 64, 64, device="cpu")
    mask = a_tensor(64, 64, device="cpu")
    product, softmax = an_op("bmm", (q, q), (scores,)), an_op("_softmax", (scores,), (scores,), values=("-1", "False"))
    quarter, add = an_op("mul", (scores,), (scores,), values=("0.25",)), an_op("add", (scores, mask), (scores,))
    end, apart = an_op("bmm", (scores, q), (q,)), [an_op("relu", (q,), (q,))] * 30
    log = an_op_log(product, quarter, softmax, end, *apart, product, quarter, add, softmax, end)
    (finding,) = judge(facts(ops=log))
    assert finding.remedy.count("scaled_dot_product_attention(q, k, v)") == 1
    assert finding.remedy.count("scaled_dot_product_attention(q, k, v, attn_mask=mask)") == 1


def test_scores_changed_in_a_way_that_no_option_has_are_told_so() -> None:
    assert "flex_attention" in remedy(lambda scores: torch.tanh(scores / 50) * 50)
    assert "aten::tanh" in remedy(lambda scores: torch.tanh(scores / 50) * 50)


def test_a_mask_whose_call_stands_elsewhere_in_the_log_is_not_left_out() -> None:
    log = logged(by_hand, Q, Q + 1, Q + 2)
    calls = tuple(replace(call, first=-1) if call.op == "aten::add" else call for call in log.calls)
    (finding,) = judge(facts(ops=replace(log, calls=calls)))
    assert "attn_mask=mask" in finding.remedy


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
