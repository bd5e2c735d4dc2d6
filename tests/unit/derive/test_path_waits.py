"""Waits that the device's own recorder tells of, in recordings that can be read off by eye."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.critical_path import PathKind
from analyzer.core.trace import EventKind, EventWait, OpDetail, Trace
from analyzer.derive.attribution import attribute
from analyzer.derive.critical_path import WalkedPath, critical_path
from tests.traces import Recording, Row

KERNEL, LAUNCH, RUNTIME, SYNC, WAIT = (
    EventKind.KERNEL, EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC, EventKind.WAIT,
)  # fmt: skip


def call(name: str, kind: EventKind, start: int, end: int, correlation: int) -> Row:
    """A call of the host, times in µs."""
    return Row(name, kind, start * 1000, (end - start) * 1000, correlation=correlation)


def kernel(name: str, start: int, end: int, stream: int, correlation: int) -> Row:
    return Row(name, KERNEL, start * 1000, (end - start) * 1000, stream=stream, correlation=correlation)


def wait(name: str, at: int, stream: int, correlation: int, event: EventWait | None = None) -> Row:
    detail = None if event is None else OpDetail(wait=event)
    return Row(name, WAIT, at * 1000, 0, stream=stream, correlation=correlation, detail=detail)


def walked(*rows: Row, until: int = 34) -> tuple[WalkedPath, Trace]:
    run = Recording()
    run.rows = [Row("ProfilerStep#0", EventKind.RANGE, 0, until * 1000), *rows]
    trace = run.trace()
    return critical_path(attribute(trace)), trace


def route(found: WalkedPath, trace: Trace) -> list[tuple[str, float]]:
    return [
        (s.kind.value if s.row is None else f"{s.kind.value}: {trace.name(s.row)}", (s.end_ns - s.start_ns) / 1000)
        for s in found.segments
    ]


TWO_STREAMS = (
    call("cudaLaunchKernel", LAUNCH, 10, 12, 1),
    kernel("long", 20, 60, 20, 1),
    call("cudaEventRecord", RUNTIME, 22, 23, 50),
    call("cudaLaunchKernel", LAUNCH, 24, 26, 2),
    # It ended right before `b` began, behind the event: nobody waits for it.
    kernel("decoy", 60, 61, 20, 2),
    call("cudaStreamWaitEvent", RUNTIME, 28, 29, 51),
    call("cudaLaunchKernel", LAUNCH, 30, 32, 3),
    kernel("b", 62, 70, 7, 3),
)
TO_LONG = [
    ("host", 10),
    ("launch delay: cudaLaunchKernel", 10),
    ("kernels: long", 40),
    ("gaps between kernels", 2),
    ("kernels: b", 8),
]


def test_an_event_leads_to_what_it_was_recorded_behind_not_to_what_ended_nearest() -> None:
    assert route(*walked(*TWO_STREAMS, wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50)))) == TO_LONG
    # Without the row, the nearest is all that can be said.
    assert ("kernels: decoy", 1) in route(*walked(*TWO_STREAMS))


def test_of_several_events_the_one_that_comes_last_held_the_kernel() -> None:
    earlier = (
        call("cudaLaunchKernel", LAUNCH, 2, 4, 4),
        kernel("short", 8, 36, 21, 4),
        call("cudaEventRecord", RUNTIME, 5, 6, 52),
        call("cudaStreamWaitEvent", RUNTIME, 27, 28, 53),
    )
    waits = [
        wait("Stream Wait Event", 27, 7, 53, EventWait(21, 52)),
        wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50)),
    ]
    for told in (waits, waits[::-1]):
        assert route(*walked(*earlier, *TWO_STREAMS, *told)) == TO_LONG


def test_where_waits_are_told_a_kernel_without_one_is_not_said_to_have_waited() -> None:
    """A call of cudaStreamWaitEvent is no wait of a kernel's, as its event was over, and the device says of none."""
    found, trace = walked(*TWO_STREAMS, wait("Context Sync", 0, -1, 999))
    assert route(found, trace) == [("host", 30), ("launch delay: cudaLaunchKernel", 32), ("kernels: b", 8)]


def test_an_event_whose_record_is_lost_is_guessed_as_without_the_row() -> None:
    for event in (EventWait(20, None), EventWait(None, 50), EventWait(20, 77), None):
        assert ("kernels: decoy", 1) in route(*walked(*TWO_STREAMS, wait("Stream Wait Event", 28, 7, 51, event)))


def test_an_id_of_several_calls_names_none_of_them() -> None:
    """Ranks merged into one file count their calls alike."""
    twice = call("cudaEventRecord", RUNTIME, 1, 2, 50)
    told = wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50))
    assert ("kernels: decoy", 1) in route(*walked(twice, *TWO_STREAMS, told))


def test_a_stream_number_that_two_devices_have_names_neither() -> None:
    """Each device's default stream is 7; an event may have been recorded on the other one's."""
    other = (
        call("cudaLaunchKernel", LAUNCH, 3, 4, 8),
        Row("remote", KERNEL, 6_000, 1_000, stream=20, correlation=8, device=1),
    )
    told = wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50))
    assert ("kernels: decoy", 1) in route(*walked(*other, *TWO_STREAMS, told))


def test_an_event_of_another_device_is_found_by_its_streams_number() -> None:
    remote = [replace(row, device=1) if row.stream == 20 else row for row in TWO_STREAMS]
    assert route(*walked(*remote, wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50)))) == TO_LONG


def test_an_event_recorded_before_anything_ran_holds_nobody() -> None:
    early = call("cudaEventRecord", RUNTIME, 1, 2, 60)
    told = wait("Stream Wait Event", 28, 7, 51, EventWait(20, 60))
    assert route(*walked(early, *TWO_STREAMS, told))[0] == ("host", 30)


def test_a_wait_that_was_over_before_the_launch_is_not_on_the_path() -> None:
    done = (
        call("cudaLaunchKernel", LAUNCH, 2, 4, 4),
        kernel("done", 8, 14, 20, 4),
        call("cudaEventRecord", RUNTIME, 16, 17, 50),
        call("cudaStreamWaitEvent", RUNTIME, 20, 21, 51),
        call("cudaLaunchKernel", LAUNCH, 30, 32, 3),
        kernel("b", 36, 44, 7, 3),
    )
    found, trace = walked(*done, wait("Stream Wait Event", 20, 7, 51, EventWait(20, 50)))
    assert route(found, trace) == [("host", 30), ("launch delay: cudaLaunchKernel", 6), ("kernels: b", 8)]


def test_a_row_that_ends_after_the_one_that_waited_began_did_not_release_it() -> None:
    """Clocks of two devices that disagree, or a file that lies."""
    odd = [row if row.name != "long" else kernel("long", 20, 90, 20, 1) for row in TWO_STREAMS]
    found, trace = walked(*odd, wait("Stream Wait Event", 28, 7, 51, EventWait(20, 50)), until=100)
    assert sum(part.ns for part in found.path.parts) == found.path.elapsed_ns
    assert all(s.row is None or trace.name(s.row) != "b" for s in found.segments)


HOST_WAITS = (
    call("cudaLaunchKernel", LAUNCH, 2, 4, 1),
    kernel("early", 6, 16, 20, 1),
    call("cudaEventRecord", RUNTIME, 5, 6, 50),
    call("cudaLaunchKernel", LAUNCH, 8, 9, 2),
    # Of another stream, and over just before the wait is.
    kernel("other", 12, 18, 7, 2),
)


def test_a_host_that_waits_for_an_event_leads_to_what_it_was_recorded_behind() -> None:
    told = wait("Event Sync", 10, 20, 3, EventWait(20, 50))
    after = call("cudaEventSynchronize", SYNC, 10, 20, 3)
    assert ("kernels: early", 10) in route(*walked(*HOST_WAITS, after, told))
    assert ("kernels: other", 6) in route(*walked(*HOST_WAITS, after))


def test_a_host_that_waits_for_a_stream_leads_to_that_stream_not_to_the_last_one_launched_to() -> None:
    after = call("cudaStreamSynchronize", SYNC, 10, 20, 3)
    assert ("kernels: early", 10) in route(*walked(*HOST_WAITS, after, wait("Stream Sync", 10, 20, 3)))
    assert ("kernels: other", 6) in route(*walked(*HOST_WAITS, after))


def test_a_host_that_waits_for_a_device_does_not_wait_for_another_one() -> None:
    other = Row("remote", KERNEL, 12_000, 7_000, stream=7, correlation=4, device=1)
    launch, after = call("cudaLaunchKernel", LAUNCH, 9, 10, 4), call("cudaDeviceSynchronize", SYNC, 10, 20, 3)
    told = wait("Context Sync", 10, -1, 3)
    assert ("kernels: other", 6) in route(*walked(*HOST_WAITS, launch, other, after, told))


def test_a_host_told_to_have_waited_for_nothing_spent_its_own_time() -> None:
    told = wait("Stream Sync", 10, 99, 3)
    found, trace = walked(*HOST_WAITS, call("cudaStreamSynchronize", SYNC, 10, 20, 3), told)
    assert route(found, trace) == [("host", 34)]


def test_streams_that_are_told_to_wait_for_each_other_end_the_path_instead_of_going_round() -> None:
    rows = [
        call("cudaEventRecord", RUNTIME, 18, 19, 50),
        call("cudaLaunchKernel", LAUNCH, 1, 2, 1),
        call("cudaLaunchKernel", LAUNCH, 3, 4, 2),
        # Both of no length at one moment, each behind the other's event.
        kernel("a", 30, 30, 7, 1),
        kernel("b", 30, 30, 20, 2),
        wait("Stream Wait Event", 0, 7, 60, EventWait(20, 50)),
        wait("Stream Wait Event", 0, 20, 61, EventWait(7, 50)),
        call("cudaStreamWaitEvent", RUNTIME, 0, 1, 60),
        call("cudaStreamWaitEvent", RUNTIME, 0, 1, 61),
        call("cudaStreamSynchronize", SYNC, 20, 32, 3),
    ]
    found, _ = walked(*rows)
    assert found.path.ns(PathKind.UNKNOWN) == 30_000 or found.path.missing is not None
    assert sum(part.ns for part in found.path.parts) == found.path.elapsed_ns
