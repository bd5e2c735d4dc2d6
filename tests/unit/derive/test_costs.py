"""Operations and bytes agree with torch's own counter, and with arithmetic done by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from analyzer.core.trace import EventKind, OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.table import cost_of
from analyzer.derive.nesting import NOBODY, parents
from collectors.readers.kineto import read_trace

FLOAT = 4


def _grad(function: Callable[[torch.Tensor], torch.Tensor], *shape: int) -> Callable[[], None]:
    def run() -> None:
        x = torch.randn(*shape, requires_grad=True)
        function(x).sum().backward()

    return run


CASES: dict[str, Callable[[], object]] = {
    "mm": lambda: torch.mm(torch.randn(8, 16), torch.randn(16, 4)),
    "addmm": lambda: torch.addmm(torch.randn(4), torch.randn(8, 16), torch.randn(16, 4)),
    "bmm": lambda: torch.bmm(torch.randn(3, 8, 16), torch.randn(3, 16, 4)),
    "baddbmm": lambda: torch.baddbmm(torch.randn(3, 8, 4), torch.randn(3, 8, 16), torch.randn(3, 16, 4)),
    "linear": lambda: F.linear(torch.randn(2, 5, 16), torch.randn(8, 16), torch.randn(8)),
    "matmul": lambda: torch.randn(2, 5, 16) @ torch.randn(2, 16, 3),
    "linear backward": _grad(lambda x: F.linear(x, torch.randn(8, 16, requires_grad=True)), 4, 16),
    "conv1d": lambda: F.conv1d(torch.randn(2, 3, 20), torch.randn(5, 3, 3), stride=2),
    "conv2d": lambda: F.conv2d(torch.randn(2, 3, 16, 12), torch.randn(8, 3, 3, 5), stride=2, padding=(1, 2)),
    "dilated": lambda: F.conv2d(torch.randn(1, 4, 16, 16), torch.randn(8, 4, 3, 3), dilation=2),
    "grouped": lambda: F.conv2d(torch.randn(2, 8, 9, 9), torch.randn(8, 1, 3, 3), groups=8, padding=1),
    "conv3d": lambda: F.conv3d(torch.randn(1, 2, 6, 6, 6), torch.randn(3, 2, 2, 2, 2)),
    "transposed": lambda: F.conv_transpose2d(torch.randn(1, 4, 7, 7), torch.randn(4, 6, 3, 3), stride=2),
    "conv backward": _grad(
        lambda x: F.conv2d(x, torch.randn(8, 3, 3, 3, requires_grad=True), padding=1, stride=2), 2, 3, 12, 12
    ),
}


def _counted_from_the_trace(function: Callable[[], object], path: Path) -> int:
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as recorded:
        function()
    recorded.export_chrome_trace(str(path))
    trace = read_trace(path)
    ops = trace.rows(EventKind.CPU_OP)
    parent = parents(trace, ops)
    costs = {int(r): cost_of(trace.name(int(r)), trace.detail(int(r))) for r in ops}
    flops = {row: cost.flops or 0 for row, cost in costs.items() if cost is not None}
    # Only the innermost operator with a count does the arithmetic: `aten::linear` calls `aten::addmm`.
    callers = set()
    for row in (r for r, count in flops.items() if count):
        above = int(parent[row])
        while above != NOBODY:
            callers.add(above)
            above = int(parent[above])
    return sum(count for row, count in flops.items() if row not in callers)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_the_operations_read_from_a_trace_are_those_that_torch_counts(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    with FlopCounterMode(display=False) as counter:
        CASES[name]()
    assert counter.get_total_flops() > 0
    assert _counted_from_the_trace(CASES[name], tmp_path / "trace.json") == counter.get_total_flops()


@pytest.mark.filterwarnings("ignore")
def test_the_operations_of_attention_are_those_of_torchs_formula(tmp_path: Path) -> None:
    # The counter itself has no entry for the CPU's fused attention, so that its formulas are asked directly.
    shape = (2, 4, 16, 8)
    forward = sdpa_flop_count(shape, shape, shape)
    backward = sdpa_backward_flop_count(shape, shape, shape, shape)
    run = _grad(lambda x: F.scaled_dot_product_attention(x, x, x), *shape)
    assert _counted_from_the_trace(run, tmp_path / "trace.json") == forward + backward


def _work(cost: Cost | None) -> tuple[int | None, int, str | None] | None:
    return None if cost is None else (cost.flops, cost.bytes, cost.dtype)


def _detail(*inputs: tuple[tuple[int, ...], str], values: tuple[str, ...] = ()) -> OpDetail:
    return OpDetail(shapes=tuple(s for s, _ in inputs), dtypes=tuple(d for _, d in inputs), values=values)


def test_a_product_reads_both_matrices_and_writes_one() -> None:
    detail = _detail(((8, 16), "c10::BFloat16"), ((16, 4), "c10::BFloat16"))
    assert _work(cost_of("aten::mm", detail)) == (2 * 8 * 16 * 4, 2 * (8 * 16 + 16 * 4 + 8 * 4), "bfloat16")


def test_a_broadcast_bias_is_read_once() -> None:
    detail = OpDetail(
        shapes=((8, 4), (8, 16), (16, 4)),
        strides=((0, 1), (16, 1), (4, 1)),
        dtypes=("float", "float", "float"),
    )
    cost = cost_of("aten::addmm", detail)
    assert cost is not None
    assert cost.bytes == FLOAT * (4 + 8 * 16 + 16 * 4 + 8 * 4)


def test_a_convolution_moves_input_weight_and_output() -> None:
    values = ("", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1")
    inputs = (((2, 3, 16, 16), "float"), ((8, 3, 3, 3), "float"), ((8,), "float"))
    others = (((), "ScalarList"),) * 6
    cost = cost_of("aten::convolution", _detail(*inputs, *others, values=values))
    assert cost is not None
    assert cost.bytes == FLOAT * (2 * 3 * 16 * 16 + 8 * 3 * 3 * 3 + 8 + 2 * 8 * 8 * 8)
    assert cost.flops == 2 * (2 * 8 * 8 * 8) * (3 * 3 * 3)


def test_a_gradient_that_is_not_wanted_costs_nothing() -> None:
    tensors = (((4, 8, 16, 16), "float"), ((4, 3, 16, 16), "float"), ((8, 3, 3, 3), "float"))
    shapes = _detail(*tensors, *((((), "ScalarList"),) * 8))

    def cost(mask: str) -> Cost:
        values = ("", "", "", "[8]", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1", mask)
        found = cost_of("aten::convolution_backward", OpDetail(shapes.shapes, (), shapes.dtypes, values))
        assert found is not None
        return found

    assert cost("[True, True, True]").flops == 2 * cost("[False, True, True]").flops
    assert cost("[False, False, True]").flops == 0


def test_a_causal_mask_halves_attention() -> None:
    tensors = (((1, 2, 64, 8), "c10::Half"),) * 3
    tail = (((), "Scalar"),) * 2

    def flops(is_causal: bool) -> int:
        detail = _detail(*tensors, *tail, values=("", "", "", "0.", str(is_causal)))
        cost = cost_of("aten::_scaled_dot_product_flash_attention", detail)
        assert cost is not None
        return cost.flops

    assert flops(False) == 4 * 2 * 64 * 64 * 8
    assert flops(True) == 4 * 2 * (64 * 65 // 2) * 8


def test_grouped_queries_share_keys() -> None:
    detail = _detail(((1, 8, 64, 16), "c10::Half"), *(((1, 2, 64, 16), "c10::Half"),) * 2)
    cost = cost_of("aten::_scaled_dot_product_flash_attention", detail)
    assert cost is not None
    assert cost.flops == 4 * 8 * 64 * 64 * 16
    log_sum_exp = 8 * 64 * FLOAT
    assert cost.bytes == 2 * 64 * 16 * (8 + 2 + 2 + 8) + log_sum_exp


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("aten::relu", (((10, 4), "float"),), 2 * 40 * FLOAT),
        ("aten::add", (((10, 4), "float"), ((4,), "float"), ((), "Scalar")), (40 + 4 + 40) * FLOAT),
        ("aten::mul", (((10, 4), "c10::Half"), ((), "double")), 40 * 2 + 8 + 40 * 2),
        ("aten::add_", (((10, 4), "float"), ((10, 4), "float"), ((), "Scalar")), 3 * 40 * FLOAT),
        ("aten::fill_", (((10, 4), "float"), ((), "Scalar")), 40 * FLOAT),
        ("aten::copy_", (((10, 4), "float"), ((10, 4), "c10::Half"), ((), "Scalar")), 40 * (4 + 2)),
        ("aten::sum", (((10, 4), "float"), ((), "")), 40 * FLOAT + FLOAT),
        ("aten::_softmax", (((10, 4), "float"), ((), "Scalar"), ((), "Scalar")), 2 * 40 * FLOAT),
        ("triton_poi_fused_add_relu_0", (((10, 4), "float"), ((10, 4), "float"), ((), "Scalar")), 2 * 40 * FLOAT),
        ("triton_red_fused_native_layer_norm_3", (((10, 4), "c10::BFloat16"), ((), "Scalar")), 40 * 2),
    ],
)
def test_an_elementwise_operator_moves_its_tensors(
    name: str, inputs: tuple[tuple[tuple[int, ...], str], ...], expected: int
) -> None:
    assert _work(cost_of(name, _detail(*inputs))) == (0, expected, None)


def test_a_generated_kernel_that_touches_part_of_a_tensor_moves_what_it_computes() -> None:
    table, ids, out = ((50_000, 8), "float"), ((4,), "long int"), ((4, 8), "float")
    detail = _detail(table, ids, out, ((), "Scalar"), values=("", "", "", "32"))
    assert _work(cost_of("triton_poi_fused_embedding_0", detail)) == (0, 32 * FLOAT + 4 * 8 + 32 * FLOAT, None)
    reduction = _detail(table, ids, out, *(((), "Scalar"),) * 2, values=("", "", "", "4", "8"))
    assert cost_of("triton_per_fused_embedding_native_layer_norm_0", reduction) == cost_of(
        "triton_poi_fused_embedding_0", detail
    )
    dynamic = _detail(table, ids, out, *(((), "Scalar"),) * 4, values=("", "", "", "4", "8", "1", "32"))
    assert cost_of("triton_poi_fused_embedding_0", dynamic) is None


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("aten::mm", None),
        ("aten::mm", OpDetail()),
        ("aten::mm", _detail(((8, 16), "float"))),
        ("aten::mm", _detail(((8, 16), "float"), ((8, 16), "float"))),
        ("aten::mm", _detail(((8, 16), "c10::Later"), ((16, 8), "c10::Later"))),
        ("aten::convolution", _detail(((1, 3, 8, 8), "float"), ((8, 3, 3, 3), "float"))),
        ("aten::cat", _detail(((), "TensorList"), ((), "Scalar"))),
        ("aten::add", _detail(((), "TensorList"), ((4,), "float"))),
        ("aten::index", _detail(((1000, 8), "float"), ((), ""))),
        ("triton_poi_fused_embedding_0", _detail(((1000, 8), "float"), ((4,), "long int"))),
        ("triton_tem_fused_mm_0", _detail(((8, 16), "float"), ((16, 4), "float"))),
        ("triton_poi_fused_add_0", OpDetail()),
        ("cpp_fused_relu_0", OpDetail()),
        ("mylib::my_op", _detail(((8, 16), "float"))),
    ],
)
def test_what_cannot_be_counted_is_unknown(name: str, detail: OpDetail | None) -> None:
    assert cost_of(name, detail) is None
