"""What ATen's longer functions are taken to cost is what Inductor's same operations are."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import OpCount
from analyzer.derive.costs.instructions import aten_slots, instructions_of_ops, is_counted

WITHIN = 0.15


@pytest.mark.parametrize(
    ("name", "ops"),
    [
        ("mish", ("load", "to_dtype", "exp", "log1p", "tanh", "mul", "to_dtype", "store")),
        ("elu", ("load", "mul", "expm1", "mul", "gt", "mul", "where", "store")),
        ("selu", ("load", "mul", "expm1", "mul", "gt", "mul", "where", "store")),
        ("log_sigmoid_forward", ("load", "abs", "neg", "exp", "log1p", "minimum", "sub", "store")),
    ],
)
def test_a_long_function_costs_in_one_kernel_what_it_does_in_the_other(name: str, ops: tuple[str, ...]) -> None:
    generated = instructions_of_ops([OpCount(op, 1) for op in ops])
    assert generated is not None
    assert aten_slots(f"aten::{name}", is_gpu=True) == pytest.approx(generated, rel=WITHIN)
    assert not is_counted(f"aten::{name}")


def test_the_gradient_of_gelu_has_an_exponential_and_a_tensor_more_than_gelu() -> None:
    slots = [aten_slots(f"aten::{name}", is_gpu=True) for name in ("gelu", "gelu_backward")]
    assert None not in slots
    more = instructions_of_ops(
        [OpCount(op, 1) for op in ("exp", "load", "to_dtype", "mul", "mul", "mul", "fma", "mul")]
    )
    assert more is not None
    assert (slots[1] or 0) - (slots[0] or 0) == pytest.approx(more, rel=WITHIN)
    assert not is_counted("aten::gelu_backward")
