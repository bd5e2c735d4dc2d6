"""float64_leak."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from analyzer.core.finding import Finding
from analyzer.rules.float64_leak import judge
from tests.op_logs import logged
from tests.rule_facts import facts


class Scaled(nn.Module):
    def __init__(self, scale: torch.Tensor) -> None:
        super().__init__()
        self.layer = nn.Linear(128, 128)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x) * self.scale
        return y.relu() + 1


def found(model: nn.Module, *inputs: torch.Tensor) -> tuple[Finding, ...]:
    return judge(facts(ops=logged(model, *inputs)))


def test_a_numpy_array_that_widens_the_activations_is_found_where_it_enters() -> None:
    (finding,) = found(Scaled(torch.from_numpy(np.ones(128))), torch.randn(64, 128))
    assert finding.where is not None
    assert finding.where.line == Scaled.forward.__code__.co_firstlineno + 1
    assert "3 operators" in finding.message


def test_float32_alone_and_a_number_in_float64_are_none() -> None:
    assert found(Scaled(torch.ones(128)), torch.randn(64, 128)) == ()
    assert found(Scaled(torch.tensor(2.0, dtype=torch.float64)), torch.randn(64, 128)) == ()


def test_a_model_in_float64_is_meant_to_be() -> None:
    assert found(Scaled(torch.ones(128)).double(), torch.randn(64, 128).double()) == ()


def test_a_small_tensor_in_float64_is_left_out() -> None:
    assert found(Scaled(torch.ones(128, dtype=torch.float64)), torch.randn(2, 128)) == ()


def test_an_input_in_float64_is_found_where_it_is_first_used() -> None:
    class Adds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(128, 128)

        def forward(self, x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            return self.layer(x), bias.sin().float()

    (finding,) = found(Adds(), torch.randn(64, 128), torch.randn(64, 128).double())
    assert finding.where is not None
    assert finding.where.function == "forward"
