"""A sum that converts its input first reads the converted copy."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
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
