"""Host work that no kernel needs: the driver's allocator, guards, recording CUDA graphs, waiting for input."""

from __future__ import annotations

import pytest

from analyzer.core.activity import EntryKind
from analyzer.core.graphs import GapKey
from analyzer.derive.activity_calls import ALLOCATING, FREEING
from tests.traces import Recording
from tests.unit.derive.activity_runs import US, of
from tests.unit.derive.runs import START, A

WHOLE_STEP = GapKey(None, None)


def test_taking_memory_while_the_device_idles_costs_the_call() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            run.runtime("cudaMalloc", us=200)
            run.launch("work", us=50)
            run.synchronize()
    activity = of(run)
    (calls,) = activity.allocations
    assert (calls.call, calls.region, calls.count) == ("cudaMalloc", WHOLE_STEP, 1.0)
    assert calls.host_ns == calls.cost_ns == activity.allocation_cost_ns == 200 * US


def test_giving_memory_back_waits_for_the_device_and_costs_what_it_then_idles() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=400)
        run.host(us=10)
        run.runtime("cudaFree", us=400)
        run.host(us=100)
        run.launch("second", us=400)
        run.synchronize()
    activity = of(run)
    (calls,) = activity.allocations
    assert calls.host_ns == 400 * US
    idle_ns = next(r.start_ns for r in run.rows if r.name == "second") - 402 * US
    assert calls.cost_ns == activity.allocation_cost_ns == idle_ns
    assert activity.waits == ()


def test_an_allocation_beside_a_busy_device_costs_nothing() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=5_000)
        run.runtime("cudaMalloc", us=200)
        run.launch("next", us=5_000)
        run.synchronize()
    assert of(run).allocation_cost_ns == 0


def test_the_cost_of_all_allocations_is_no_more_than_the_device_idled() -> None:
    run = Recording()
    with run.step():
        run.runtime("cudaMalloc", us=200)
        run.runtime("cudaHostAlloc", us=300)
        run.launch("work", us=50)
        run.synchronize()
    activity = of(run)
    assert [calls.call for calls in activity.allocations] == ["cudaHostAlloc", "cudaMalloc"]
    assert activity.allocation_cost_ns == 500 * US


@pytest.mark.parametrize(
    ("name", "is_allocating", "is_freeing"),
    [
        ("cudaMalloc", True, False),
        ("cudaMallocAsync_v11020", True, False),
        ("cudaFree", True, True),
        ("cudaFreeHost", True, True),
        ("cudaFreeAsync", True, False),
        ("cudaHostAlloc", True, False),
        ("cudaMemPoolTrimTo", True, False),
        ("hipMalloc", True, False),
        ("hipFree", True, True),
        ("cuMemCreate", True, False),
        ("cuMemUnmap", True, False),
        ("cudaMemcpyAsync", False, False),
        ("cudaMemGetInfo", False, False),
        ("cudaMallocator", False, False),
    ],
)
def test_calls_of_the_driver_s_allocator_are_told_by_name(name: str, is_allocating: bool, is_freeing: bool) -> None:
    assert (ALLOCATING.fullmatch(name) is not None) is is_allocating
    assert (FREEING.fullmatch(name) is not None) is is_freeing


def _entered(run: Recording, *, busy_us: float = 0.0) -> None:
    with run.step():
        if busy_us:
            run.launch("before", us=busy_us)
        with run.op("TorchDynamo Cache Lookup"):
            run.host(us=98)
        with run.op("Torch-Compiled Region: 0/0"):
            with run.op("Pregraph bytecode"):
                run.host(us=28)
            with run.graph(str(A)):
                with run.op("AOTDispatcher Runtime Wrapper Prologue"):
                    run.host(us=18)
                run.launch("work", us=500)
        run.synchronize()


def test_what_it_takes_to_enter_a_graph_is_told_by_kind_and_region() -> None:
    run = Recording()
    for _ in range(3):
        _entered(run)
    activity = of(run)
    found = [(e.kind, e.region, e.count, e.profiled_ns, e.host_ns, e.cost_ns) for e in activity.entries]
    assert found == [
        (EntryKind.GUARDS, START, 1.0, 100 * US, 100 * US, 100 * US),
        (EntryKind.BYTECODE, START, 1.0, 30 * US, 30 * US, 30 * US),
        (EntryKind.PROLOGUE, A, 1.0, 20 * US, 20 * US, 20 * US),
    ]
    assert activity.entry_cost_ns == 150 * US


def test_guards_are_brought_to_the_clean_pass_and_the_profiled_time_is_kept() -> None:
    run = Recording()
    _entered(run)
    step_us = run.now_ns / US
    activity = of(run, step_us=500 + (step_us - 500) / 4)
    guards = activity.entries[0]
    assert guards.profiled_ns == 100 * US
    assert guards.host_ns == pytest.approx(25 * US, rel=0.02)
    assert guards.cost_ns == guards.host_ns
    assert activity.is_scaled


def test_guards_that_the_queue_hides_cost_nothing() -> None:
    run = Recording()
    _entered(run, busy_us=5_000)
    activity = of(run)
    assert activity.entries[0].host_ns == 100 * US
    assert activity.entry_cost_ns == 0


def test_on_a_cpu_guards_cost_their_whole_time() -> None:
    run = Recording(device_name=None)
    with run.step():
        with run.op("TorchDynamo Cache Lookup"):
            run.host(us=98)
        with run.graph(str(A)), run.op("aten::mm", ((8, 8), (8, 8)), ("float", "float")):
            run.host(us=300)
    activity = of(run)
    assert activity.is_host
    assert activity.entry_cost_ns == 100 * US


def test_replays_are_counted_and_a_steady_run_records_none() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            run.replay([("a", 10), ("b", 10)])
            run.replay([("a", 10)])
            run.synchronize()
    replays = of(run).replays
    assert replays is not None
    assert (replays.launches, replays.captures, replays.capture_ns, replays.cost_ns) == (2.0, 0.0, 0, 0)
    assert replays.region is None


def test_a_capture_lasts_until_its_graph_can_run() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            with run.graph(str(A)):
                run.runtime("cudaStreamBeginCapture_v10000", us=5)
                run.host(us=900)
                run.runtime("cudaStreamEndCapture_v10000", us=5)
                run.runtime("cudaGraphInstantiateWithFlags_v11040", us=90)
                run.replay([("a", 10)])
            run.runtime("cudaGraphInstantiate", us=700)
            run.synchronize()
    replays = of(run).replays
    assert replays is not None
    assert replays.captures == 1.0
    assert replays.capture_ns == 1_000 * US
    assert replays.cost_ns == 1_000 * US
    assert replays.region == A


def test_a_run_without_cuda_graphs_has_no_replays() -> None:
    run = Recording()
    with run.step():
        run.launch("work", us=10)
        run.synchronize()
    assert of(run).replays is None


def test_a_late_batch_costs_what_the_device_idles() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            run.launch("beside", us=50)
            with run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                run.host(us=300)
            run.launch("work", us=100)
            run.synchronize()
    (found,) = of(run).inputs
    assert found.loader == "_SingleProcessDataLoaderIter"
    assert found.count == 1.0
    assert found.host_ns == 302 * US
    assert found.idle_ns is not None
    assert 250 * US <= found.idle_ns <= 256 * US
    assert found.cost_ns == pytest.approx(found.idle_ns, abs=2 * US)


def test_a_batch_that_is_ready_costs_nothing() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=1_000)
        with run.range("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
            run.host(us=50)
        run.launch("work", us=1_000)
        run.synchronize()
    (found,) = of(run).inputs
    assert found.idle_ns == 0
    assert found.cost_ns == 0
