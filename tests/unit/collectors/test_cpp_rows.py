"""Rows of C++ kernels: in a trace while they are asked for, and in nothing that is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from analyzer.derive.host_work import is_work
from collectors.profiler import quiet_profiler
from collectors.torch_compat import compile_package, kernel_rows
from collectors.torch_compat.cpp_rows import LIBRARY, operator_of, with_rows
from tests.workloads import Mlp, fresh_dynamo

X = torch.randn(4, 8)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    with fresh_dynamo(), quiet_profiler():
        yield


def rows(step: Callable[[], Any]) -> list[str]:
    """The names of what one step leaves in a trace, in order of start."""
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as recording:
        step()
    events = recording.events()
    assert events is not None
    return [event.name for event in sorted(events, key=lambda event: event.time_range.start)]


def work(step: Callable[[], Any]) -> list[str]:
    return [name for name in rows(step) if "cpp_" in name or name == "aten::addmm"]


@pytest.mark.parametrize("cpp_wrapper", [False, True])
def test_kernels_and_products_are_rows_inside_the_block_alone(cpp_wrapper: bool) -> None:
    compiled = torch.compile(Mlp(), options={"cpp_wrapper": cpp_wrapper})
    with torch.no_grad():
        expected = compiled(X)
        before = work(lambda: compiled(X))
        with kernel_rows():
            torch.testing.assert_close(compiled(X), expected, rtol=0, atol=0)
            inside = work(lambda: compiled(X))
        assert work(lambda: compiled(X)) == before
    products = ["aten::addmm"] * 2
    assert before == ([] if cpp_wrapper else products), "the C++ wrapper calls products past the dispatcher"
    names = [name if name in products else "_".join(name.split("_")[:3]) for name in inside]
    assert names == ["aten::addmm", "cpp_fused_relu", "aten::addmm", "cpp_fused_tanh"]


def test_a_backward_has_rows_too() -> None:
    compiled = torch.compile(Mlp())
    x = X.clone().requires_grad_()
    compiled(x).sum().backward()

    def step() -> None:
        compiled(x).sum().backward()

    assert [name for name in rows(step) if "cpp_" in name] == []
    with kernel_rows():
        assert any("tanh_backward" in name for name in rows(step) if name.startswith("cpp_fused"))


@pytest.mark.slow
def test_a_package_is_one_row() -> None:
    with torch.no_grad():
        package = compile_package(torch.export.export(Mlp(), (X,)), {})
        expected = package(X)
        with kernel_rows():
            torch.testing.assert_close(package(X), expected, rtol=0, atol=0)
            assert rows(lambda: package(X)).count(LIBRARY) == 1
        assert LIBRARY not in rows(lambda: package(X))
    assert is_work(LIBRARY)


def test_a_wrapper_that_cannot_be_compiled_with_rows_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = torch.compile(Mlp(), options={"cpp_wrapper": True})
    monkeypatch.setattr("collectors.torch_compat.cpp_rows.with_rows", lambda source: "raise RuntimeError")
    with torch.no_grad():
        expected = compiled(X)
        with kernel_rows():
            torch.testing.assert_close(compiled(X), expected, rtol=0, atol=0)
            inside = rows(lambda: compiled(X))
        after = rows(lambda: compiled(X))
    assert (inside.count(LIBRARY), after.count(LIBRARY)) == (1, 0)


def test_all_is_as_it_was_where_a_step_fails() -> None:
    compiled = torch.compile(Mlp(), options={"cpp_wrapper": True})
    with torch.no_grad():
        compiled(X)
        with pytest.raises(ZeroDivisionError), kernel_rows():
            _ = 1 / 0
        assert work(lambda: compiled(X)) == []


SOURCE = """
extern "C"  void  cpp_fused_add_0(const float* in_ptr0,
                       float* out_ptr0);
void inductor_entry_impl() {
    cpp_fused_add_0((const float*)(a.data_ptr()), (float*)(b.data_ptr()));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, sizes, strides, &buf_handle));
    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf4, bias, f(a),
        1L, 1L));
}
extern "C"  void  cpp_fused_add_0(const float* in_ptr0,
                       float* out_ptr0)
{
    auto x = 1;
}
"""


def test_a_row_begins_each_kernels_body_and_surrounds_each_operators_call() -> None:
    row = "torch::aot_inductor::RAIIAtenRecordFunctionHandle graphbound_row"
    assert with_rows(SOURCE) == SOURCE.replace(
        "float* out_ptr0)\n{", f'float* out_ptr0)\n{{\n    {row}("cpp_fused_add_0", nullptr);'
    ).replace(
        'extern "C"  void  cpp_fused_add_0(const float* in_ptr0,\n                       float* out_ptr0)\n',
        "#include <torch/csrc/inductor/aoti_runtime/utils.h>\n"
        'extern "C"  void  cpp_fused_add_0(const float* in_ptr0,\n                       float* out_ptr0)\n',
    ).replace(
        "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf4, bias, f(a),\n        1L, 1L));",
        f'    {{ {row}("aten::addmm", nullptr);\n'
        "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_addmm_out(buf4, bias, f(a),\n        1L, 1L));\n    }",
    )


@pytest.mark.parametrize(
    ("shim", "operator"),
    [
        ("addmm_out", "aten::addmm"),
        ("sort_stable", "aten::sort"),
        ("view_dtype", "aten::view"),
        ("_scaled_dot_product_flash_attention_for_cpu", "aten::_scaled_dot_product_flash_attention_for_cpu"),
        ("mkldnn__linear_pointwise", "mkldnn::_linear_pointwise"),
        ("of_a_later_torch", "aten::of_a_later_torch"),
    ],
)
def test_the_function_of_an_operator_tells_its_name(shim: str, operator: str) -> None:
    assert operator_of(shim) == operator
