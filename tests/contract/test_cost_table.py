"""Every row of the table of costs is reached by a real operator, and breaks on no recording, however poor."""

from __future__ import annotations

import re
from itertools import product
from typing import Final

import pytest
import torch

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.instructions import aten_slots
from analyzer.derive.costs.table import LISTS, TABLE, cost_of, formula_of

ELSEWHERE: Final = ("mkl::_mkl_linear", "mkldnn::_linear_pointwise", "mkldnn::_convolution_pointwise")
"""Operators of libraries that this build of torch need not have."""

OPERATORS: Final = tuple(
    sorted({s.name for s in torch._C._jit_get_all_schemas() if s.name.startswith("aten::")} | set(ELSEWHERE))
)

POOR: Final = (
    OpDetail(),
    OpDetail(dtypes=("float",)),
    OpDetail(shapes=((4, 4),), dtypes=("float",)),
    OpDetail(shapes=((), (), ()), dtypes=("", "Scalar", "TensorList"), values=("", "True", "")),
    *(
        OpDetail(shapes=(a, b, c), dtypes=("float", d, "long int"), values=("", "[1, 1]", ""))
        for a, b, c, d in product(((), (3,), (2, 3, 4, 5)), ((), (7, 2)), ((0,),), ("float", "Scalar", "c10::Later"))
    ),
)


@pytest.mark.parametrize("pattern", [pattern for pattern, _ in (*TABLE, *LISTS)])
def test_a_pattern_is_the_first_of_some_operator_of_torch(pattern: str) -> None:
    formulas = dict((*TABLE, *LISTS))
    own = [name for name in OPERATORS if re.fullmatch(pattern, name)]
    assert own
    lists = [p for p, _ in LISTS]
    firsts = [
        name for name in own if formula_of(name) is formulas[pattern] or any(re.fullmatch(p, name) for p in lists)
    ]
    assert firsts


@pytest.mark.parametrize("detail", POOR)
def test_no_recording_breaks_a_formula(detail: OpDetail) -> None:
    for name in OPERATORS:
        cost = cost_of(name, detail, "multi_tensor_apply_kernel<BinaryOpListAlphaFunctor<float, 2, 1, 1>>")
        assert cost is None or cost.bytes >= 0


def test_the_parts_of_a_cost_are_its_bytes() -> None:
    detail = OpDetail(
        shapes=((4, 4), (4, 4), (4, 4)), dtypes=("float", "float", "float"), values=("", "", ""), strides=()
    )
    for name in OPERATORS:
        cost = cost_of(name, detail)
        if cost is not None and (cost.reads or cost.writes):
            assert cost.bytes == sum(cost.reads) + sum(cost.writes), name


def test_arithmetic_is_counted_for_operators_of_the_table_alone() -> None:
    assert aten_slots("aten::gelu") == aten_slots("aten::gelu_backward")
    assert (aten_slots("aten::exp") or 0) > (aten_slots("aten::add") or 0) > 0
    assert aten_slots("aten::mm") is None
    assert aten_slots("aten::sort") is None
