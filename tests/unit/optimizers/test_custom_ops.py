"""A user's own operators under every candidate: Python ones, `autograd.Function`, and C++ ones."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from optimizers.candidates import CANDIDATES
from optimizers.candidates.fused import FUSED
from optimizers.python_fallbacks import python_fallbacks
from tests.unit.optimizers.candidates_compiled import Compiled, assert_same, compiled

# Dynamo's own doing, of the user's `autograd.Function` (torch 2.13).
pytestmark = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")

X = torch.randn(4, 8)
ON_CPU = [c.id for c in CANDIDATES if "cpu" in c.devices and not c.changes and c is not FUSED]
# Autotuning alone takes longer than all others together, and treats a custom operator as the default does.
TRIED = [name for name in ON_CPU if name != "max_autotune"]


@torch.library.custom_op("graphbound_test::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scaled.register_fake
def _(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("graphbound_test::added", mutates_args=())
def added(values: list[torch.Tensor], how: str) -> torch.Tensor:
    return torch.stack(values).sum(0)


@added.register_fake
def _(values: list[torch.Tensor], how: str) -> torch.Tensor:
    return torch.empty_like(values[0])


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class UsersOwn(nn.Module):
    """Two layers of one input, so that there is something to merge and to bake in."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = scaled(self.left(x), 2.0), Squared.apply(self.right(x))
        return added([left, right], "sum")


@pytest.fixture(scope="module")
def users_own() -> Iterator[tuple[UsersOwn, Compiled]]:
    model = UsersOwn().requires_grad_(False)
    with compiled(model, (X,), TRIED) as one:
        yield model, one


@pytest.mark.parametrize("candidate", TRIED)
def test_python_operators_and_autograd_functions_compile_or_it_is_said_why_not(
    users_own: tuple[UsersOwn, Compiled], candidate: str
) -> None:
    model, one = users_own
    reason = one.refusal(candidate)
    assert reason is None, reason
    assert_same(one.under(candidate, X), model(X))


def test_what_the_cpp_wrapper_runs_in_python_is_said(users_own: tuple[UsersOwn, Compiled]) -> None:
    _, one = users_own
    called = one.backend.python_fallbacks(one.digest, "cpp_wrapper")
    assert called == ("graphbound_test::scaled", "graphbound_test::added")
    assert one.backend.python_fallbacks(one.digest, "fused") == ()


def test_in_training_an_autograd_function_has_its_own_gradient() -> None:
    def squares(x: torch.Tensor) -> torch.Tensor:
        return Squared.apply(x.sin()).sum()

    x = X.clone().requires_grad_()
    with compiled(squares, (x,), ("cpp_wrapper",)) as one:
        found = torch.autograd.grad(one.under("cpp_wrapper", x), x)
        assert_same(found, torch.autograd.grad(squares(x), x))


CPP = """
#include <torch/library.h>
#include <ATen/ATen.h>
static at::Tensor doubled(const at::Tensor& x) { return x * 2; }
TORCH_LIBRARY(graphbound_test_cpp, m) { m.def("doubled(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(graphbound_test_cpp, CPU, m) { m.impl("doubled", doubled); }
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ninja") is None or shutil.which("g++") is None, reason="needs ninja and g++")
def test_a_cpp_operator_is_compiled_and_calls_no_python() -> None:
    from torch.utils.cpp_extension import load_inline

    load_inline("graphbound_test_cpp", CPP, is_python_module=False)
    torch.library.register_fake("graphbound_test_cpp::doubled", torch.empty_like)
    layer = nn.Linear(8, 8).requires_grad_(False)

    def through(x: torch.Tensor) -> torch.Tensor:
        return torch.ops.graphbound_test_cpp.doubled(layer(x)) + 1  # type: ignore[no-any-return]

    with compiled(through, (X,), ("cpp_wrapper", "frozen")) as one:
        for candidate in ("cpp_wrapper", "frozen"):
            assert_same(one.under(candidate, X), through(X))
        assert "graphbound_test_cpp" in one.heard.codes["cpp_wrapper.inference"]
        assert one.backend.python_fallbacks(one.digest, "cpp_wrapper") == ()


# -- generated code of other releases ---------------------------------------------------------------------------------

OF_2_11 = """
    RAIIPyObject py_args_0(PyTuple_New(3));
    PyTuple_SetItem(py_args_0, 0, PyUnicode_FromString("torch.ops.mylib.scale.default"));
    RAIIPyObject py_buf1(PyObject_CallObject(custom_op_wrapper, py_args_0));
    PyTuple_SetItem(py_args_1, 0, PyUnicode_FromString("torch.ops.mylib.scale.default"));
    PyTuple_SetItem(py_args_2, 0, PyUnicode_FromString("torch.ops.mylib.shift.int"));
    PyTuple_SetItem(py_args_2, 1, PyUnicode_FromString("torch.ops.mylib.an_argument.default"));
"""


def test_a_callback_by_name_is_read_from_the_code_once() -> None:
    assert python_fallbacks(OF_2_11, "cpu") == ("mylib::scale", "mylib::shift.int")


@pytest.mark.parametrize("op", ["aten::mm", "no_such_library::op"])
def test_what_the_dispatcher_finds_in_cpp_or_nowhere_is_no_callback(op: str) -> None:
    assert python_fallbacks(f'aoti_torch_call_dispatcher("{op}", "", dispatch_vars.data())', "cpu") == ()
