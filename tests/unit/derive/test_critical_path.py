"""Paths that can be read off by eye, and those of public traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.core.critical_path import CriticalPath, PathKind, PathPart
from analyzer.core.trace import EventKind, Trace
from analyzer.derive.attribution import NOT_RECORDED, attribute
from analyzer.derive.critical_path import NO_LAUNCHES, NO_STREAMS, ON_A_CPU, TOO_LITTLE, WalkedPath, critical_path
from analyzer.derive.steps import find_steps, with_step_names
from collectors.readers.kineto import read_trace
from tests.traces import Recording, Row

TRACES = Path(__file__).parents[4] / "shared" / "traces"
needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason="needs the public traces")


def walked(trace: Trace) -> WalkedPath:
    return critical_path(attribute(with_step_names(trace, find_steps(trace))))


def rows(*given: tuple[str, EventKind, int, int]) -> Trace:
    """Rows of one thread and stream 7, times in µs; a correlation id binds the n-th launch to the n-th device row."""
    run = Recording()
    seen = {True: 0, False: 0}
    for name, kind, start, end in given:
        is_device = kind in (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)
        correlation = None
        if is_device or kind is EventKind.LAUNCH:
            seen[is_device] += 1
            correlation = 100 + seen[is_device]
        run.rows.append(
            Row(
                name, kind, start * 1000, (end - start) * 1000, stream=7 if is_device else None, correlation=correlation
            )
        )
    return run.trace()


def us(path: CriticalPath) -> dict[PathKind, float]:
    return {part.kind: part.ns / 1000 for part in path.parts}


def route(found: WalkedPath, trace: Trace) -> list[tuple[str, float]]:
    """Each segment as what it leads through and its length in µs, in order of time."""
    return [
        (s.kind.value if s.row is None else f"{s.kind.value}: {trace.name(s.row)}", (s.end_ns - s.start_ns) / 1000)
        for s in found.segments
    ]


STEP = ("ProfilerStep#0", EventKind.RANGE)
LAUNCH = ("cudaLaunchKernel", EventKind.LAUNCH)
KERNEL = EventKind.KERNEL


def test_a_host_that_comes_late_for_every_kernel_is_the_path_but_for_the_last_launch_and_kernel() -> None:
    trace = rows((*STEP, 0, 100), (*LAUNCH, 10, 12), ("a", KERNEL, 16, 20), (*LAUNCH, 90, 92), ("b", KERNEL, 96, 110))
    found = walked(trace)
    assert route(found, trace) == [("host", 90), ("launch delay: cudaLaunchKernel", 6), ("kernels: b", 14)]
    assert (found.path.elapsed_ns, found.path.steps) == (110_000, 1)


def test_kernels_that_were_launched_ahead_are_the_path_with_the_gaps_between_them() -> None:
    trace = rows(
        (*STEP, 0, 30),
        (*LAUNCH, 10, 12),
        (*LAUNCH, 14, 16),
        ("a", KERNEL, 16, 60),
        (*LAUNCH, 18, 20),
        ("b", KERNEL, 61, 100),
        ("c", KERNEL, 102, 110),
    )
    assert route(walked(trace), trace) == [
        ("host", 10),
        ("launch delay: cudaLaunchKernel", 6),
        ("kernels: a", 44),
        ("gaps between kernels", 1),
        ("kernels: b", 39),
        ("gaps between kernels", 2),
        ("kernels: c", 8),
    ]


def test_a_host_that_synchronizes_leads_to_the_kernel_it_waited_for() -> None:
    trace = rows(
        (*STEP, 0, 80),
        (*LAUNCH, 10, 12),
        ("a", KERNEL, 15, 50),
        ("cudaDeviceSynchronize", EventKind.SYNC, 20, 55),
        (*LAUNCH, 65, 67),
        ("b", KERNEL, 70, 90),
    )
    assert route(walked(trace), trace) == [
        ("host", 10),
        ("launch delay: cudaLaunchKernel", 5),
        ("kernels: a", 35),
        ("synchronising: cudaDeviceSynchronize", 5),
        ("host", 10),
        ("launch delay: cudaLaunchKernel", 5),
        ("kernels: b", 20),
    ]


def test_a_synchronize_with_nothing_to_wait_for_is_the_hosts_own_time() -> None:
    trace = rows(
        (*STEP, 0, 80),
        (*LAUNCH, 10, 12),
        ("a", KERNEL, 15, 20),
        ("cudaDeviceSynchronize", EventKind.SYNC, 40, 45),
        (*LAUNCH, 65, 67),
        ("b", KERNEL, 70, 90),
    )
    found = walked(trace)
    assert us(found.path) == {PathKind.HOST: 65, PathKind.COMPUTE: 20, PathKind.LAUNCH: 5}
    assert ("cudaDeviceSynchronize", PathKind.HOST, 5_000) in {(r.name, r.kind, r.ns) for r in found.path.rows}


def test_a_copy_that_holds_the_host_in_its_call_is_on_the_path() -> None:
    trace = rows(
        (*STEP, 0, 80),
        ("cudaMemcpy", EventKind.LAUNCH, 10, 45),
        ("Memcpy DtoH (Device -> Pageable)", EventKind.COPY, 16, 40),
        (*LAUNCH, 65, 67),
        ("b", KERNEL, 70, 90),
    )
    assert route(walked(trace), trace) == [
        ("host", 10),
        ("launch delay: cudaMemcpy", 6),
        ("copies: Memcpy DtoH (Device -> Pageable)", 24),
        ("synchronising: cudaMemcpy", 5),
        ("host", 20),
        ("launch delay: cudaLaunchKernel", 5),
        ("kernels: b", 20),
    ]


def two_streams(*, has_event: bool) -> Trace:
    """`comm` on stream 20 runs until 60; `b` on stream 7 was launched at 30 and begins at 62; `a` ended at 25."""
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 50_000),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 2_000, correlation=1),
        Row("a", EventKind.KERNEL, 15_000, 10_000, stream=7, correlation=1),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 14_000, 2_000, correlation=2),
        Row("ncclDevKernel_AllReduce_Sum_f32", EventKind.KERNEL, 20_000, 40_000, stream=20, correlation=2),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 30_000, 2_000, correlation=3),
        Row("b", EventKind.KERNEL, 62_000, 8_000, stream=7, correlation=3),
    ]
    if has_event:
        run.rows.append(Row("cudaStreamWaitEvent", EventKind.RUNTIME, 28_000, 1_000, correlation=4))
    return run.trace()


def test_a_kernel_that_waited_for_another_streams_event_leads_to_the_kernel_that_released_it() -> None:
    trace = two_streams(has_event=True)
    assert route(walked(trace), trace) == [
        ("host", 14),
        ("launch delay: cudaLaunchKernel", 6),
        ("communication: ncclDevKernel_AllReduce_Sum_f32", 40),
        ("gaps between kernels", 2),
        ("kernels: b", 8),
    ]


def test_without_the_event_what_ended_just_before_on_another_stream_is_not_accused() -> None:
    trace = two_streams(has_event=False)
    assert route(walked(trace), trace) == [("host", 30), ("launch delay: cudaLaunchKernel", 32), ("kernels: b", 8)]


def test_a_backward_thread_leads_back_to_the_thread_that_waited_for_it() -> None:
    run = Recording()
    main, other = 100, 200
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 100_000, thread=main),
        Row("aten::mm", EventKind.CPU_OP, 5_000, 15_000, thread=main),
        Row("MmBackward0", EventKind.CPU_OP, 30_000, 30_000, thread=other),
        Row("cudaStreamSynchronize", EventKind.SYNC, 35_000, 20_000, thread=other),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 32_000, 2_000, thread=other, correlation=1),
        Row("b", EventKind.KERNEL, 36_000, 16_000, stream=7, correlation=1),
        Row("aten::add_", EventKind.CPU_OP, 80_000, 10_000, thread=main),
    ]
    trace = run.trace()
    found = walked(trace)
    # The wait was another thread's, and would not be on the path of a main thread that goes its own way.
    assert route(found, trace) == [
        ("host", 30),
        ("host", 2),
        ("launch delay: cudaLaunchKernel", 4),
        ("kernels: b", 16),
        ("synchronising: cudaStreamSynchronize", 3),
        ("host", 5),
        ("host", 40),
    ]
    assert [segment.thread for segment in found.segments if segment.kind is PathKind.HOST] == [main, other, other, main]


def test_a_main_thread_that_waits_for_a_backward_pass_may_run_the_cpus_part_of_it() -> None:
    run = Recording()
    main, other = 100, 200
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 100_000, thread=main),
        Row("aten::mm", EventKind.CPU_OP, 5_000, 15_000, thread=main),
        Row("MmBackward0", EventKind.CPU_OP, 30_000, 40_000, thread=other),
        Row("autograd::engine::evaluate_function: AccumulateGrad", EventKind.CPU_OP, 50_000, 2_000, thread=main),
        Row("aten::add_", EventKind.CPU_OP, 68_000, 10_000, thread=main),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 1_000, thread=main, correlation=1),
        Row("a", EventKind.KERNEL, 15_000, 1_000, stream=7, correlation=1),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 40_000, 1_000, thread=other, correlation=2),
        Row("b", EventKind.KERNEL, 45_000, 1_000, stream=7, correlation=2),
    ]
    found = walked(run.trace())
    # The other thread is still closing its row when the main one goes on at 68.
    assert [(s.thread, s.start_ns, s.end_ns) for s in found.segments] == [
        (main, 0, 30_000),
        (other, 30_000, 68_000),
        (main, 68_000, 100_000),
    ]


def test_what_waits_too_long_for_anything_recorded_is_unknown() -> None:
    trace = rows((*STEP, 0, 9_000), (*LAUNCH, 8_000, 8_002), ("a", KERNEL, 11_000, 12_000))
    assert us(walked(trace).path) == {PathKind.HOST: 8_000, PathKind.UNKNOWN: 3_000, PathKind.COMPUTE: 1_000}


def test_the_host_is_told_by_its_innermost_rows() -> None:
    trace = rows(
        (*STEP, 0, 100),
        ("aten::linear", EventKind.CPU_OP, 10, 90),
        ("aten::mm", EventKind.CPU_OP, 20, 60),
        (*LAUNCH, 88, 89),
        ("a", KERNEL, 94, 101),
    )
    told = {row.name: (row.ns, row.count) for row in walked(trace).path.rows if row.kind is PathKind.HOST}
    assert told == {
        "aten::mm": (40_000, 1),
        "aten::linear": (38_000, 1),
        "Python, or what no row tells of": (10_000, 1),
    }


def test_steps_that_lost_their_device_rows_are_no_part_of_it() -> None:
    run = Recording()
    for number in range(4):
        with run.step():
            run.host(50)
            if number in (1, 2):
                run.launch("a", us=20)
            run.host(50)
    path = walked(run.trace()).path
    assert path.steps == 2
    assert path.elapsed_ns < 2 * 110_000


def test_no_path_is_told_where_the_recording_cannot_show_one() -> None:
    cpu = rows((*STEP, 0, 10), ("aten::mm", EventKind.CPU_OP, 1, 9))
    lost = rows((*STEP, 0, 10), (*LAUNCH, 1, 2))
    alone = rows(("a", KERNEL, 0, 5), ("b", KERNEL, 6, 9))
    run = Recording()
    run.rows += [
        Row("urEnqueueKernelLaunch", EventKind.LAUNCH, 0, 2_000, correlation=1),
        Row("a", EventKind.KERNEL, 5_000, 2_000, correlation=1),
    ]
    for trace, reason in ((cpu, ON_A_CPU), (lost, NOT_RECORDED), (alone, NO_LAUNCHES), (run.trace(), NO_STREAMS)):
        found = walked(trace)
        assert (found.path.missing, found.path.parts, found.segments) == (reason, (), ())


def test_a_path_that_is_mostly_unknown_is_none() -> None:
    assert walked(rows((*STEP, 0, 10), (*LAUNCH, 5, 6), ("a", KERNEL, 90_000, 90_001))).path.missing == TOO_LITTLE


def test_parts_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="add up"):
        CriticalPath(10, 1, 1, (PathPart(PathKind.HOST, 9),), ())


@needs_traces
@pytest.mark.parametrize(
    ("file", "most"),
    [
        ("h100_qwen_train.json.gz", PathKind.COMPUTE),
        ("mi300_qwen_train.json.gz", PathKind.COMPUTE),
        ("b300_qwen3_graph_decode.json.gz", PathKind.COMPUTE),
        ("dlrm_8ranks/worker0.json.gz", PathKind.HOST),
    ],
)
def test_the_path_of_a_public_trace_has_no_hole(file: str, most: PathKind) -> None:
    found = walked(read_trace(TRACES / file))
    assert found.path.parts[0].kind is most
    assert all(a.end_ns == b.start_ns for a, b in zip(found.segments, found.segments[1:], strict=False))
    assert found.segments[-1].end_ns - found.segments[0].start_ns == found.path.elapsed_ns


@needs_traces
@pytest.mark.parametrize("file", ["mi300_sglang_decode.json.gz", "a100_compiled_graphs_nccl_rank0of16.json.gz"])
def test_a_trace_that_lost_most_of_its_device_rows_has_no_path(file: str) -> None:
    assert walked(read_trace(TRACES / file)).path.missing == TOO_LITTLE


def beside_a_long_kernel(call: str, kind: EventKind) -> Trace:
    """`long` runs from 15 to 80 on stream 7; a copy of stream 20 from 24 to 30, and a call from 26 to 33; `b` after."""
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 90_000),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 2_000, correlation=1),
        Row("long", EventKind.KERNEL, 15_000, 65_000, stream=7, correlation=1),
        Row("cudaMemcpyAsync", EventKind.LAUNCH, 20_000, 2_000, correlation=2),
        Row("Memcpy DtoH (Device -> Pinned)", EventKind.COPY, 24_000, 6_000, stream=20, correlation=2),
        Row(call, kind, 26_000, 7_000, correlation=3),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 84_000, 2_000, correlation=4),
        Row("b", EventKind.KERNEL, 90_000, 20_000, stream=7, correlation=4),
    ]
    return run.trace()


def test_a_streams_wait_is_for_the_stream_that_was_launched_to_last() -> None:
    trace = beside_a_long_kernel("cudaStreamSynchronize", EventKind.SYNC)
    assert route(walked(trace), trace)[1:4] == [
        ("launch delay: cudaMemcpyAsync", 4),
        ("copies: Memcpy DtoH (Device -> Pinned)", 6),
        ("synchronising: cudaStreamSynchronize", 3),
    ]


def test_a_call_that_frees_memory_while_a_kernel_goes_on_did_not_wait_for_it() -> None:
    trace = beside_a_long_kernel("cudaFree", EventKind.RUNTIME)
    assert route(walked(trace), trace) == [("host", 84), ("launch delay: cudaLaunchKernel", 6), ("kernels: b", 20)]


def test_a_branch_of_a_graph_leads_to_the_branch_it_joined() -> None:
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 30_000),
        Row("cudaGraphLaunch", EventKind.LAUNCH, 10_000, 5_000, correlation=1),
        Row("short", EventKind.KERNEL, 20_000, 5_000, stream=7, correlation=1),
        Row("branch", EventKind.KERNEL, 21_000, 19_000, stream=20, correlation=1),
        Row("join", EventKind.KERNEL, 41_000, 9_000, stream=7, correlation=1),
    ]
    trace = run.trace()
    assert route(walked(trace), trace) == [
        ("host", 10),
        ("launch delay: cudaGraphLaunch", 11),
        ("kernels: branch", 19),
        ("gaps between kernels", 1),
        ("kernels: join", 9),
    ]


def test_a_kernel_whose_launch_is_missing_leads_to_the_one_right_before_it_and_else_to_the_unknown() -> None:
    def lost(start_us: int) -> Trace:
        run = Recording()
        run.rows += [
            Row("ProfilerStep#0", EventKind.RANGE, 0, 40_000),
            Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 2_000, correlation=50),
            Row("a", EventKind.KERNEL, 15_000, 15_000, stream=7, correlation=50),
            Row("lost", EventKind.KERNEL, start_us * 1000, 5_000, stream=7, correlation=60),
            Row("cudaLaunchKernel", EventKind.LAUNCH, 20_000, 2_000, correlation=51),
            Row("c", EventKind.KERNEL, (start_us + 6) * 1000, 9_000, stream=7, correlation=51),
        ]
        return run.trace()

    near, far = walked(lost(32)), walked(lost(39))
    assert us(near.path)[PathKind.GAP] == 3
    assert PathKind.UNKNOWN not in us(near.path)
    assert us(far.path)[PathKind.UNKNOWN] == 9


def test_a_streams_wait_may_return_long_after_its_copy_while_another_stream_works() -> None:
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 90_000),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 2_000, correlation=1),
        Row("long", EventKind.KERNEL, 15_000, 65_000, stream=7, correlation=1),
        Row("cudaMemcpyAsync", EventKind.LAUNCH, 20_000, 2_000, correlation=2),
        Row("Memcpy DtoH (Device -> Pinned)", EventKind.COPY, 24_000, 6_000, stream=20, correlation=2),
        Row("cudaStreamSynchronize", EventKind.SYNC, 26_000, 29_000, correlation=3),
    ]
    assert us(walked(run.trace()).path)[PathKind.SYNC] == 25


def test_rows_of_another_thread_within_an_operator_of_the_main_one_are_not_waited_for() -> None:
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 100_000, thread=100),
        Row("aten::mm", EventKind.CPU_OP, 5_000, 80_000, thread=100),
        Row("aten::copy_", EventKind.CPU_OP, 30_000, 10_000, thread=200),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 32_000, 1_000, thread=200, correlation=1),
        Row("a", EventKind.KERNEL, 36_000, 1_000, stream=7, correlation=1),
    ]
    assert [(s.thread, s.end_ns) for s in walked(run.trace()).segments] == [(100, 100_000)]


def test_of_steps_that_lie_apart_the_one_of_median_length_is_told() -> None:
    run = Recording()
    for us_long in (50, 500, 100):
        with run.step():
            run.launch("a", us=5)
            run.host(us_long)
            run.synchronize()
        run.host(200)
    path = walked(run.trace()).path
    assert path.steps == 1
    assert 100_000 < path.elapsed_ns < 200_000


def _behind_one_that_was_launched(correlation: int | None) -> WalkedPath:
    run = Recording()
    run.rows += [
        Row("ProfilerStep#0", EventKind.RANGE, 0, 90_000),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 10_000, 2_000, correlation=1),
        Row("a", EventKind.KERNEL, 15_000, 10_000, stream=7, correlation=1),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 16_000, 2_000, correlation=2),
        Row("lost or not", EventKind.KERNEL, 25_001, 9_000, stream=7, correlation=correlation),
        Row("cudaLaunchKernel", EventKind.LAUNCH, 20_000, 2_000, correlation=3),
        Row("c", EventKind.KERNEL, 34_002, 70_000, stream=7, correlation=3),
    ]
    return walked(run.trace())


def test_a_kernel_on_the_path_whose_launch_is_lost_is_counted_as_a_guess() -> None:
    assert _behind_one_that_was_launched(2).path.guessed == 0
    assert _behind_one_that_was_launched(None).path.guessed == 1


@needs_traces
def test_a_path_begins_with_its_step_and_a_recording_with_its_first_device_row() -> None:
    """Why 49.38 ms of path stand beside 49.65 ms recorded."""
    trace = read_trace(TRACES / "h100_qwen_train.json.gz")
    device = trace.rows(EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)
    recorded_ns = int(trace.ends(device).max() - trace.start_ns[device].min())
    before_ns = int(find_steps(trace).start_ns[0] - trace.start_ns[device].min())
    path = walked(trace).path
    assert (recorded_ns, before_ns, path.elapsed_ns) == (49_652_832, 273_929, 49_378_903)
    assert path.elapsed_ns == recorded_ns - before_ns
    assert path.guessed == 3
