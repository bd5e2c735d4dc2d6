"""What the recorder does between steps is no part of the program that is analysed."""

from __future__ import annotations

from analyzer.core.trace import EventKind
from analyzer.derive.attribution import attribute
from analyzer.derive.preparation import PREPARE_RANGE as PREPARE
from analyzer.derive.preparation import without_preparation
from collectors.profiler import PREPARE_RANGE
from tests.traces import Recording
from tests.unit.derive.runs import A, recording


def prepared(*, order: list[int] | None = None) -> Recording:
    """Two steps with a copy of the inputs before each, on the same stream."""
    run = Recording()
    for _ in range(2):
        with run.range(PREPARE), run.op("aten::copy_", ((4,),), ("float",)):
            run.launch("copy_kernel", us=30)
        with run.step():
            with run.graph(str(A)), run.op("aten::add", ((4,),), ("float",)):
                run.launch("add", us=10)
            run.synchronize()
    return run


def test_both_sides_call_the_range_alike() -> None:
    assert PREPARE_RANGE == PREPARE


def test_its_rows_and_the_kernels_it_launched_are_left_out() -> None:
    whole = prepared().trace()
    trace, dropped = without_preparation(whole)
    assert dropped == 2
    left = [trace.name(row) for row in range(len(trace))]
    assert not {PREPARE, "copy_kernel", "aten::copy_"} & set(left)
    assert [trace.name(row) for row in trace.rows(EventKind.KERNEL)] == ["add", "add"]
    # Each: the range, the operator, its launch and its kernel.
    assert len(whole) - len(trace) == 2 * 4
    assert trace.details == whole.details


def test_a_trace_without_it_stays_the_same_object() -> None:
    trace = recording().trace()
    assert without_preparation(trace) == (trace, 0)
    assert without_preparation(trace)[0] is trace


def test_an_empty_trace_stays_empty() -> None:
    assert without_preparation(Recording().trace())[1] == 0


def test_other_threads_go_on_during_it() -> None:
    run = prepared()
    run.thread = 200
    run.now_ns = 1_000  # while the first inputs are put back
    with run.op("aten::other", ((4,),), ("float",)):
        pass
    trace, _ = without_preparation(run.trace())
    assert "aten::other" in [trace.name(row) for row in range(len(trace))]


def test_no_kernel_of_it_is_attributed_to_a_step() -> None:
    found = attribute(prepared().trace()).attributed
    assert (found.kernels, found.kernel_ns) == (2, 20_000)
    assert found.linked_share == 1.0
