"""layout_churn."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from analyzer.core.finding import Finding
from analyzer.rules.layout_churn import judge
from tests.op_logs import logged
from tests.rule_facts import facts

X = torch.randn(2, 32, 16, 24)


def found(step: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor = X) -> tuple[Finding, ...]:
    return judge(facts(ops=logged(step, x)))


def channels_last_and_back(x: torch.Tensor) -> torch.Tensor:
    return x.to(memory_format=torch.channels_last).relu().contiguous()


def permuted_and_back(x: torch.Tensor) -> torch.Tensor:
    y = nn.functional.layer_norm(x.permute(0, 2, 3, 1).contiguous(), (32,))
    return y.permute(0, 3, 1, 2).contiguous()


@pytest.mark.parametrize("step", [channels_last_and_back, permuted_and_back])
def test_a_copy_and_its_reverse_are_one_finding(step: Callable[[torch.Tensor], torch.Tensor]) -> None:
    (finding,) = found(step)
    assert finding.where is not None
    assert finding.where.function == step.__name__


def one_way(x: torch.Tensor) -> torch.Tensor:
    return x.to(memory_format=torch.channels_last).relu()


def twice_the_same_way(x: torch.Tensor) -> torch.Tensor:
    return x.permute(0, 2, 3, 1).contiguous() + (x + 1).permute(0, 2, 3, 1).contiguous()


def plain_copies(x: torch.Tensor) -> torch.Tensor:
    return x.clone() + x.contiguous().clone()


def attention(x: torch.Tensor) -> torch.Tensor:
    q = x.transpose(1, 2)
    weights = torch.softmax(q @ q.transpose(-1, -2), -1)
    return (weights @ q).transpose(1, 2).reshape(2, 32, -1)


@pytest.mark.parametrize("step", [one_way, twice_the_same_way, plain_copies, attention])
def test_copies_without_a_reverse_and_those_of_products_are_none(step: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert found(step) == ()


def test_a_small_tensor_is_left_out() -> None:
    assert found(channels_last_and_back, X[:, :4, :4, :5].contiguous()) == ()


def test_as_many_round_trips_are_counted_as_were_made() -> None:
    def loops(x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = channels_last_and_back(x)
        return x

    (finding,) = found(loops)
    assert finding.count == 3
