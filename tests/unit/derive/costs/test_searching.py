"""A binary search halves a row of boundaries for each element, wherever the operator has them."""

from __future__ import annotations

import pytest

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.searching import FOUND_SLOTS, STEP_SLOTS
from analyzer.derive.costs.stages import stage_of
from analyzer.derive.costs.table import cost_of

KERNEL = "searchsorted_cuda_kernel<float, long>(long*, float const*)"
ROW, MANY = ((256,), (1,)), ((1_000,), (1,))


def _cost(op: str, first: tuple[tuple[int, ...], ...], second: tuple[tuple[int, ...], ...], out_int32: str) -> Cost:
    detail = OpDetail(
        shapes=(first[0], second[0], (), ()),
        dtypes=("float", "float", "Scalar", "Scalar"),
        values=("", "", out_int32, "False"),
        strides=(first[1], second[1], (), ()),
    )
    whole = cost_of(op, detail, KERNEL)
    assert whole is not None
    stage = stage_of(op, detail, KERNEL, whole)
    assert stage is not None
    return stage.cost


@pytest.mark.parametrize(("out_int32", "place"), [("False", 8), ("True", 4)])
def test_boundaries_come_first_or_last(out_int32: str, place: int) -> None:
    searched = _cost("aten::searchsorted", ROW, MANY, out_int32)
    bucketized = _cost("aten::bucketize", MANY, ROW, out_int32)
    assert searched == bucketized
    assert (searched.reads, searched.writes) == ((1_024, 4_000), (1_000 * place,))
    # 256 boundaries are halved nine times until none is left.
    assert searched.instructions == 1_000 * (FOUND_SLOTS + 9 * STEP_SLOTS)


def test_what_is_no_tensor_is_not_counted() -> None:
    detail = OpDetail(shapes=((256,), ()), dtypes=("float", "Scalar"), values=("", "3."), strides=((1,), ()))
    assert cost_of("aten::searchsorted", detail, KERNEL) is None
