"""What waits of the host cost, and which cost nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.activity import CopyDirection, HostMemory
from analyzer.core.graphs import GapKey
from analyzer.core.trace import EventKind
from analyzer.derive.activity import activity
from analyzer.derive.activity_waits import direction_of, host_memory_of
from analyzer.derive.attribution import attribute
from tests.traces import Recording
from tests.unit.derive.activity_runs import READ, US, of, read_value, the_wait, to_device
from tests.unit.derive.runs import DEVICE, MIDDLE, A, B

WHOLE_STEP = GapKey(None, None)


def test_a_wait_with_a_late_host_behind_it_costs_all_that_was_waited() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        read_value(run)
        run.host(us=300)
        run.launch("second", us=100)
        run.synchronize()
    wait = the_wait(run)
    assert wait.ops == READ
    assert wait.region == WHOLE_STEP
    assert wait.direction is CopyDirection.TO_HOST
    assert wait.count == 1.0
    assert 95 * US <= wait.waited_ns <= 101 * US
    assert wait.cost_ns == wait.waited_ns
    assert 300 * US <= wait.idle_ns <= 306 * US


def test_a_long_wait_for_work_that_bounds_the_step_costs_only_the_moment_after_it() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=5_000)
        read_value(run)
        run.launch("next", us=5_000)
        run.synchronize()
    wait = the_wait(run)
    assert wait.waited_ns >= 4_990 * US
    assert wait.cost_ns is not None
    assert wait.cost_ns == wait.idle_ns <= 5 * US


def test_a_wait_at_the_end_of_the_step_is_harmless() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=5_000)
        read_value(run)
        run.synchronize()
    wait = the_wait(run)
    assert wait.waited_ns >= 4_990 * US
    assert wait.cost_ns is not None
    assert wait.cost_ns <= 5 * US


def test_a_wait_costs_the_lead_that_the_host_loses_and_not_just_the_gap_behind_it() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=400)
        read_value(run)
        for _ in range(50):
            run.host(us=9)
            run.launch("short", us=2)
        run.synchronize()
    wait = the_wait(run)
    assert wait.idle_ns <= 15 * US
    assert wait.cost_ns == wait.waited_ns >= 390 * US


def test_a_wait_costs_no_more_than_the_device_idles_after_it() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=400)
        read_value(run)
        run.host(us=50)
        run.launch("long too", us=400)
        run.synchronize()
    wait = the_wait(run)
    assert wait.cost_ns is not None
    assert wait.cost_ns == wait.idle_ns
    assert 50 * US <= wait.cost_ns <= 55 * US < wait.waited_ns


def test_of_two_waits_in_a_row_neither_is_harmless() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        read_value(run)
        with run.op("aten::nonzero"):
            run.copy("Memcpy DtoH (Device -> Pinned)", us=1)
            run.synchronize("cudaStreamSynchronize")
        run.host(us=300)
        run.launch("second", us=100)
        run.synchronize()
    waits = of(run).waits
    assert [w.ops[0] for w in waits] == ["aten::item", "aten::nonzero"]
    costs = [w.cost_ns or 0 for w in waits]
    assert sum(costs) >= 95 * US
    assert all(cost <= w.waited_ns for cost, w in zip(costs, waits, strict=True))


def test_the_closing_wait_of_each_step_is_none() -> None:
    run = Recording()
    for _ in range(3):
        with run.step():
            run.launch("long", us=500)
            run.synchronize()
    assert of(run).waits == ()


def test_an_explicit_wait_before_the_closing_one_is_one_and_harmless() -> None:
    run = Recording()
    with run.step():
        run.launch("long", us=500)
        run.synchronize()
        run.synchronize()
    wait = the_wait(run)
    assert wait.call == "cudaDeviceSynchronize"
    assert wait.ops == ()
    assert wait.cost_ns is not None
    assert wait.cost_ns <= 2 * US < wait.waited_ns


def test_a_wait_at_the_end_of_a_step_without_a_closing_one_delays_the_next_step() -> None:
    run = Recording()
    for _ in range(3):
        with run.step():
            run.host(us=200)
            run.launch("work", us=300)
            read_value(run)
    wait = the_wait(run)
    assert wait.cost_ns is not None
    # Two of the three steps have a next one to delay.
    assert wait.cost_ns == pytest.approx(2 / 3 * 200 * US, rel=0.1)


def test_while_another_stream_works_on_a_wait_costs_nothing() -> None:
    run = Recording()
    with run.step():
        run.launch("beside", us=5_000, stream=8)
        run.launch("short", us=100, stream=7)
        read_value(run, stream=7)
        run.host(us=300)
        run.launch("second", us=100, stream=7)
        run.synchronize()
    wait = the_wait(run)
    assert wait.waited_ns >= 95 * US
    assert wait.idle_ns == 0
    assert wait.cost_ns == 0


def test_a_wait_for_one_stream_costs_what_all_streams_idle_after_it() -> None:
    run = Recording()
    with run.step():
        run.launch("beside", us=150, stream=8)
        run.launch("long", us=300, stream=7)
        read_value(run, stream=7)
        run.host(us=100)
        run.launch("second", us=300, stream=8)
        run.synchronize()
    wait = the_wait(run)
    assert wait.cost_ns is not None
    assert 100 * US <= wait.cost_ns <= 106 * US


def _apart(run: Recording) -> None:
    """Puts the microsecond between queued kernels that a real device takes and the builder leaves out."""
    queued = [row for row in run.rows if row.name.startswith("queued")]
    later = {row.name: replace(row, start_ns=row.start_ns + i * US) for i, row in enumerate(queued)}
    run.rows = [later.get(row.name, row) for row in run.rows]


def test_kernels_that_wait_in_the_queue_leave_gaps_that_no_wait_made() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        read_value(run)
        for i in range(50):
            run.launch(f"queued {i}", us=10)
        run.host(us=50)
        run.synchronize()
    _apart(run)
    wait = the_wait(run)
    assert wait.waited_ns >= 95 * US
    assert wait.cost_ns is not None
    assert wait.cost_ns <= 8 * US


def test_the_nodes_of_a_replay_leave_gaps_that_no_wait_made_however_long_its_call_is() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        read_value(run)
        run.replay([(f"queued {i}", 10) for i in range(50)])
        run.host(us=540)
        run.synchronize()
    _apart(run)
    # Under the profiler a launch of 250 nodes was seen to take 0.6 ms, and its nodes to run meanwhile.
    run.rows = [replace(r, duration_ns=540 * US) if r.name == "cudaGraphLaunch" else r for r in run.rows]
    wait = the_wait(run)
    assert wait.cost_ns is not None
    assert wait.cost_ns <= 8 * US


def test_the_time_that_the_device_idled_before_a_wait_is_not_counted_as_behind_it() -> None:
    run = Recording()
    with run.step():
        run.launch("short", us=10)
        run.host(us=200)
        run.synchronize("cudaStreamSynchronize", stream=7)
        run.host(us=100)
        run.launch("next", us=100)
        run.synchronize()
    wait = the_wait(run)
    assert 100 * US <= wait.idle_ns <= 105 * US
    assert wait.cost_ns == wait.waited_ns == US


def test_when_another_thread_launches_meanwhile_the_cost_is_unknown() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        start = run.now_ns
        read_value(run)
        waited_until = run.now_ns
        with run.on_thread(200):
            run.now_ns = start + 50 * US
            run.launch("of another thread", us=5, stream=8)
        run.now_ns = waited_until
        run.host(us=300)
        run.launch("second", us=100)
        run.synchronize()
    assert the_wait(run).cost_ns is None


def test_a_call_in_which_the_device_does_nothing_for_long_waits_for_no_work_that_was_recorded() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        with run.op("aten::copy_"):
            run.host(us=400_000)  # the driver loads code at the first use of a call
            run.copy("Memcpy DtoH (Device -> Pageable)", us=5, holds=True)
        run.launch("second", us=100)
        run.synchronize()
    trace = run.trace()
    row = int(trace.named("cudaMemcpyAsync".__eq__, EventKind.LAUNCH)[0])
    start, duration = trace.start_ns.copy(), trace.duration_ns.copy()
    start[row], duration[row] = start[row] - 399_000 * US, duration[row] + 399_000 * US
    (wait,) = activity(attribute(replace(trace, start_ns=start, duration_ns=duration)), None, DEVICE).waits
    assert wait.is_for_nothing
    assert wait.cost_ns is None


def test_a_thread_that_launches_nothing_holds_up_nothing() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=500)
        with run.on_thread(200):
            run.synchronize("cudaEventSynchronize")
        run.synchronize()
    assert of(run).waits == ()


def test_waits_of_the_recorder_between_steps_are_none_of_the_program() -> None:
    run = Recording()
    for _ in range(2):
        with run.range("graphbound::prepare"):
            run.launch("restore", us=50)
            read_value(run)
        with run.step():
            run.launch("work", us=100)
            run.synchronize()
    assert of(run).waits == ()


def test_equal_waits_of_one_place_are_one_and_those_of_other_regions_are_not() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            with run.graph(str(A)):
                run.launch("first", us=100)
            for _ in range(3):
                read_value(run)
            with run.graph(str(B)):
                run.launch("second", us=100)
                read_value(run)
            run.synchronize()
    counts = {wait.region: wait.count for wait in of(run).waits}
    assert counts == {MIDDLE: 3.0, B: 1.0}


def test_a_copy_and_the_wait_behind_it_are_one_wait() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=100)
        to_device(run, us=50)
        run.host(us=300)
        run.launch("second", us=100)
        run.synchronize()
    activity = of(run)
    (wait,) = activity.waits
    assert wait.direction is CopyDirection.TO_DEVICE
    assert wait.call == "cudaMemcpyAsync"
    assert wait.count == 1.0
    assert 140 * US <= wait.waited_ns <= 155 * US
    (copy,) = activity.copies
    assert copy.holds_host
    assert copy.host_memory is HostMemory.PAGEABLE
    assert copy.bytes == 1 << 20
    assert copy.device_ns == copy.exposed_ns == 50 * US


def test_a_copy_that_does_not_hold_the_host_is_no_wait() -> None:
    run = Recording()
    with run.step():
        with run.op("aten::copy_"):
            run.copy("Memcpy HtoD (Pinned -> Device)", us=50)
        run.launch("beside", us=30, stream=8)
        run.synchronize()
    activity = of(run)
    assert activity.waits == ()
    (copy,) = activity.copies
    assert not copy.holds_host
    assert copy.bytes is None
    assert 20 * US <= copy.exposed_ns <= 25 * US


def test_with_a_clean_pass_the_idle_time_of_the_host_is_brought_to_it() -> None:
    run = Recording()
    with run.step():
        run.launch("first", us=400)
        read_value(run)
        run.host(us=300)
        run.launch("second", us=400)
        run.synchronize()
    profiled, step_us = the_wait(run), run.now_ns / US
    busy_us = 801
    half = the_wait(run, step_us=busy_us + (step_us - busy_us) / 2)
    assert profiled.cost_ns is not None
    assert half.cost_ns == pytest.approx(profiled.cost_ns / 2, rel=0.02)
    assert the_wait(run, step_us=busy_us).cost_ns == 0
    # A clean pass that is slower than the profiled one stretches nothing.
    assert the_wait(run, step_us=2 * step_us).cost_ns == profiled.cost_ns


@pytest.mark.parametrize(
    ("name", "direction", "memory"),
    [
        ("Memcpy HtoD (Pageable -> Device)", CopyDirection.TO_DEVICE, HostMemory.PAGEABLE),
        ("Memcpy HtoD (Pinned -> Device)", CopyDirection.TO_DEVICE, HostMemory.PINNED),
        ("Memcpy HtoD (Host -> Device)", CopyDirection.TO_DEVICE, None),
        ("Memcpy DtoH (Device -> Pageable)", CopyDirection.TO_HOST, HostMemory.PAGEABLE),
        ("Memcpy DtoD (Device -> Device)", CopyDirection.ON_DEVICE, None),
        ("Memcpy PtoP (Device -> Device)", CopyDirection.BETWEEN_DEVICES, None),
        ("CopyHostToDevice", CopyDirection.TO_DEVICE, None),
        ("CopyDeviceToHost", CopyDirection.TO_HOST, None),
        ("Memcpy HtoDx", None, None),
        ("my HtoD copy", None, None),
    ],
)
def test_a_copy_is_told_by_its_name(name: str, direction: CopyDirection | None, memory: HostMemory | None) -> None:
    assert direction_of(name) is direction
    assert host_memory_of(name) is memory
