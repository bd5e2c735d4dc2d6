"""Changes of meaning made in a captured graph: what they do, when they are refused, and what stays as it was."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from analyzer.core.graphs import Direction
from analyzer.core.trial import AccuracyReference
from collectors import torch_compat
from optimizers.accuracy import judge_of
from optimizers.allowances import CHANGED_LIMIT, CHANGED_UNITS, allowed_for
from optimizers.candidates.base import RefusedError
from optimizers.candidates.pair import changes_of, pair_of
from optimizers.changed_graph import FIXED_LAYOUT, NO_ATTENTION, NO_CONVOLUTIONS, NO_HALF, NO_PRODUCTS, changed_graph
from optimizers.quantized_graph import NO_TORCHAO
from tests.unit.optimizers.candidates_compiled import assert_same, compiled
from tests.workloads import captured

SAME = torch.Generator().manual_seed(0)
"""Of values by chance one ReLU stands at its corner now and then, and half a gradient is rounded away."""
IMAGE = torch.randn(2, 3, 8, 8, generator=SAME)
ROWS = torch.randn(4, 16, generator=SAME)


class Convolved(nn.Module):
    def __init__(self, *, is_plain: bool = False) -> None:
        super().__init__()
        self.is_plain = is_plain
        self.first, self.norm, self.second = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Conv2d(8, 4, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        inner = self.second(torch.relu(self.norm(self.first(x))))
        return inner, inner.flatten(1) if self.is_plain else inner.view(x.shape[0], -1)


def changed(model: Any, change: str, *args: Tensor) -> tuple[Any, Any]:
    """What the captured graph gives and what the changed one does."""
    ((gm, inputs),) = captured(model, *args)
    before = [node.format_node() for node in gm.graph.nodes]
    graph = changed_graph(gm, (change,))
    assert [node.format_node() for node in gm.graph.nodes] == before
    return gm(*inputs), graph(*inputs)


def facts(results: Any) -> list[tuple[torch.dtype, torch.Size, tuple[int, ...]]]:
    return [(tensor.dtype, tensor.shape, tensor.stride()) for tensor in results]


@pytest.mark.parametrize("change", ["channels_last", "bf16"])
def test_what_a_changed_graph_returns_has_the_types_and_strides_that_it_had(change: str) -> None:
    before, after = changed(Convolved().eval(), change, IMAGE)
    assert facts(after) == facts(before)
    error = ((after[0] - before[0]).norm() / before[0].norm()).item()
    assert (1e-4 < error < allowed_for(("bf16",))) if change == "bf16" else error < 1e-5


def test_channels_last_reaches_the_convolutions() -> None:
    ((gm, inputs),) = captured(Convolved().eval(), IMAGE)
    seen: list[bool] = []

    class Watching(torch.fx.Interpreter):
        def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
            if target is torch.conv2d:
                seen.extend(tensor.is_contiguous(memory_format=torch.channels_last) for tensor in args[:2])
            return super().call_function(target, args, kwargs)

    Watching(changed_graph(gm, ("channels_last",))).run(*inputs)
    assert seen == [True] * 4


def test_a_model_in_the_layout_already_is_left_alone() -> None:
    model = Convolved(is_plain=True).eval().to(memory_format=torch.channels_last)
    ((gm, _),) = captured(model, IMAGE.to(memory_format=torch.channels_last))
    with pytest.raises(RefusedError) as refused:
        changed_graph(gm, ("channels_last",))
    assert str(refused.value) == NO_CONVOLUTIONS


def written(x: Tensor) -> Tensor:
    return torch.conv2d(x, torch.ones(2, 3, 3, 3)).as_strided((4,), (1,))


@pytest.mark.parametrize(
    ("function", "args", "change", "reason"),
    [
        (lambda x: x * 2, (ROWS,), "bf16", NO_HALF),
        (lambda x: x @ x.mT, (ROWS.double(),), "bf16", NO_HALF),
        (lambda x: torch.conv2d(x, x[:, :, :3, :3]), (IMAGE,), "tf32", NO_PRODUCTS),
        (lambda x: x @ x.mT, (ROWS,), "channels_last", NO_CONVOLUTIONS),
        (lambda x: x @ x.mT, (ROWS,), "fused_attention", NO_ATTENTION),
        (written, (IMAGE,), "channels_last", FIXED_LAYOUT),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_would_change_nothing_is_refused_with_the_reason(
    function: Any, args: tuple[Tensor, ...], change: str, reason: str
) -> None:
    ((gm, _),) = captured(function, *args)
    with pytest.raises(RefusedError) as refused:
        changed_graph(gm, (change,))
    assert str(refused.value) == reason


def test_tf32_is_set_around_a_call_and_put_back_whatever_it_raises() -> None:
    seen: list[str] = []

    def call(inputs: list[int]) -> int:
        seen.append(torch.get_float32_matmul_precision())
        return 1 // inputs[0]

    before = torch.get_float32_matmul_precision()
    wrapped = torch_compat.under_tf32(call)
    assert wrapped([1]) == 1
    with pytest.raises(ZeroDivisionError):
        wrapped([0])
    assert seen == ["high", "high"]
    assert torch.get_float32_matmul_precision() == before


class Products(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x))) if x.dim() == 2 else x


@pytest.mark.slow
def test_changes_are_compiled_alone_and_with_a_way_to_launch_and_to_make_kernels() -> None:
    model = Products().eval()
    ids = ("bf16", "bf16+cpp_wrapper", "bf16+frozen", "int8")
    with torch.no_grad(), compiled(model, (ROWS,), ids) as one:
        expected = model(ROWS)
        assert_same(one.under("fused", ROWS), expected)
        for candidate in ids[:3]:
            found = one.under(candidate, ROWS)
            error = float((found - expected).norm() / expected.norm())
            assert found.dtype is torch.float32
            assert 1e-4 < error < allowed_for(("bf16",)), candidate
        if importlib.util.find_spec("torchao") is None:
            assert one.refusal("int8") == NO_TORCHAO


@pytest.mark.slow
def test_gradients_of_a_changed_graph_reach_the_float32_weights() -> None:
    model = Products()
    with compiled(model, (ROWS,), ("bf16",)) as one:
        grads = []
        for candidate in ("fused", "bf16"):
            model.zero_grad(set_to_none=True)
            one.under(candidate, ROWS).square().sum().backward()
            grads.append([p.grad for p in model.parameters() if p.grad is not None])
    for exact, found in zip(*grads, strict=True):
        assert found.dtype is torch.float32
        assert 0 < float((found - exact).norm() / exact.norm()) < allowed_for(("bf16",))


# -- accuracy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ((), 0.0),
        (("channels_last", "fused_attention"), 0.0),
        (("tf32",), CHANGED_UNITS * 2.0**-11),
        (("bf16", "channels_last"), CHANGED_UNITS * torch.finfo(torch.bfloat16).eps / 2),
        (("fp8",), CHANGED_LIMIT),
    ],
)
def test_a_change_may_cost_so_many_units_of_its_own_rounding(changes: tuple[str, ...], allowed: float) -> None:
    assert allowed_for(changes) == pytest.approx(allowed)


@pytest.mark.parametrize(
    ("error", "changes", "is_right"), [(0.05, ("bf16",), True), (0.05, (), False), (0.07, ("bf16",), False)]
)
def test_results_are_right_within_what_their_change_may_cost_and_wrong_beyond(
    error: float, changes: tuple[str, ...], is_right: bool
) -> None:
    truth = torch.randn(1000, dtype=torch.float64)
    eager = truth.float()
    judge = judge_of(((("output", eager),),) * 3, AccuracyReference.FLOAT64, (("output", truth),))
    accuracy = judge.judge((("output", eager * (1 + error)),), changes)
    assert accuracy.is_right is is_right
    assert accuracy.error == pytest.approx(error, rel=1e-3)
    assert accuracy.allowed == pytest.approx(allowed_for(changes) if changes else accuracy.allowed)


def test_forward_and_backward_change_together() -> None:
    assert changes_of(["bf16+cpp_wrapper", "fused/cpp_wrapper"]) == ("bf16",)
    refusal = pair_of("fused/bf16").refusal("cpu", Direction.FORWARD)
    assert refusal is not None
    assert "together" in refusal
