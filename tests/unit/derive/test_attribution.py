"""A kernel belongs where its launch lies."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import GapKey, GraphKey, Region
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import NOT_RECORDED, Attribution, attribute
from tests.traces import Recording

A = GraphKey.parse("aaaaaaaaaaaa.inference")
B = GraphKey.parse("bbbbbbbbbbbb.inference")
FORWARD = GraphKey.parse("cccccccccccc.forward")
BACKWARD = GraphKey.parse("cccccccccccc.backward")
AUTOGRAD_THREAD = 200


def _regions(run: Recording) -> dict[str, Region | None]:
    """Where each kernel of a recording went, by its name."""
    found = attribute(run.trace())
    work = found.work
    return {
        found.trace.name(int(work.row[i])): found.regions[int(work.region[i])].region if work.has_region[i] else None
        for i in range(len(work))
    }


def _kernels(found: Attribution, region: Region) -> tuple[int, ...]:
    own = found.region(region)
    assert own is not None
    return own.kernels


def test_a_kernel_belongs_to_the_graph_that_launched_it_though_it_starts_after_the_graph_ended() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("long", us=100)
            run.launch("queued", us=5)
        with run.graph(str(B)):
            run.launch("of b", us=5)
        run.synchronize()
    trace = run.trace()
    queued = trace.names.index("queued")
    ranges_end = max(trace.end_ns[trace.name_id == trace.names.index(f"graphbound::{B}")])
    assert trace.start_ns[trace.name_id == queued][0] > ranges_end
    assert _regions(run) == {"long": A, "queued": A, "of b": B}


def test_what_is_launched_between_graphs_belongs_to_the_gap_between_those_two() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=1)
        with run.graph(str(A)):
            run.host(us=5)
        run.launch("between", us=1)
        with run.graph(str(B)):
            run.host(us=5)
        run.launch("last", us=1)
        run.synchronize()
    assert _regions(run) == {"first": GapKey(None, A), "between": GapKey(A, B), "last": GapKey(B, None)}


def test_a_backward_graph_on_the_autograd_thread_comes_after_the_forward_graph_of_the_main_thread() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(FORWARD)):
            run.launch("forward", us=3)
        run.launch("loss", us=3)
        with run.on_thread(AUTOGRAD_THREAD):
            run.launch("loss backward", us=3)
            with run.graph(str(BACKWARD)):
                run.launch("backward", us=3)
            run.launch("accumulate", us=3)
        run.synchronize()
    assert _regions(run) == {
        "forward": FORWARD,
        "loss": GapKey(FORWARD, BACKWARD),
        "loss backward": GapKey(FORWARD, BACKWARD),
        "backward": BACKWARD,
        "accumulate": GapKey(BACKWARD, None),
    }


def test_a_launch_on_another_thread_is_not_of_the_graph_that_runs_meanwhile() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("own", us=1)
            with run.on_thread(AUTOGRAD_THREAD):
                run.launch("beside", us=1)
        run.synchronize()
    assert _regions(run) == {"own": A, "beside": GapKey(A, None)}


def test_all_kernels_of_a_graph_replay_belong_to_the_graph_of_its_one_launch() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.replay([(f"k{i}", 2) for i in range(50)])
        run.synchronize()
    found = attribute(run.trace())
    assert _kernels(found, A) == (50,)
    assert found.attributed.linked_ns == 50 * 2_000
    assert found.attributed.unlinked_kernels == 0


def test_ranges_of_one_graph_in_each_other_are_one_call() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            with run.graph(str(A)), run.graph(str(A)):
                run.launch("k", us=1)
            run.synchronize()
    own = attribute(run.trace()).region(A)
    assert own is not None
    assert own.calls == 2
    assert own.kernels == (1, 1)


def test_a_graph_inside_another_graph_takes_its_own_kernels() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("outer", us=1)
            with run.graph(str(B)):
                run.launch("inner", us=1)
            run.launch("outer again", us=1)
        run.synchronize()
    assert _regions(run) == {"outer": A, "inner": B, "outer again": A}
    inner = attribute(run.trace()).region(B)
    assert inner is not None
    assert inner.calls == 1


def test_kernels_outside_of_steps_or_without_a_launch_are_counted_as_unlinked() -> None:
    run = Recording()
    run.launch("warm-up", us=4)
    with run.step():
        with run.graph(str(A)):
            run.launch("linked", us=2)
        run.launch("gap", us=3)
        run.orphan("no correlation", us=5)
        run.orphan("unknown correlation", us=6, correlation=999_999)
        run.synchronize()
    found = attribute(run.trace())
    attributed = found.attributed
    assert (attributed.linked_ns, attributed.gap_ns, attributed.unlinked_ns) == (2_000, 3_000, 15_000)
    assert (attributed.kernels, attributed.unlinked_kernels) == (5, 3)
    assert attributed.linked_share == pytest.approx(5 / 20)
    assert found.notes == (
        "2 device rows have no launch row",
        "1 device rows were launched outside the steps",
    )


def test_each_step_has_its_own_count_and_busy_time() -> None:
    run = Recording()
    for kernels in (1, 3):
        with run.step():
            with run.graph(str(A)):
                for _ in range(kernels):
                    run.launch("k", us=10)
            run.synchronize()
    own = attribute(run.trace()).region(A)
    assert own is not None
    assert own.kernels == (1, 3)
    assert own.busy_ns == (10_000, 30_000)


def test_overlapping_streams_are_busy_once() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("left", us=100, stream=7)
            run.launch("right", us=100, stream=8)
        run.synchronize()
    own = attribute(run.trace()).region(A)
    assert own is not None
    assert own.busy_ns == (101_000,)


def test_a_copy_counts_where_no_kernel_runs_beside_it() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("copy", us=10, kind=EventKind.COPY, stream=9)
            run.launch("kernel", us=4, stream=7)
        run.synchronize()
    own = attribute(run.trace()).region(A)
    assert own is not None
    assert (own.kernels, own.copies) == ((1,), (1,))
    assert own.busy_ns == (10_000,)
    assert own.copy_only_ns == (6_000,)


def test_a_step_that_lost_its_device_rows_says_nothing() -> None:
    run = Recording()
    for has_kernels in (False, True, True):
        with run.step():
            with run.graph(str(A)):
                if has_kernels:
                    run.launch("k", us=10)
            run.synchronize()
    found = attribute(run.trace())
    assert found.recorded_steps == (1, 2)
    assert _kernels(found, A) == (1, 1)
    assert "1 of 3 steps has no device rows: left out" in found.notes


def test_launches_without_device_rows_are_not_a_cpu_run() -> None:
    run = Recording()
    with run.step(), run.graph(str(A)), run.op("aten::mm"):
        run.launch("k", us=1)
    run.rows = [r for r in run.rows if r.kind is not EventKind.KERNEL]
    found = attribute(run.trace())
    assert not found.is_host
    assert found.attributed.linked_share is None
    assert NOT_RECORDED in found.notes


def test_the_operator_around_a_launch_is_the_innermost_one() -> None:
    run = Recording()
    with run.step(), run.graph(str(A)), run.op("aten::linear"), run.op("aten::addmm"):
        run.launch("k", us=1)
    found = attribute(run.trace())
    op = int(found.work.op[0])
    assert found.trace.name(op) == "aten::addmm"
    assert found.trace.name(int(found.parent_op[op])) == "aten::linear"


def test_a_range_written_as_an_operator_is_a_graph_too() -> None:
    run = Recording()
    with run.step(), run.op(f"graphbound::{A}"):
        run.launch("k", us=1)
    assert _regions(run) == {"k": A}


def test_waiting_counts_only_while_nothing_runs() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("k", us=50)
        run.synchronize()
        run.synchronize()
    tail = attribute(run.trace()).region(GapKey(A, None))
    assert tail is not None
    assert tail.idle_sync_ns == (1_000,)


def test_of_two_launches_with_one_correlation_the_last_before_the_kernel_counts() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("first", us=1)
        with run.graph(str(B)):
            run._correlation -= 1
            run.launch("second", us=1)
        run.synchronize()
    assert _regions(run) == {"first": A, "second": B}


def test_on_a_cpu_the_own_time_of_operators_is_the_work() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)), run.op("Torch-Compiled Region: 0/0"):
            run.host(us=100)
            with run.op("graph_0_cpp_fused_relu_0"):
                run.host(us=8)
            with run.op("aten::linear"):
                run.host(us=5)
                with run.op("aten::addmm"):
                    run.host(us=20)
                    with run.op("aten::resolve_conj"):
                        run.host(us=3)
        with run.op("aten::sum"):
            run.host(us=4)
            with run.op("aten::sum"):
                run.host(us=10)
    found = attribute(run.trace())
    assert found.is_host
    own = {found.trace.name(int(r)): int(ns) for r, ns in zip(found.work.row, found.work.own_ns, strict=True)}
    assert own == {"graph_0_cpp_fused_relu_0": 10_000, "aten::addmm": 22_000, "aten::sum": 12_000}
    region = found.region(A)
    assert region is not None
    assert region.busy_ns == (32_000,)
    assert region.kernels == (2,)
