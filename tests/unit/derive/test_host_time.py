"""Why the device is idle: the next kernel is queued, the host waits or waited, or the host is late."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.budget import HostKind
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.host_rows import KINDS
from analyzer.derive.host_time import HostTime
from tests.traces import Recording, Row
from tests.unit.derive.runs import MIDDLE, START, A, B

GUARDS = "TorchDynamo Cache Lookup"


def _host(found: Attribution, region: object) -> HostTime:
    work = found.region(region)  # type: ignore[arg-type]
    assert work is not None
    return work.host


def _kinds(host: HostTime, step: int = 0) -> dict[HostKind, int]:
    return {kind: column[step] for kind, column in zip(KINDS, host.kind_ns, strict=True) if column[step]}


def _compiled_step(run: Recording) -> None:
    """Rows nested as torch 2.11 nests them. Opening, closing and launching take 1 µs each."""
    with run.step():
        with run.op(GUARDS):
            run.host(us=38)
        with run.op("Torch-Compiled Region: 0/0"):
            with run.op("Pregraph bytecode"):
                run.host(us=8)
            with run.graph(str(A)):
                with run.op("AOTDispatcher Runtime Wrapper Prologue"):
                    run.host(us=3)
                with run.range("## Call CompiledFxGraph f ##"):
                    with run.op("aten::empty"):
                        run.host(us=2)
                    with run.op("aten::mm"):
                        run.host(us=18)
                        run.call("cudaMalloc", us=100)
                        run.call("cudaStreamIsCapturing", us=2)
                        run.launch("gemm", us=500)
        run.synchronize()


def test_idle_time_is_split_by_the_innermost_row() -> None:
    run = Recording()
    _compiled_step(run)
    found = attribute(run.trace())
    assert found.tells_host
    # 1 µs before the look-up is the step's own; 1 µs of the region opens it.
    assert _kinds(_host(found, START)) == {
        HostKind.PYTHON: 1_000,
        HostKind.GUARDS: 40_000,
        HostKind.BYTECODE: 11_000,
    }
    assert _kinds(_host(found, A)) == {
        HostKind.PROLOGUE: 5_000,
        HostKind.WRAPPER: 2_000,
        HostKind.ALLOCATOR: 104_000,
        HostKind.OPERATORS: 21_000,
        HostKind.LAUNCH: 1_000,
    }


def test_what_a_compiled_frame_calls_between_graphs_is_no_bytecode() -> None:
    def kinds(us: int) -> dict[HostKind, int]:
        run = Recording()
        with run.step():
            with run.op(GUARDS):
                run.host(us=10)
            with run.op("Torch-Compiled Region: 0/0"):
                with run.graph(str(A)):
                    run.launch("first", us=1)
                run.host(us=us)
                with run.graph(str(B)):
                    run.launch("second", us=1)
            run.synchronize()
        return _kinds(_host(attribute(run.trace()), MIDDLE))

    assert kinds(100).keys() == {HostKind.BYTECODE}
    assert kinds(2_000_000).keys() == {HostKind.PYTHON}


def test_what_the_host_does_while_the_device_works_costs_nothing() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("long", us=1_000)
            run.host(us=500)
        run.synchronize()
    assert _kinds(_host(attribute(run.trace()), A)) == {HostKind.WRAPPER: 1_000, HostKind.LAUNCH: 1_000}


def test_without_a_row_of_dynamos_the_split_of_a_compiled_run_is_not_told() -> None:
    run = Recording()
    _compiled_step(run)
    run.rows = [r for r in run.rows if r.name != GUARDS]
    assert not attribute(run.trace()).tells_host


def test_an_eager_run_needs_no_row_of_dynamos() -> None:
    run = Recording()
    with run.step(), run.op("aten::mm"):
        run.launch("gemm", us=5)
    assert attribute(run.trace()).tells_host


def test_a_trace_of_the_device_alone_tells_nothing_of_the_host() -> None:
    run = Recording()
    with run.step():
        run.orphan("k", us=5)
    assert not attribute(run.trace()).tells_host


def test_a_gap_before_a_kernel_launched_in_time_is_the_devices() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("first", us=50)
            run.launch("second", us=50)
        run.synchronize()
    second = next(r for r in run.rows if r.name == "second")
    run.rows = [replace(r, start_ns=r.start_ns + 3_000) if r is second else r for r in run.rows]
    host = _host(attribute(run.trace()), A)
    assert host.queued_ns == (3_000,)
    assert _kinds(host) == {HostKind.WRAPPER: 1_000, HostKind.LAUNCH: 1_000}


def test_gaps_inside_a_replay_are_the_devices_and_of_its_graph() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.replay([("a", 10), ("b", 10), ("c", 10)])
        run.synchronize()
    moved = {"b": 400, "c": 900}
    run.rows = [replace(r, start_ns=r.start_ns + moved.get(r.name, 0)) for r in run.rows]
    found = attribute(run.trace())
    # The host had left the graph by then, and waited for the step's end: for a device with work in its queue.
    assert _host(found, A).queued_ns == (900,)
    assert found.closing_ns == (0,)
    assert (_host(found, A).launches, _host(found, A).replays) == ((0,), (1,))


def test_a_late_launch_is_no_gap_of_the_device() -> None:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("first", us=5)
            run.host(us=100)
            run.launch("second", us=5)
        run.synchronize()
    host = _host(attribute(run.trace()), A)
    assert host.queued_ns == (0,)
    assert _kinds(host)[HostKind.WRAPPER] == 1_000 + 100_000 - 5_000


def _synced(*, device_us: float, host_after_us: float) -> HostTime:
    run = Recording()
    with run.step():
        with run.graph(str(A)):
            run.launch("k", us=device_us)
        run.synchronize()
        run.host(us=host_after_us)
        with run.graph(str(B)):
            run.launch("k", us=50)
        run.synchronize()
    return _host(attribute(run.trace()), MIDDLE)


def test_idle_time_after_a_wait_is_its_doing_as_far_as_the_host_had_waited() -> None:
    # The device works 99 µs of the wait, and the next launch comes 30 µs after: without the wait, none of it were idle.
    ahead = _synced(device_us=100, host_after_us=30)
    assert ahead.waited_ns == (0,)
    assert ahead.refill_ns == (31_000,)
    assert _kinds(ahead) == {}


def test_a_wait_that_hardly_waited_is_not_to_blame_for_a_slow_host() -> None:
    late = _synced(device_us=5, host_after_us=300)
    assert late.refill_ns == (4_000,)
    assert _kinds(late) == {HostKind.PYTHON: 297_000}


def test_waiting_for_an_idle_device_is_waiting() -> None:
    run = Recording()
    with run.step():
        run.synchronize()
        with run.graph(str(A)):
            run.launch("k", us=50)
        run.synchronize()
    assert _host(attribute(run.trace()), START).waited_ns == (1_000,)


def test_the_closing_wait_of_a_step_is_of_no_region_and_harms_no_later_step() -> None:
    run = Recording()
    for _ in range(3):
        _compiled_step(run)
    found = attribute(run.trace())
    assert all(r.host.waited_ns == r.host.refill_ns == (0, 0, 0) for r in found.regions)
    assert found.closing_ns == (0, 0, 0)


def test_what_the_profiler_does_for_itself_is_left_out() -> None:
    run = Recording()
    _compiled_step(run)
    lookup = next(r for r in run.rows if r.name == GUARDS)
    run.rows.append(Row("Activity Buffer Request", EventKind.OTHER, lookup.start_ns + 1_000, 30_000, thread=0))
    assert _kinds(_host(attribute(run.trace()), START))[HostKind.GUARDS] == 10_000


def test_a_thread_that_feeds_no_device_is_not_asked() -> None:
    run = Recording()
    _compiled_step(run)
    alone = _host(attribute(run.trace()), START)
    with run.on_thread(7):
        run.now_ns = 0
        with run.op("aten::pin_memory"):
            run.host(us=60)
    assert _host(attribute(run.trace()), START) == alone


def test_a_backward_on_its_own_thread_is_told_from_that_thread() -> None:
    run = Recording()
    with run.step():
        with run.op(GUARDS):
            run.host(us=1)
        with run.on_thread(7), run.graph(str(B)), run.op("aten::mm"):
            run.host(us=20)
            run.launch("gemm", us=50)
        run.synchronize()
    assert _kinds(_host(attribute(run.trace()), B)) == {
        HostKind.WRAPPER: 1_000,
        HostKind.OPERATORS: 21_000,
        HostKind.LAUNCH: 1_000,
    }


def test_a_second_stream_or_device_that_works_leaves_nothing_idle() -> None:
    for device, stream in ((0, 8), (1, 9)):
        run = Recording()
        with run.step():
            with run.graph(str(A)):
                run.launch("side", us=400, stream=stream, device=device)
                run.launch("k", us=5)
                run.host(us=200)
                run.launch("k", us=5)
            run.synchronize()
        found = attribute(run.trace())
        work = found.region(A)
        assert work is not None
        assert work.busy_ns == (400_000,)
        assert work.devices == 1 + device
        assert work.busiest_ns == (400_000,)
        assert _kinds(work.host) == {HostKind.WRAPPER: 1_000, HostKind.LAUNCH: 1_000}


def test_on_a_cpu_idle_is_what_is_between_the_operators_that_work() -> None:
    run = Recording()
    with run.step():
        with run.op(GUARDS):
            run.host(us=8)
        with run.graph(str(A)), run.op("aten::addmm"):
            run.host(us=100)
            with run.op("aten::expand"):
                run.host(us=3)
    found = attribute(run.trace())
    assert found.is_host
    assert _kinds(_host(found, A)) == {HostKind.WRAPPER: 2_000, HostKind.OPERATORS: 5_000}
    assert _kinds(_host(found, START))[HostKind.GUARDS] >= 10_000
