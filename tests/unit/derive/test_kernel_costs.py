"""What Inductor told of a kernel goes before what its row shows; and what was written shortly before may be cached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from analyzer.core.device import Device, Source
from analyzer.core.graphs import Graph, KernelFacts, OpCount
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import JOINT, instructions_of_ops
from analyzer.derive.costs.tiled import SLOTS_A_WAVEFRONT
from analyzer.derive.kernel_costs import KernelCosts, cost_of_facts, from_graphs, generated_name, kernel_costs
from analyzer.derive.residency import memory_bytes, missed_rereads, resident_bytes, unwritten_bytes
from tests.traces import Recording
from tests.unit.derive.runs import HALF, A

GRAPH = Graph(key=A, compile_ids=(), source=(), op_count=1, ended_by=None)
TEMPLATE = KernelFacts("triton_tem_fused_mm_1", 3_000, flops=10_000, dtype="bfloat16", reads=(2_000,), writes=(1_000,))
ADDING = KernelFacts(
    "triton_poi_fused_add_0", 600, ops=(OpCount("add", 50), OpCount("load", 100), OpCount("store", 50))
)


def _run(*kernels: str) -> Attribution:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            for name in kernels:
                with run.op(name, ((64, 64),), (HALF,)):
                    run.launch(name, us=5)
        run.synchronize()
    return attribute(run.trace())


def _costs(attribution: Attribution, *facts: KernelFacts) -> KernelCosts:
    return from_graphs(kernel_costs(attribution), attribution, (replace(GRAPH, kernels=facts),))


def test_what_inductor_told_goes_before_the_arguments_of_the_row() -> None:
    attribution = _run("triton_poi_fused_add_0", "triton_tem_fused_mm_1", "triton_poi_fused_add_2")
    shown = kernel_costs(attribution)
    assert shown.is_known.tolist() == [True, False, True]
    told = _costs(attribution, ADDING, TEMPLATE)
    assert told.bytes.tolist() == [600, 3_000, 64 * 64 * 2]
    assert told.flops.tolist() == [0, 10_000, 0]
    assert told.dtype == (None, "bfloat16", None)
    assert told.costs[0] is not None
    assert told.costs[0].instructions == 50 + 2 * 150


def test_how_its_tensors_lie_stays_known_of_a_kernel_that_inductor_told_of() -> None:
    run, sides = Recording(), ((64, 64), (64, 64), ())
    strides = ((64, 1), (1, 64), ())
    with run.step():
        with run.graph(str(A)), run.op("triton_poi_fused_add_0", sides, ("float", "float", "Scalar"), strides=strides):
            run.launch("triton_poi_fused_add_0", us=5)
        run.synchronize()
    told = _costs(attribute(run.trace()), ADDING).costs[0]
    assert told is not None
    assert told.bytes == 600
    assert told.near == 64 * 64 * SLOTS_A_WAVEFRONT


def test_facts_of_another_graph_say_nothing() -> None:
    attribution = _run("triton_tem_fused_mm_1")
    other = replace(GRAPH, key=replace(A, digest="ffffffffffff"), kernels=(TEMPLATE,))
    assert not from_graphs(kernel_costs(attribution), attribution, (other,)).is_known.any()


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("triton_red_fused_sum_3", "triton_red_fused_sum_3"),
        ("cpp_fused_relu_1", "cpp_fused_relu_1"),
        ("graph_12_cpp_fused_relu_1", "cpp_fused_relu_1"),
        ("aten::mm", None),
        ("ampere_sgemm_128x64_tn", None),
    ],
)
def test_a_row_names_its_kernel(row: str, name: str | None) -> None:
    assert generated_name(row) == name


def test_special_functions_run_beside_plain_ones() -> None:
    assert instructions_of_ops([OpCount("add", 100)]) == 100
    assert instructions_of_ops([OpCount("exp", 100)]) == 800  # sixteen lanes, beside three plain instructions
    assert instructions_of_ops([OpCount("exp", 100), OpCount("mul", 300)]) == 800
    assert instructions_of_ops([OpCount("exp", 100), OpCount("mul", 1_000)]) == 1_400
    assert instructions_of_ops([OpCount("an_operation_of_a_later_torch", 1)]) is None


@pytest.mark.parametrize("op", ["tanh", "log1p", "expm1"])
def test_what_libdevice_does_costs_more_than_one_approximation(op: str) -> None:
    found, approximation = instructions_of_ops([OpCount(op, 100)]), instructions_of_ops([OpCount("exp", 100)])
    assert found is not None
    assert approximation is not None
    assert found > 2 * approximation


def test_what_a_reduction_stores_is_one_result_a_row() -> None:
    ops = [OpCount("load", 100), OpCount("reduction", 100)]
    assert instructions_of_ops([*ops, OpCount("store_reduction", 100)]) == instructions_of_ops(ops) == 500


def test_a_loop_that_reduces_several_results_at_once_joins_each_element_to_them() -> None:
    """One sum, and one mean with its variance: of 200 reductions 100 have two results."""
    ops = (OpCount("reduction", 200), OpCount("store_reduction", 300))
    plain = cost_of_facts(KernelFacts("triton_per_fused_var_mean_0", 8, ops=ops)).instructions
    assert plain == instructions_of_ops(ops) == 600
    looped = cost_of_facts(KernelFacts("triton_red_fused_var_mean_0", 8, ops=ops)).instructions
    assert looped == 600 + round((JOINT.plain + JOINT.special) * 100)
    alone = (OpCount("reduction", 200), OpCount("store_reduction", 200))
    assert cost_of_facts(KernelFacts("triton_red_fused_sum_0", 8, ops=alone)).instructions == 600


def test_what_a_normalisation_does_with_its_variance_is_done_once_a_row() -> None:
    """Of the two divisions, sums and roots an element told here, one is of the mean and variance that are reduced."""
    moments = (OpCount("reduction", 100), OpCount("store_reduction", 200), OpCount("mul", 1_000))
    both = (OpCount("truediv", 200), OpCount("add", 200), OpCount("rsqrt", 200))
    one = (OpCount("truediv", 100), OpCount("add", 100), OpCount("rsqrt", 100), OpCount("mul", 1_000))
    assert instructions_of_ops(one) == 100 * (8 + 1 + 3) + 2 * 100 + 1_000
    assert instructions_of_ops([*moments, *both]) == 2_400 + 300
    without_root = (*moments, *both[:2])
    assert instructions_of_ops(without_root) == 200 * (8 + 1) + 200 + 1_000 + 300


def _resident(attribution: Attribution, cache_bytes: int | None) -> list[float]:
    facts = (
        KernelFacts("triton_poi_fused_add_0", 3_000, reads=(1_000,), writes=(2_000,)),
        KernelFacts("triton_poi_fused_mul_1", 2_500, reads=(2_000,), writes=(500,)),
        KernelFacts("triton_poi_fused_sub_2", 9_000, reads=(8_000,), writes=(1_000,)),
    )
    return resident_bytes(_costs(attribution, *facts), attribution, cache_bytes).tolist()


def test_an_input_written_shortly_before_may_still_be_cached() -> None:
    consumer = _run("triton_poi_fused_add_0", "triton_poi_fused_mul_1")
    assert _resident(consumer, 10_000) == [0.0, 2_000.0]
    assert _resident(consumer, None) == [0.0, 0.0]
    assert _resident(consumer, 1_500) == [0.0, 0.0]  # the output itself does not fit
    between = _run("triton_poi_fused_add_0", "triton_poi_fused_sub_2", "triton_poi_fused_mul_1")
    assert _resident(between, 10_000)[2] == 2_000.0
    assert _resident(between, 8_000)[2] == 0.0  # pushed out by what came between


def test_an_operator_of_several_kernels_has_written_when_the_last_of_them_ran() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            with run.op("aten::mm", ((64, 64), (64, 64)), (HALF, HALF)):
                run.launch("split k", us=5)
                run.launch("reduce", us=5)
            with run.op("aten::relu", ((64, 64),), (HALF,)):
                run.launch("relu", us=5)
        run.synchronize()
    attribution = attribute(run.trace())
    size = 64 * 64 * 2
    held = resident_bytes(kernel_costs(attribution), attribution, 1 << 20)
    assert np.allclose(held, [0.0, 0.0, size])


def test_what_is_read_again_comes_from_memory_as_far_as_the_cache_does_not_hold_what_lies_between() -> None:
    device = Device("cuda", "X", Source.MEASURED, l2_bytes=1_000)
    cost = Cost(0, 5_000, rereads=600, reread_span=2_000)
    assert missed_rereads(cost, device) == pytest.approx(600 * (1 - 500 / 2_000))
    assert missed_rereads(replace(cost, reread_span=400), device) == 0.0
    assert missed_rereads(cost, replace(device, l2_bytes=None)) == 0.0
    assert missed_rereads(cost, replace(device, kind="cpu")) == 0.0
    assert missed_rereads(Cost(0, 5_000), device) == 0.0


def test_memory_moves_all_but_the_last_writes_which_the_cache_still_holds() -> None:
    device = Device("cuda", "X", Source.MEASURED, l2_bytes=3_000)
    copy = Cost(0, 20_000, reads=(10_000,), writes=(10_000,))
    assert memory_bytes(copy, device) == pytest.approx(20_000 - 1_000)
    # What is read pushes out what was written: of the last 2,000 bytes a tenth was.
    assert memory_bytes(replace(copy, reads=(18_000,), writes=(2_000,)), device) == pytest.approx(20_000 - 200)
    # No more than a third of the cache holds what memory has to get, whatever was read.
    assert memory_bytes(replace(copy, reads=(), writes=(20_000,)), device) == pytest.approx(20_000 - 1_000)
    assert memory_bytes(Cost(0, 900, reads=(500,), writes=(400,)), device) == pytest.approx(500)
    assert memory_bytes(copy, device, 0.5) == pytest.approx(10_000 - 1_000)
    again = replace(copy, rereads=4_000, reread_span=3_000)
    assert memory_bytes(again, device) == pytest.approx(22_000 - 2_000 * 10_000 / 22_000)


def test_where_the_cache_is_not_known_and_on_a_cpu_memory_moves_what_a_kernel_does() -> None:
    cost = Cost(0, 900, reads=(500,), writes=(400,))
    assert memory_bytes(cost, Device("cuda", "X", Source.MEASURED)) == pytest.approx(900)
    assert memory_bytes(cost, Device("cpu", "X", Source.MEASURED, l2_bytes=3_000)) == pytest.approx(900)
    assert memory_bytes(Cost(0, 0), Device("cuda", "X", Source.MEASURED, l2_bytes=3_000)) == pytest.approx(0)


def test_what_a_small_kernel_writes_is_left_to_the_cache() -> None:
    device = Device("cuda", "X", Source.MEASURED, l2_bytes=3_000, l2_bytes_per_s=1e9)
    cost = Cost(0, 2_000, reads=(1_200,), writes=(500, 300))
    assert unwritten_bytes(cost, device) == pytest.approx(800)
    assert unwritten_bytes(replace(cost, bytes=2_001), device) == 0.0
    assert unwritten_bytes(replace(cost, bytes=4_000), device, 0.5) == pytest.approx(400)
    assert unwritten_bytes(cost, replace(device, kind="cpu")) == 0.0
    assert unwritten_bytes(cost, replace(device, l2_bytes=None)) == 0.0
    assert unwritten_bytes(cost, replace(device, l2_bytes_per_s=None)) == 0.0
