"""Which operators of a CPU work, and which are the framework."""

from __future__ import annotations

import pytest

from analyzer.derive.host_work import is_work


@pytest.mark.parametrize(
    "name",
    [
        "aten::addmm",
        "aten::mkldnn_convolution",
        "aten::add_",
        "aten::copy_",
        "aten::_softmax",
        "mkldnn::_linear_pointwise",
        "mylib::custom_op",
        "mylib::custom_op.out",
        "cpp_fused_relu_0",
        "graph_12_cpp_fused_add_relu_3",
        "triton_poi_fused_add_0",
    ],
)
def test_an_operator_that_computes_is_work(name: str) -> None:
    assert is_work(name)


@pytest.mark.parametrize(
    "name",
    [
        "aten::view",
        "aten::as_strided_",
        "aten::empty_strided",
        "aten::resolve_conj",
        "aten::linear",
        "aten::_to_copy",
        "aten::softmax",
        "Torch-Compiled Region: 0/0",
        "TorchDynamo Cache Lookup",
        "AOTDispatcher Runtime Wrapper Prologue",
        "CompiledFunction",
        "AddmmBackward0",
        "autograd::engine::evaluate_function: AddmmBackward0",
        "torch::autograd::AccumulateGrad",
        "Optimizer.step#SGD.step",
        "graphbound::3fa9c1d2e4b5.inference",
    ],
)
def test_the_framework_is_not_work(name: str) -> None:
    assert not is_work(name)
