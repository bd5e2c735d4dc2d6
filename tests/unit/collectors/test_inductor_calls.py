"""What a compiled graph calls, in order: of real compilations, the same from a warm cache and with a C++ wrapper."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from analyzer.core.graphs import CallOrder, LibraryCall
from collectors import torch_compat
from collectors.inductor_calls import Calls, call_of
from tests.compiled_graphs import output_codes


@pytest.fixture(autouse=True)
def nothing_compiled() -> Iterator[None]:
    torch_compat.reset()
    yield
    torch_compat.reset()


def order_of(function: Callable[..., Any], *args: Any, **patches: object) -> CallOrder | None:
    (code,) = output_codes(function, *args, **patches)
    return torch_compat.call_order(code)


def two_products(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return torch.addmm(c, torch.relu(a), b).tanh() @ b.t()


A, B, C = torch.ones(8, 16), torch.ones(16, 4), torch.ones(4)


@pytest.mark.parametrize("patches", [{}, {"cpp_wrapper": True}], ids=["python", "cpp"])
def test_products_lie_between_generated_kernels_with_the_inputs_that_a_profiler_tells(patches: dict[str, Any]) -> None:
    order = order_of(two_products, A, B, C, **patches)
    assert order is not None
    first, second = order.calls
    assert order.called() == ("cpp_fused_relu_0", first, "cpp_fused_tanh_1", second)
    assert (first.op, first.shapes[:3], first.values) == (
        "aten::addmm",
        ((4,), (8, 16), (16, 4)),
        ("", "", "", "1", "1"),
    )
    assert (second.op, second.shapes, second.strides) == ("aten::mm", ((8, 4), (4, 16)), ((4, 1), (1, 4)))
    assert second.dtypes == ("float32", "float32")


def test_a_graph_from_the_cache_tells_the_same() -> None:
    # A number of this run's own: no cache has this graph before.
    own = uuid.uuid4().int % 1_000_003 / 7

    def run(a: Tensor, b: Tensor) -> Tensor:
        return (a * own) @ b + own

    fresh = order_of(run, A, B, fx_graph_cache=True)
    torch_compat.reset()
    assert fresh == order_of(run, A, B, fx_graph_cache=True)
    assert fresh is not None
    assert [call.op for call in fresh.calls] == ["aten::mm"]


def test_equal_calls_are_told_once() -> None:
    def run(a: Tensor) -> Tensor:
        for _ in range(3):
            a = (a @ a).relu()
        return a

    order = order_of(run, torch.ones(8, 8))
    assert order is not None
    assert len(order.calls) == 1
    assert [call for call in order.called() if not isinstance(call, str)] == [order.calls[0]] * 3


def test_a_convolution_and_attention_are_told_with_their_arguments() -> None:
    def run(x: Tensor, weight: Tensor, query: Tensor) -> tuple[Tensor, Tensor]:
        return F.conv2d(x, weight, padding=1), F.scaled_dot_product_attention(query, query, query) * 2

    order = order_of(run, torch.ones(1, 3, 8, 8), torch.ones(4, 3, 3, 3), torch.ones(1, 2, 8, 16))
    assert order is not None
    by_name = {call.op: call for call in order.calls}
    assert by_name["aten::convolution"].values[4] == "[1, 1]"
    (attention,) = (call for name, call in by_name.items() if "attention" in name)
    assert attention.shapes[0] == (1, 2, 8, 16)


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this build of torch has no MKL")
def test_a_product_with_a_packed_weight_is_told_with_the_weight_that_was_packed() -> None:
    layer = torch.nn.Linear(16, 32).eval()
    order = order_of(lambda x: layer(x).tanh(), A, freezing=True)
    assert order is not None
    (call,) = order.calls
    assert call.op in ("mkl::_mkl_linear", "mkldnn::_linear_pointwise", "aten::addmm")
    assert {(8, 16), (32,)} <= set(call.shapes)


def test_a_graph_without_a_library_or_with_a_branch_tells_no_order() -> None:
    def branch(a: Tensor, b: Tensor) -> Any:
        return torch.cond(a.sum() > 0, lambda a, b: a @ b, lambda a, b: (a + 1) @ b, (a, b))

    assert order_of(lambda a: torch.relu(a) + 1, A) is None
    assert order_of(branch, A, B) is None


def test_a_call_of_unknown_sizes_keeps_its_place() -> None:
    a, b = torch.ones(9, 16), torch.ones(16, 5)
    torch._dynamo.mark_dynamic(a, 0)
    order = order_of(lambda a, b: (a.relu() @ b).tanh(), a, b)
    assert order is not None
    assert [(call.op, call.shapes) for call in order.calls] == [("aten::mm", ())]
    assert len(order.order) == 3


def test_a_call_of_unknown_origin_still_has_its_operators_name() -> None:
    node = SimpleNamespace(
        op_overload=torch.ops.aten.mm.default,
        python_kernel_name="extern_kernels.mm",
        get_origin_node=lambda: None,
        get_origins=tuple,
    )
    assert call_of(node) == LibraryCall("aten::mm")
    assert call_of(SimpleNamespace(**{**vars(node), "op_overload": None})) == LibraryCall("extern_kernels.mm")


def test_no_note_is_left_among_torchs_counters() -> None:
    order_of(two_products, A, B, C)
    assert not [name for name in torch._dynamo.utils.counters["inductor"] if "graphbound" in str(name)]


def test_a_node_that_cannot_be_read_leaves_the_order_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def trips(self: Calls, node: Any) -> None:
        raise RuntimeError("a node of a later torch")

    monkeypatch.setattr(Calls, "library", trips)
    assert order_of(two_products, A, B, C) is None
