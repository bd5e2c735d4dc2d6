"""moe_expert_loop."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from analyzer.rules.moe_expert_loop import judge
from tests.op_logs import logged
from tests.rule_facts import facts


class Mixture(nn.Module):
    """Experts in a loop, as `nonzero` with `index_add_`, or with a boolean mask."""

    def __init__(self, experts: int, form: str) -> None:
        super().__init__()
        self.router = nn.Linear(16, experts)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(experts))
        self.form = form

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, chosen = self.router(x).softmax(-1).max(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            if self.form == "mask":
                mask = chosen == number
                out[mask] = expert(x[mask]) * weight[mask, None]
            else:
                (rows,) = torch.where(chosen == number)
                out.index_add_(0, rows, expert(x[rows]) * weight[rows, None])
        return out


class Batched(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(8, 16, 16))
        self.router = nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share = self.router(x).softmax(-1)
        return torch.einsum("nd,edf,ne->nf", x, self.weights, share)


class Masked(nn.Module):
    """Many boolean masks, and one set of weights: no experts."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for bound in range(8):
            mask = x[:, 0] > bound / 8
            x[mask] = self.layer(x[mask])
        return x


class Layers(nn.Module):
    """One choice of rows in each of many layers, with or without an argmax: no experts either."""

    def __init__(self, routes: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(8))
        self.routes = routes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            mask = x.argmax(-1) > 3 if self.routes else x[:, 0] > 0
            x[mask] = layer(x[mask])
        return x


class Stacked(nn.Module):
    """The weights of all experts in one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.weights = nn.Linear(16, 8), nn.Parameter(torch.randn(8, 16, 16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen, out = self.router(x).argmax(-1), torch.zeros_like(x)
        for number in range(8):
            (rows,) = torch.where(chosen == number)
            out.index_add_(0, rows, x[rows] @ self.weights[number])
        return out


def test_experts_in_one_stacked_parameter_are_told_apart() -> None:
    assert len(judge(facts(ops=logged(Stacked(), torch.randn(64, 16))))) == 1


@pytest.mark.parametrize("routes", [False, True])
def test_one_choice_in_each_layer_is_none(routes: bool) -> None:
    assert judge(facts(ops=logged(Layers(routes), torch.randn(64, 16)))) == ()


@pytest.mark.parametrize("form", ["mask", "rows"])
def test_experts_in_a_loop_are_found_once(form: str) -> None:
    (finding,) = judge(facts(ops=logged(Mixture(8, form), torch.randn(64, 16))))
    assert finding.where is not None
    assert finding.where.function == "forward"
    assert f"{16 if form == 'mask' else 8} times" in finding.message


def test_few_experts_a_batched_product_and_masks_alone_are_none() -> None:
    assert judge(facts(ops=logged(Mixture(2, "mask"), torch.randn(64, 16)))) == ()
    assert judge(facts(ops=logged(Batched(), torch.randn(64, 16)))) == ()
    assert judge(facts(ops=logged(Masked(), torch.randn(64, 16)))) == ()
