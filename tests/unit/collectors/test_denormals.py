"""Denormal numbers, counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from collectors.denormals import DenormalCount
from tests.op_logs import logged

TINY = 1e-39


def counted(tensor: torch.Tensor) -> float | None:
    """The share found in one tensor; None where it was not looked at."""
    count = DenormalCount()
    count.look(tensor, "x", None)
    facts = count.facts()
    return facts.denormal / facts.looked_at if facts.looked_at else None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_share_is_that_of_the_elements(dtype: torch.dtype) -> None:
    values = torch.ones(100)
    values[:25] = TINY
    values[25:50] = 0.0
    assert counted(values.to(dtype)) == pytest.approx(0.25)


def test_zeros_infinities_and_the_smallest_normal_number_are_none() -> None:
    limits = torch.finfo(torch.float32)
    assert counted(torch.tensor([0.0, -0.0, limits.tiny, -limits.tiny, torch.inf, torch.nan])) == 0.0


def test_float64_has_its_own_limit() -> None:
    assert counted(torch.full((4,), TINY, dtype=torch.float64)) == 0.0
    assert counted(torch.full((4,), 1e-310, dtype=torch.float64)) == 1.0


def test_a_large_tensor_is_sampled_evenly() -> None:
    values = torch.ones(1_000_000)
    values[500_000:] = TINY
    assert counted(values) == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.empty(0),
        torch.ones(4, dtype=torch.int64),
        torch.full((4,), 1e-6, dtype=torch.float16),
        torch.ones(1).expand(9),
    ],
)
def test_what_holds_none_or_cannot_be_walked_is_not_looked_at(tensor: torch.Tensor) -> None:
    assert counted(tensor) is None


def test_a_transposed_tensor_is_walked_in_the_order_of_memory() -> None:
    values = torch.ones(4, 6)
    values[0] = TINY
    assert counted(values.t()) == pytest.approx(0.25)


def test_flushed_denormals_are_not_found() -> None:
    values = torch.full((8,), TINY)
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot flush denormals")
    try:
        assert counted(values) == 0.0
    finally:
        torch.set_flush_denormal(False)


def test_a_decayed_weight_is_named_and_the_cpu_measured() -> None:
    layer = nn.Linear(64, 64, bias=False)
    with torch.no_grad():
        layer.weight.fill_(TINY)
    found = logged(layer, torch.rand(4, 64)).denormals
    assert found is not None
    worst = max(found.tensors, key=lambda tensor: tensor.share)
    assert (worst.what, worst.share) == ("parameter weight", 1.0)
    assert found.slowdown is not None
    assert found.slowdown > 0


def test_a_fresh_model_has_none_and_nothing_is_measured_for_it() -> None:
    found = logged(nn.Linear(64, 64), torch.rand(4, 64)).denormals
    assert found is not None
    assert found.looked_at > 4096
    assert (found.denormal, found.tensors, found.slowdown) == (0, (), None)
