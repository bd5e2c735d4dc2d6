"""Tensors of every layout are read, kept and put back; what cannot be read is taken for unchanged, and said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from analyzer.core.settings import Mode
from analyzer.core.trial import AccuracyReference
from collectors.outputs import detached, float_sum, not_finite, unread
from collectors.reference import reference_results, step_results
from collectors.state import State
from collectors.tensor_parts import parts
from optimizers.accuracy import Judge
from optimizers.likeness import are_equal
from tests.workloads import a_stepper, a_workload

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.ao.quantization"),
    pytest.mark.filterwarnings("ignore:.*quantize_per_tensor"),
    pytest.mark.filterwarnings("ignore:.*prototype stage"),
    pytest.mark.filterwarnings("ignore:.*beta state"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
]

ROWS = (torch.arange(6.0).reshape(2, 3), torch.ones(1, 3))

LAYOUTS: dict[str, Callable[[float], torch.Tensor]] = {
    "jagged": lambda k: torch.nested.nested_tensor([row * k for row in ROWS], layout=torch.jagged),
    "nested": lambda k: torch.nested.nested_tensor([row * k for row in ROWS]),
    "coo": lambda k: (torch.eye(4) * k).to_sparse(),
    "csr": lambda k: (torch.eye(4) * k).to_sparse_csr(),
    "csc": lambda k: (torch.eye(4) * k).to_sparse_csc(),
    "bsr": lambda k: (torch.eye(4) * k).to_sparse_bsr((2, 2)),
    "bsc": lambda k: (torch.eye(4) * k).to_sparse_bsc((2, 2)),
    "mkldnn": lambda k: (torch.eye(4) * k).to_mkldnn(),
    "quantized": lambda k: torch.quantize_per_tensor(torch.eye(4) * k, 0.1, 0, torch.qint8),
}
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@every_layout
def test_its_parts_are_dense_and_tell_values_apart(layout: str) -> None:
    one, again, other = (detached(LAYOUTS[layout](k)) for k in (1.0, 1.0, 2.0))
    assert all(part.layout is torch.strided and not part.is_nested for _, part in one)
    assert len({path for path, _ in one}) == len(one)
    assert are_equal(one, again)
    assert not are_equal(one, other)
    judge = Judge(AccuracyReference.EAGER, None, one)
    assert judge.judge(again).is_right
    assert not judge.judge(other).is_right


@every_layout
def test_a_nan_in_it_is_found(layout: str) -> None:
    if layout == "quantized":
        return  # holds integers
    assert not_finite((("output", LAYOUTS[layout](1.0)),)) == ()
    assert not_finite((("output", LAYOUTS[layout](float("nan"))),)) == ("output",)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "mkldnn"])
def test_a_change_of_an_input_is_seen_and_put_back(layout: str) -> None:
    tensor = LAYOUTS[layout](1.0)
    state = State(a_workload(lambda x: x, (tensor,)))
    assert not state.changed_inputs()
    tensor.copy_(LAYOUTS[layout](2.0) if layout != "jagged" else tensor * 2)
    assert state.changed_inputs()
    state.restore_inputs()
    assert not state.changed_inputs()
    assert state.unread == ()


class Opaque(torch.Tensor):
    """A subclass that refuses every operation but those which keep it."""

    def __new__(cls) -> Opaque:
        return torch.Tensor._make_wrapper_subclass(cls, (2,))  # type: ignore[attr-defined,no-any-return]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default, torch.ops.aten.alias.default):
            return cls()
        raise RuntimeError(f"{func} is not for this one")

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __tensor_flatten__(self) -> Any:
        raise RuntimeError("closed")


def test_what_cannot_be_read_is_taken_for_unchanged_and_named() -> None:
    tensor = Opaque()
    assert parts(tensor) is None
    state = State(a_workload(lambda x: x, (tensor,)))
    assert not state.changed_inputs()
    assert state.unread == ("Opaque",)
    results = detached(tensor)
    assert unread(results) == ("output",)
    assert not_finite(results) == ()
    assert are_equal(results, results)
    assert Judge(AccuracyReference.EAGER, None, results).judge(results).detail == "not compared"


def test_a_sparse_gradient_is_compared_as_a_dense_one() -> None:
    class Words(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = torch.nn.Embedding(10, 3, sparse=True)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.table(x).square()  # type: ignore[no-any-return]

    workload = a_workload(Words(), (torch.tensor([1, 2, 2]),), mode=Mode.TRAINING)
    stepper = a_stepper(workload)
    results = step_results(stepper)
    gradient = dict(results)["grad:table.weight"]
    assert gradient.layout is torch.strided
    assert gradient[2].abs().sum() > 0
    assert not_finite(results) == ()
    kind, wide = reference_results(workload, stepper.state)
    assert kind is AccuracyReference.FLOAT64
    assert wide is not None
    assert Judge(kind, wide, results).judge(results).is_right


@pytest.mark.parametrize("layout", ["jagged", "nested"])
def test_the_loss_of_a_nested_output_is_the_sum_of_its_rows(layout: str) -> None:
    total = float_sum(LAYOUTS[layout](1.0).requires_grad_())
    assert total is not None
    assert float(total.detach()) == 18.0
