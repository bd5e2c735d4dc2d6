"""Laws of the critical path of a recording."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.critical_path import PathKind
from analyzer.core.trace import EventKind, Trace
from analyzer.derive.attribution import attribute
from analyzer.derive.critical_path import WalkedPath, critical_path
from tests.traces import Recording, Row

LAWS = settings(deadline=None, max_examples=40)

deed = st.tuples(
    st.sampled_from(("host", "launch", "launch", "replay", "wait", "copy", "thread", "event", "orphan")),
    st.integers(1, 300),
    st.sampled_from((7, 8)),
)
programs = st.lists(st.lists(deed, max_size=12), min_size=1, max_size=3)


def _play(program: list[list[tuple[str, int, int]]]) -> Recording:
    run = Recording()
    for step in program:
        with run.step():
            run.launch("first", us=1)
            for what, us, stream in step:
                match what:
                    case "host":
                        run.host(us)
                    case "launch":
                        run.launch("kernel", us, stream=stream)
                    case "replay":
                        run.replay([("node", us), ("ncclDevKernel_AllReduce", us)], stream=stream)
                    case "wait":
                        run.synchronize("cudaStreamSynchronize", stream=stream)
                    case "copy":
                        run.copy("Memcpy DtoH (Device -> Pageable)", us, stream=stream, holds=True)
                    case "thread":
                        with run.on_thread(200), run.op("MmBackward0"):
                            run.launch("backward", us, stream=stream)
                    case "event":
                        run.call("cudaStreamWaitEvent", 1)
                    case _:
                        run.orphan("lost", us, stream=stream)
    return run


def _walked(trace: Trace) -> WalkedPath:
    return critical_path(attribute(trace))


@LAWS
@given(programs)
def test_the_segments_add_up_to_the_window_without_a_hole(program: list[list[tuple[str, int, int]]]) -> None:
    found = _walked(_play(program).trace())
    if found.path.missing is not None:
        assert found.segments == ()
        return
    assert all(a.end_ns == b.start_ns for a, b in zip(found.segments, found.segments[1:], strict=False))
    assert all(segment.end_ns > segment.start_ns for segment in found.segments)
    assert sum(part.ns for part in found.path.parts) == found.path.elapsed_ns
    assert found.segments[-1].end_ns - found.segments[0].start_ns == found.path.elapsed_ns
    for kind in PathKind:
        own = sum(s.end_ns - s.start_ns for s in found.segments if s.kind is kind)
        assert own == found.path.ns(kind)


@LAWS
@given(programs)
def test_a_kernel_has_no_more_time_on_the_path_than_it_ran(program: list[list[tuple[str, int, int]]]) -> None:
    trace = _play(program).trace()
    for segment in _walked(trace).segments:
        if segment.kind in (PathKind.COMPUTE, PathKind.COMMUNICATION, PathKind.COPY):
            assert segment.row is not None
            assert trace.start_ns[segment.row] <= segment.start_ns
            assert segment.end_ns <= trace.end_ns[segment.row]


@LAWS
@given(programs, st.integers(1, 10**15))
def test_shifting_all_times_changes_nothing(program: list[list[tuple[str, int, int]]], by_ns: int) -> None:
    run = _play(program)
    later = replace(run, rows=[replace(row, start_ns=row.start_ns + by_ns) for row in run.rows])
    assert _walked(later.trace()) == _walked(run.trace())


@LAWS
@given(programs, st.randoms(use_true_random=False))
def test_the_order_of_the_file_changes_nothing(program: list[list[tuple[str, int, int]]], random: object) -> None:
    run = _play(program)
    order = list(range(len(run.rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert _walked(run.trace(order=order)) == _walked(run.trace())


@LAWS
@given(programs)
def test_an_idle_stream_beside_it_changes_nothing(program: list[list[tuple[str, int, int]]]) -> None:
    """One kernel at the very begin of another stream, launched and done before anything else."""
    run = _play(program)
    late = [replace(row, start_ns=row.start_ns + 1_000_000) for row in run.rows]
    beside = [
        Row("cudaLaunchKernel", EventKind.LAUNCH, 0, 1_000, correlation=99_999),
        Row("idle", EventKind.KERNEL, 2_000, 1_000, stream=99, correlation=99_999),
    ]
    alone, both = _walked(replace(run, rows=late).trace()), _walked(replace(run, rows=[*beside, *late]).trace())
    assert (both.path.parts, both.path.elapsed_ns, both.path.rows) == (
        alone.path.parts, alone.path.elapsed_ns, alone.path.rows,
    )  # fmt: skip


@LAWS
@given(st.lists(st.integers(1, 200), min_size=1, max_size=10), st.integers(2, 5))
def test_scaling_a_queue_of_kernels_scales_every_part(lengths: list[int], factor: int) -> None:
    def queue(scale: int) -> WalkedPath:
        run = Recording()
        run.rows.append(Row("ProfilerStep#0", EventKind.RANGE, 0, 40_000 * scale))
        at = 60_000 * scale
        for i, us in enumerate(lengths):
            run.rows.append(Row("cudaLaunchKernel", EventKind.LAUNCH, (20_000 + i) * scale, scale, correlation=i + 1))
            run.rows.append(Row("a", EventKind.KERNEL, at, us * 1000 * scale, stream=7, correlation=i + 1))
            at += us * 1000 * scale
        return _walked(run.trace())

    small, large = queue(1).path, queue(factor).path
    assert {p.kind: p.ns * factor for p in small.parts} == {p.kind: p.ns for p in large.parts}
