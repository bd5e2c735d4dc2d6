"""Whatever the shapes: operations are those that torch counts, and bytes those of the tensors that torch made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from analyzer.derive.costs.table import cost_of
from analyzer.derive.costs.tensors import touched_bytes
from tests.op_details import Recorder

EXAMPLES = settings(max_examples=8, deadline=None)
SIZE = st.integers(1, 9)
HALVES = st.sampled_from((torch.float32, torch.bfloat16, torch.float16))


def counted_alike(run: Callable[[], object]) -> None:
    """The operations read from the arguments are those of torch's own counter."""
    with FlopCounterMode(display=False) as counter, Recorder() as recorder:
        run()
    costs = [cost_of(call.name, call.detail) for call in recorder.calls]
    assert counter.get_total_flops() > 0
    assert sum(cost.flops or 0 for cost in costs if cost is not None) == counter.get_total_flops()


def meta(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta", requires_grad=grad)


@EXAMPLES
@given(SIZE, SIZE, SIZE, SIZE, HALVES)
def test_products_forward_and_backward(b: int, m: int, n: int, k: int, dtype: torch.dtype) -> None:
    counted_alike(lambda: (meta(m, k, dtype=dtype, grad=True) @ meta(k, n, dtype=dtype, grad=True)).sum().backward())
    counted_alike(lambda: F.linear(meta(b, m, k, grad=True), meta(n, k, grad=True), meta(n)).sum().backward())
    counted_alike(lambda: torch.bmm(meta(b, m, k), meta(b, k, n)))
    counted_alike(lambda: torch.baddbmm(meta(b, 1, n), meta(b, m, k), meta(b, k, n)))
    counted_alike(lambda: torch.einsum("bik,bkj->bij", meta(b, m, 2), meta(b, 2, n)))


@EXAMPLES
@given(st.data())
def test_convolutions_forward_and_backward(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 3))
    batch, ins, outs, groups = (data.draw(st.integers(1, 3)) for _ in range(4))
    kernel = [data.draw(st.integers(1, 3)) for _ in range(rank)]
    spatial = [k + data.draw(st.integers(2, 5)) for k in kernel]
    further = {"stride": data.draw(st.integers(1, 2)), "padding": data.draw(st.integers(0, 1)), "dilation": 1}
    convolve: Any = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    transpose: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
    x = meta(batch, ins * groups, *spatial)
    counted_alike(lambda: convolve(x, meta(outs * groups, ins, *kernel), groups=groups, **further))
    counted_alike(lambda: transpose(x, meta(ins * groups, outs, *kernel), groups=groups, **further))
    # Grouped, torch counts the gradient of the weight for one group: see costs/convolution.py.
    own = meta(batch, ins, *spatial, grad=True)
    counted_alike(lambda: convolve(own, meta(outs, ins, *kernel, grad=True), **further).sum().backward())
    counted_alike(lambda: transpose(own, meta(ins, outs, *kernel, grad=True), **further).sum().backward())


@EXAMPLES
@given(SIZE, SIZE, SIZE, SIZE)
def test_attention_forward_and_backward(b: int, h: int, q: int, k: int) -> None:
    query = meta(b, h, q, 8, dtype=torch.float16, grad=True)
    key, value = (meta(b, h, k, 8, dtype=torch.float16, grad=True) for _ in range(2))
    aten = torch.ops.aten
    counted_alike(lambda: aten._scaled_dot_product_flash_attention(query, key, value)[0].sum().backward())
    counted_alike(
        lambda: aten._scaled_dot_product_efficient_attention(query, key, value, None, True)[0].sum().backward()
    )
    counted_alike(lambda: aten._scaled_dot_product_cudnn_attention(query, key, value, None, True))


def moved_alike(run: Callable[[], object]) -> None:
    """The bytes of each call with a cost are those of what went in and came out."""
    with Recorder() as recorder:
        run()
    known = [(call, cost) for call in recorder.calls if (cost := cost_of(call.name, call.detail)) is not None]
    assert known
    for call, cost in known:
        assert cost.bytes == call.input_bytes + call.output_bytes, call.name


@EXAMPLES
@given(SIZE, SIZE, SIZE, HALVES)
def test_dense_operators_move_what_goes_in_and_comes_out(a: int, b: int, c: int, dtype: torch.dtype) -> None:
    x, y, row = meta(a, b, c, dtype=dtype), meta(a, b, c, dtype=dtype), meta(c, dtype=dtype)
    wide = meta(a, b, c)
    for run in (
        lambda: x + y,
        lambda: x * row,
        lambda: x / 3.0,
        lambda: torch.where(x > y, x, row),
        lambda: x == row,
        lambda: x.isnan() if dtype is torch.float32 else x.logical_not(),
        lambda: F.gelu(x),
        lambda: F.relu(x),
        lambda: torch.softmax(x, -1),
        lambda: torch.cumsum(wide, 0),
        lambda: torch.sum(wide, dim=1),
        lambda: torch.mean(wide, dim=(0, -1)),
        lambda: torch.amax(x, dim=2),
        lambda: torch.max(x, dim=1),
        lambda: torch.max(x),
        lambda: torch.argmax(x, dim=-1),
        lambda: torch.any(x > 0, dim=0),
        lambda: torch.linalg.vector_norm(wide, dim=1),
        lambda: F.mse_loss(x, y, reduction="none"),
        lambda: F.mse_loss(x, y),
        lambda: torch.bmm(x, meta(a, c, b, dtype=dtype)),
        lambda: torch.native_dropout(x, 0.5, True),
        lambda: F.pad(x, (1, 2, 0, 1)) if dtype is torch.float32 else x.neg(),
    ):
        moved_alike(run)


@EXAMPLES
@given(st.integers(1, 3), st.integers(1, 3), st.integers(6, 12), st.booleans(), st.integers(1, 3))
def test_pools_and_interpolation_move_what_goes_in_and_comes_out(
    n: int, c: int, size: int, ceil: bool, stride: int
) -> None:
    x = meta(n, c, size, size + 1)
    moved_alike(lambda: F.max_pool2d(x, 3, stride=stride, padding=1, ceil_mode=ceil, return_indices=True))
    moved_alike(lambda: F.avg_pool2d(x, 2, stride=stride, ceil_mode=ceil))
    moved_alike(lambda: torch.ops.aten._adaptive_avg_pool2d(x, [2, 3]))
    moved_alike(lambda: F.interpolate(x, size=(7, 9), mode="nearest"))
    moved_alike(lambda: F.interpolate(x, scale_factor=2.0, mode="bilinear"))


@EXAMPLES
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.data())
def test_a_view_moves_no_less_than_its_elements_and_no_more_than_its_span(
    sizes: list[int], data: st.DataObject
) -> None:
    base = torch.empty([s * data.draw(st.integers(1, 4)) for s in sizes])
    view = base[tuple(slice(0, None, b // s) for b, s in zip(base.shape, sizes, strict=True))]
    moved = touched_bytes(tuple(view.shape), view.stride(), 4)
    assert view.numel() * 4 <= moved <= base.numel() * 4
    assert touched_bytes(tuple(base.shape), base.stride(), 4) == base.numel() * 4
    order = data.draw(st.permutations(range(view.dim())))
    permuted = view.permute(order)
    assert touched_bytes(tuple(permuted.shape), permuted.stride(), 4) == moved


@pytest.mark.parametrize(
    ("dims", "strides", "expected"),
    [
        ((64, 64), (64, 1), 64 * 64 * 4),
        ((64, 64), (0, 1), 64 * 4),  # broadcast: read once
        ((64, 16), (64, 4), (64 * 64 - 3) * 4),  # every fourth float: all of the sectors
        ((64, 4), (64, 16), 64 * 4 * 32),  # one float in 64 bytes: a sector each
        ((64, 3), (100, 1), 64 * 32),  # three floats a row, rows far apart
        ((64, 16), (32, 1), 64 * 64),  # half of each row, in whole sectors
        ((10, 3), (1, 1), 12 * 4),  # windows that overlap
        ((0, 4), (4, 1), 0),
        ((), (), 4),
    ],
)
def test_a_strided_view_moves_the_sectors_that_it_touches(
    dims: tuple[int, ...], strides: tuple[int, ...], expected: int
) -> None:
    assert touched_bytes(dims, strides, 4) == expected
