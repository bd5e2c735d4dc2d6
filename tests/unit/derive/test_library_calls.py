"""Kernels of libraries get their costs from the order of calls in compiled code, where that is certain."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from analyzer.core.graphs import CallOrder, Graph, LibraryCall
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.kernel_costs import KernelCosts, kernel_costs
from analyzer.derive.library_calls import called, from_calls, split
from tests.traces import Recording
from tests.unit.derive.runs import A, B

MM: Final = LibraryCall("aten::mm", ((128, 64), (64, 32)), ((64, 1), (32, 1)), ("bfloat16", "bfloat16"), ("", ""))
WIDE: Final = LibraryCall("aten::mm", ((128, 64), (64, 512)), ((64, 1), (512, 1)), ("bfloat16", "bfloat16"), ("", ""))
ATTENTION: Final = LibraryCall("aten::_scaled_dot_product_flash_attention", ((1, 2, 8, 16),) * 3)
SORT: Final = LibraryCall("aten::sort")
OWN: Final = LibraryCall("mine::operator")
GEMM, SPLIT, FLASH = "nvjet_tst_64x8_64x16_h_bz_TNT", "void cublasLt::splitKreduce_kernel<32, 16>", "flash_fwd_kernel"
FIRST, SECOND = "triton_poi_fused_add_0", "triton_poi_fused_mul_1"
ORDER: Final = CallOrder.of((FIRST, MM, SECOND, WIDE))
GRAPH: Final = Graph(key=A, compile_ids=(), source=(), op_count=4, ended_by=None, calls=ORDER)


def replayed(*kernels: str, times: int = 1, stream: int = 7) -> Attribution:
    run = Recording()
    with run.step():
        for _ in range(times):
            with run.graph(str(A)):
                run.replay([(name, 5) for name in kernels], stream=stream)
        run.synchronize()
    return attribute(run.trace())


def costs(attribution: Attribution, graph: Graph = GRAPH) -> KernelCosts:
    return from_calls(kernel_costs(attribution), attribution, (graph,))


def flops(*kernels: str, graph: Graph = GRAPH, times: int = 1) -> list[float]:
    found = costs(replayed(*kernels, times=times), graph)
    return [0 if cost is None else cost.flops for cost in found.costs]


def test_a_replayed_product_has_the_arithmetic_of_its_call() -> None:
    expected = [0, 2 * 128 * 64 * 32, 0, 2 * 128 * 64 * 512]
    assert flops(FIRST, GEMM, SECOND, GEMM) == expected
    assert flops(FIRST, GEMM, SECOND, GEMM, times=2) == expected * 2
    first = costs(replayed(FIRST, GEMM, SECOND, GEMM)).costs[1]
    assert first is not None
    assert (first.bytes, first.dtype) == (2 * (128 * 64 + 64 * 32 + 128 * 32), "bfloat16")


def test_kernels_of_one_call_share_what_it_does() -> None:
    found = costs(replayed(FIRST, GEMM, SPLIT, SECOND, GEMM))
    assert sum(cost.flops for cost in found.costs[1:3] if cost is not None) == 2 * 128 * 64 * 32
    assert found.costs[4] is not None


@pytest.mark.parametrize(
    "kernels",
    [
        (FIRST, GEMM, GEMM, SECOND, GEMM),  # one more than was called
        (FIRST, SECOND, GEMM),  # one less
        (FIRST, SPLIT, SECOND, GEMM),  # it cannot begin with what ends it
        (FIRST, FLASH, SECOND, GEMM),  # of another family
    ],
)
def test_where_a_stretch_is_not_what_was_called_that_stretch_alone_stays_unknown(kernels: tuple[str, ...]) -> None:
    *others, last = costs(replayed(*kernels)).costs
    assert all(cost is None for cost in others)
    assert last is not None
    assert last.flops == 2 * 128 * 64 * 512


@pytest.mark.parametrize(
    "kernels",
    [
        (SECOND, GEMM, FIRST, GEMM),  # the marks in another order
        (FIRST, GEMM, SECOND, GEMM, FIRST, GEMM),  # half a call more
        (FIRST, GEMM, "triton_poi_fused_of_another_graph_7", GEMM),
        (GEMM, GEMM),  # no mark at all
    ],
)
def test_where_the_marks_are_not_those_of_the_graph_nothing_is_known(kernels: tuple[str, ...]) -> None:
    assert not costs(replayed(*kernels)).is_known.any()


def test_another_graph_or_no_order_tells_nothing() -> None:
    attribution = replayed(FIRST, GEMM, SECOND, GEMM)
    assert not costs(attribution, replace(GRAPH, key=B)).is_known.any()
    assert not costs(attribution, replace(GRAPH, calls=None)).is_known.any()


def test_kernels_of_two_streams_have_no_order() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.replay([(FIRST, 5), (GEMM, 5)])
            run.replay([(SECOND, 5), (GEMM, 5)], stream=9)
        run.synchronize()
    assert not costs(attribute(run.trace())).is_known.any()


def test_a_call_of_unknown_inputs_keeps_its_kernels_apart_and_costs_nothing() -> None:
    order = replace(ORDER, calls=(replace(MM, shapes=(), strides=(), dtypes=(), values=()), WIDE))
    assert flops(FIRST, GEMM, SECOND, GEMM, graph=replace(GRAPH, calls=order)) == [0, 0, 0, 2 * 128 * 64 * 512]


def test_what_an_operator_told_goes_before_the_order() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch(FIRST, us=5)
            with run.op("aten::mm", ((8, 8), (8, 8)), ("c10::BFloat16", "c10::BFloat16")):
                run.launch(GEMM, us=5)
            run.launch(SECOND, us=5)
            run.launch(GEMM, us=5)
        run.synchronize()
    found = costs(attribute(run.trace())).costs
    assert found[1] is not None
    assert found[1].flops == 2 * 8**3
    assert found[3] is not None


@pytest.mark.parametrize(
    ("calls", "kernels", "is_bounded", "expected"),
    [
        ((MM, WIDE), (GEMM, GEMM), False, (1, 1)),
        ((MM, WIDE), (GEMM, SPLIT, GEMM), False, (2, 1)),
        ((MM, ATTENTION, MM), (GEMM, FLASH, "flash_fwd_splitkv_combine_kernel", GEMM), False, (1, 2, 1)),
        ((ATTENTION, ATTENTION), (FLASH, FLASH), False, (1, 1)),
        ((ATTENTION, ATTENTION), (FLASH, FLASH, FLASH), False, ()),  # one has two of them: which does not show
        ((SORT,), ("radix_sort_a", "radix_sort_b"), True, (2,)),
        ((SORT,), ("radix_sort_a", "radix_sort_b"), False, ()),  # one may be a copy of an input
        ((OWN,), ("a", "b"), True, ()),  # of how many kernels is not known, nor what each of them does
        ((MM, SORT), (GEMM, "radix_sort_a"), True, (1, 1)),
        ((), (GEMM,), True, ()),
        ((MM,), (), True, ()),
    ],
)
def test_kernels_are_split_where_there_is_one_way_to_do_it(
    calls: tuple[LibraryCall, ...], kernels: tuple[str, ...], is_bounded: bool, expected: tuple[int, ...]
) -> None:
    assert split(calls, kernels, is_bounded=is_bounded) == expected


CPU_ORDER: Final = CallOrder.of(("cpp_fused_add_0", MM, "cpp_fused_mul_1", WIDE))


def on_host(*rows: str) -> list[float]:
    run = Recording()
    with run.step(), run.graph(str(A)):
        for name in rows:
            with run.op(name):
                run.host(5)
    attribution = attribute(run.trace())
    assert attribution.is_host
    found = costs(attribution, replace(GRAPH, calls=CPU_ORDER))
    return [0 if cost is None else cost.flops for cost in found.costs]


def test_an_operator_of_a_cpp_wrapper_has_the_arithmetic_of_its_call() -> None:
    expected = [0, 2 * 128 * 64 * 32, 0, 2 * 128 * 64 * 512]
    rows = ("cpp_fused_add_0", "aten::mm", "cpp_fused_mul_1", "aten::mm")
    assert on_host(*rows) == expected
    assert on_host(*rows, *rows) == expected * 2


@pytest.mark.parametrize(
    "rows",
    [
        ("cpp_fused_add_0", "aten::mm", "cpp_fused_mul_1"),
        ("cpp_fused_mul_1", "aten::mm", "cpp_fused_add_0", "aten::mm"),
        ("cpp_fused_add_0", "aten::mm", "aten::mm", "cpp_fused_mul_1", "aten::mm"),
    ],
)
def test_a_cpus_rows_that_are_not_those_of_whole_calls_tell_nothing(rows: tuple[str, ...]) -> None:
    assert not any(on_host(*rows))


def test_only_the_calls_whose_kernels_are_certain_are_told() -> None:
    attribution = replayed(FIRST, GEMM, GEMM, SECOND, GEMM)
    ((one,),) = ([found.rows for found in called(attribution, (GRAPH,))],)
    assert one == (4,)
