"""Kernels by size, and chains of pointwise operators."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.graphs import GapKey
from analyzer.derive.activity import activity
from analyzer.derive.activity_kernels import POINTWISE
from analyzer.derive.attribution import attribute
from tests.traces import Recording
from tests.unit.derive.activity_runs import DEVICE, US, of
from tests.unit.derive.runs import START, A

WHOLE_STEP = GapKey(None, None)


def _pointwise(run: Recording, name: str, us: float, *, rows: int = 64) -> None:
    with run.op(f"aten::{name}", ((rows, 64), ()), ("float", "Scalar")):
        run.launch(f"{name}_kernel", us=us)


def test_kernels_are_small_up_to_three_empty_ones() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            with run.graph(str(A)):
                for us in (1, 2, 4.5, 4.501, 50):
                    run.launch("kernel", us=us)
                run.copy("Memcpy DtoD (Device -> Device)", us=1)
            run.synchronize()
    found = of(run)
    (sizes,) = found.kernels
    assert found.small_kernel_ns == 4_500
    assert sizes.region == A
    assert (sizes.count, sizes.launches, sizes.small_count) == (5.0, 5.0, 3.0)
    assert sizes.small_ns == 7_500
    assert sizes.device_ns == 62_001


def test_without_a_measured_empty_kernel_none_is_called_small() -> None:
    run = Recording()
    with run.step():
        run.launch("kernel", us=1)
        run.synchronize()
    for device in (None, replace(DEVICE, empty_kernel_ns=None)):
        found = activity(attribute(run.trace()), None, device)
        (sizes,) = found.kernels
        assert found.small_kernel_ns is None
        assert sizes.small_count is None
        assert sizes.small_ns is None
        assert sizes.count == 1.0


def test_the_kernels_of_a_replay_are_one_launch() -> None:
    run = Recording()
    with run.step():
        run.replay([("node", 2.0)] * 30)
        run.synchronize()
    (sizes,) = of(run).kernels
    assert (sizes.count, sizes.launches) == (30.0, 1.0)


def test_pointwise_operators_of_one_size_in_a_row_are_a_chain() -> None:
    run = Recording()
    for _ in range(3):
        with run.step():
            _pointwise(run, "mul", us=20)
            _pointwise(run, "add", us=30)
            _pointwise(run, "relu_", us=10)
            run.synchronize()
    (chain,) = of(run).chains
    assert chain.region == WHOLE_STEP
    assert chain.ops == ("aten::mul", "aten::add", "aten::relu_")
    assert chain.elements == 64 * 64
    assert (chain.count, chain.device_ns, chain.longest_ns) == (1.0, 60 * US, 30 * US)


def test_equal_chains_are_one_with_a_count() -> None:
    run = Recording()
    with run.step():
        for _ in range(4):
            for name in ("mul", "add", "tanh"):
                _pointwise(run, name, us=10)
            with run.op("aten::mm", ((64, 64), (64, 64)), ("float", "float")):
                run.launch("gemm", us=10)
        run.synchronize()
    (chain,) = of(run).chains
    assert (chain.count, chain.device_ns, chain.longest_ns) == (4.0, 120 * US, 40 * US)


def test_two_in_a_row_another_size_and_another_operator_between_are_no_chain() -> None:
    run = Recording()
    with run.step():
        _pointwise(run, "mul", us=20)
        _pointwise(run, "add", us=30)
        _pointwise(run, "tanh", us=30, rows=32)
        _pointwise(run, "exp", us=30, rows=32)
        with run.op("aten::sum", ((32, 64),), ("float",)):
            run.launch("sum", us=5)
        _pointwise(run, "neg", us=30, rows=32)
        run.synchronize()
    assert of(run).chains == ()


def test_a_chain_ends_with_its_step() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            _pointwise(run, "mul", us=20)
            _pointwise(run, "add", us=30)
            run.synchronize()
    assert of(run).chains == ()


def test_inside_a_graph_there_is_no_chain_and_before_it_there_is() -> None:
    def step(*, is_inside: bool) -> Recording:
        run = Recording()
        with run.step():
            if not is_inside:
                for name in ("mul", "add", "tanh"):
                    _pointwise(run, name, us=10)
            with run.graph(str(A)):
                for name in ("mul", "add", "tanh"):
                    _pointwise(run, name, us=10)
            run.synchronize()
        return run

    assert of(step(is_inside=True)).chains == ()
    (chain,) = of(step(is_inside=False)).chains
    assert chain.region == START


def test_without_recorded_shapes_there_is_no_chain() -> None:
    run = Recording()
    with run.step():
        for name in ("mul", "add", "tanh"):
            with run.op(f"aten::{name}"):
                run.launch(name, us=10)
        run.synchronize()
    assert of(run).chains == ()


def test_on_a_cpu_chains_are_found_and_brought_to_the_clean_pass() -> None:
    run = Recording(device_name=None)
    with run.step():
        for name in ("mul", "add", "tanh"):
            with run.op(f"aten::{name}", ((64, 64), ()), ("float", "Scalar")):
                run.host(us=98)
    whole = of(run)
    (chain,) = whole.chains
    assert whole.is_host
    assert whole.kernels == ()
    assert chain.device_ns == 300 * US
    (half,) = of(run, step_us=run.now_ns / US / 2).chains
    assert half.device_ns == pytest.approx(150 * US, rel=0.01)


@pytest.mark.parametrize(
    ("name", "is_pointwise"),
    [
        ("aten::add", True),
        ("aten::add_", True),
        ("aten::gelu_backward", True),
        ("aten::where", True),
        ("aten::sum", False),
        ("aten::addmm", False),
        ("aten::_softmax", False),
        ("aten::copy_", False),
        ("mine::add", False),
    ],
)
def test_pointwise_operators_are_told_by_name(name: str, is_pointwise: bool) -> None:
    assert (POINTWISE.fullmatch(name) is not None) is is_pointwise
