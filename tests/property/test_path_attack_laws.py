"""Whatever a recording holds, its critical path ends, has no hole, and adds up to its window."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.core.critical_path import PathKind
from analyzer.core.errors import UnreadableFileError
from analyzer.core.trace import EventKind, EventWait, OpDetail, Trace
from analyzer.derive.attribution import attribute
from analyzer.derive.critical_path import critical_path
from collectors.readers.kineto import read_trace
from tests.traces import Recording, Row

LAWS = settings(deadline=None, max_examples=60)

NAMES = {
    EventKind.LAUNCH: ("cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync"),
    EventKind.RUNTIME: ("cudaStreamWaitEvent", "cudaEventRecord", "cudaFree"),
    EventKind.SYNC: ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize"),
    EventKind.KERNEL: ("gemm", "ncclDevKernel_AllReduce"),
    EventKind.COPY: ("Memcpy DtoH (Device -> Pageable)",),
    EventKind.RANGE: ("ProfilerStep#0", "ProfilerStep#1", "forward"),
    EventKind.CPU_OP: ("aten::mm", "autograd::engine::evaluate_function: MmBackward0"),
    EventKind.WAIT: ("Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync", "Unknown Sync"),
}
ON_DEVICE = (EventKind.KERNEL, EventKind.COPY, EventKind.WAIT)
# So few ids and streams that calls share them, events go in circles, and kernels come before their launches.
ids, streams = st.one_of(st.none(), st.integers(1, 6)), st.one_of(st.none(), st.sampled_from((-1, 7, 8, 20)))


@st.composite
def any_row(draw: st.DrawFn) -> Row:
    kind = draw(st.sampled_from(sorted(NAMES)))
    event = EventWait(draw(streams), draw(ids)) if kind is EventKind.WAIT and draw(st.booleans()) else None
    return Row(
        name=draw(st.sampled_from(NAMES[kind])),
        kind=kind,
        start_ns=draw(st.integers(0, 60)) * 1_000,
        duration_ns=draw(st.one_of(st.just(0), st.integers(0, 40_000))),
        thread=draw(st.sampled_from((100, 200))),
        stream=draw(streams) if kind in ON_DEVICE else None,
        correlation=draw(ids),
        detail=None if event is None else OpDetail(wait=event),
        device=draw(st.sampled_from((0, 0, 1))),
    )


def _holds(trace: Trace) -> None:
    found = critical_path(attribute(trace))
    if found.path.missing is not None:
        assert (found.path.parts, found.segments) == ((), ())
        return
    assert all(a.end_ns == b.start_ns for a, b in zip(found.segments, found.segments[1:], strict=False))
    assert sum(s.end_ns - s.start_ns for s in found.segments) == found.path.elapsed_ns
    for segment in found.segments:
        if segment.kind in (PathKind.COMPUTE, PathKind.COMMUNICATION, PathKind.COPY):
            assert segment.row is not None
            assert trace.start_ns[segment.row] <= segment.start_ns <= segment.end_ns <= trace.end_ns[segment.row]


@LAWS
@given(st.lists(any_row(), max_size=25))
def test_any_rows_at_all_make_a_path_without_a_hole_or_none(rows: list[Row]) -> None:
    run = Recording()
    run.rows = rows
    _holds(run.trace())


@LAWS
@given(st.lists(any_row(), min_size=1, max_size=25), st.integers(-200_000, 200_000))
def test_a_device_clock_that_is_off_makes_no_hole(rows: list[Row], skew_ns: int) -> None:
    run = Recording()
    run.rows = [
        Row(
            r.name, r.kind, r.start_ns + 200_000 + (skew_ns if r.kind in ON_DEVICE else 0), r.duration_ns, r.thread,
            r.stream, r.correlation, r.detail, r.device,
        )
        for r in rows
    ]  # fmt: skip
    _holds(run.trace())


@LAWS
@given(st.lists(any_row(), min_size=1, max_size=12), st.floats(0.1, 1))
def test_a_file_cut_anywhere_keeps_a_path_of_what_is_left_or_says_why_not(rows: list[Row], share: float) -> None:
    run = Recording()
    run.rows = rows
    with TemporaryDirectory() as folder:
        path = run.save(Path(folder) / "trace.json")
        whole = path.read_bytes()
        path.write_bytes(whole[: int(len(whole) * share)])
        with suppress(UnreadableFileError):
            _holds(read_trace(path))


@LAWS
@given(st.lists(any_row(), max_size=25), st.randoms(use_true_random=False))
def test_the_order_of_the_file_changes_no_part(rows: list[Row], random: object) -> None:
    run = Recording()
    run.rows = rows
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    parts = critical_path(attribute(run.trace())).path.parts
    assert critical_path(attribute(run.trace(order=order))).path.parts == parts
