"""A sum that converts its input first reads the converted copy; each thread has a cost of its own."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.aten_kernels import REDUCING_THREAD_SLOTS
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch
from analyzer.derive.costs.reductions import SCATTERED_SLOTS, scattered_slots
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of


def _kernel(read: str, written: str) -> str:
    ops = f"at::native::func_wrapper_t<{written}, at::native::sum_functor<{read}, float, {written}>::operator()(x)>"
    template = f"at::native::ReduceOp<{read}, {ops}, unsigned int, {written}, 4, 4>"
    return f"void at::native::reduce_kernel<512, 1, {template} >({template})"


def _sum(rows: int, width: int, dtype: str, kernel: str) -> Cost | None:
    detail = OpDetail(
        shapes=((rows, width), (), (), ()),
        dtypes=(dtype, "ScalarList", "Scalar", ""),
        values=("", "[1]", "False", ""),
        strides=((width, 1), (), (), ()),
    )
    whole = cost_of("aten::sum", detail, kernel)
    assert whole is not None
    stage = stage_of("aten::sum", detail, kernel, whole)
    return None if stage is None else stage.cost


@pytest.mark.parametrize("dtype", ["bool", "int", "unsigned char"])
def test_truth_values_and_small_integers_are_summed_as_eight_bytes_each(dtype: str) -> None:
    found = _sum(100, 64, dtype, _kernel("long", "long"))
    assert found is not None
    assert (found.reads, found.writes, found.bytes) == ((100 * 64 * 8,), (100 * 8,), 100 * 64 * 8 + 100 * 8)
    assert found.instructions


@pytest.mark.parametrize(("dtype", "read"), [("float", "float"), ("c10::Half", "c10::Half"), ("long int", "long")])
def test_what_is_read_as_it_is_keeps_its_cost(dtype: str, read: str) -> None:
    assert _sum(100, 64, dtype, _kernel(read, read)) is None


def test_an_input_that_several_kernels_reduce_is_not_charged_to_each_of_them() -> None:
    assert _sum(1 << 20, 1 << 9, "bool", _kernel("long", "long")) is None


def test_a_name_that_tells_no_types_tells_nothing() -> None:
    assert _sum(100, 64, "bool", "void at::native::reduce_kernel<512, 1, mine>(x)") is None


def test_each_thread_of_a_reduction_adds_to_what_its_elements_take() -> None:
    detail = OpDetail(
        shapes=((512, 1024), (), ()), dtypes=("float", "ScalarList", "Scalar"), values=("", "[1]", "False")
    )
    kernel = _kernel("float", "float")
    few, many = (cost_of("aten::sum", detail, kernel, Launch((blocks, 1, 1), 512)) for blocks in (10, 30))
    assert few is not None
    assert many is not None
    assert (many.instructions or 0) - (few.instructions or 0) == 20 * 512 * REDUCING_THREAD_SLOTS
    unknown = cost_of("aten::sum", detail, kernel)
    assert unknown is not None
    assert (few.instructions or 0) - (unknown.instructions or 0) == 10 * 512 * REDUCING_THREAD_SLOTS


@pytest.mark.parametrize(
    ("dims", "strides", "reduced", "is_scattered"),
    [
        ((8, 16, 7, 7), (784, 49, 7, 1), "[0, 2, 3]", True),
        ((8, 16, 7, 7), (784, 49, 7, 1), "[2, 3]", False),
        ((8, 16, 7, 7), (784, 49, 7, 1), "[-1, -2, 0]", True),
        ((8, 1, 7, 7), (49, 49, 7, 1), "[0, 2, 3]", False),  # a dimension of one parts nothing
        ((8, 16, 7, 7), (784, 1, 112, 16), "[0, 2, 3]", False),  # channels last: not dense in this order
        ((8, 16, 7, 7), (), "[0, 2, 3]", False),
        ((8, 16, 7, 7), (784, 49, 7, 1), "", False),
    ],
)
def test_elements_in_several_rows_are_found_one_by_one(
    dims: tuple[int, ...], strides: tuple[int, ...], reduced: str, is_scattered: bool
) -> None:
    detail = OpDetail(shapes=(dims, ()), dtypes=("float", "ScalarList"), values=("", reduced), strides=(strides, ()))
    elements = dims[0] * dims[1] * dims[2] * dims[3]
    assert scattered_slots(detail, _kernel("float", "float")) == (SCATTERED_SLOTS * elements if is_scattered else 0)
    assert scattered_slots(detail, "void at::native::vectorized_elementwise_kernel<4, x>(int)") == 0
