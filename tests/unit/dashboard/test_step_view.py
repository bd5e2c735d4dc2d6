"""One step of a trace as bars."""

from __future__ import annotations

import pytest

from analyzer.core.graphs import GapKey
from analyzer.core.trace import EventKind
from dashboard.step_view import BarKind, StepView, view_median_step
from tests.reports import a_key
from tests.traces import Recording

FIRST, SECOND = str(a_key(1)), str(a_key(2))


def _step(run: Recording, kernels: int = 2) -> None:
    with run.step():
        with run.graph(FIRST):
            for _ in range(kernels):
                run.launch("gemm", us=5)
        run.launch("eager_add", us=3)
        with run.graph(SECOND):
            run.replay([("relu", 2), ("softmax", 4)], stream=9)
        run.synchronize()


def _view(run: Recording, **options: int) -> StepView:
    view = view_median_step(run.trace(), **options)
    assert view is not None
    return view


def _named(view: StepView, name: str) -> list[tuple[object, object]]:
    return [(bar.kind, bar.region) for bar in view.bars if bar.name == name]


def test_each_kernel_has_the_region_that_launched_it() -> None:
    run = Recording()
    _step(run)
    view = _view(run)
    assert _named(view, "gemm") == [(BarKind.KERNEL, a_key(1))] * 2
    assert _named(view, "eager_add") == [(BarKind.KERNEL, GapKey(a_key(1), a_key(2)))]
    assert _named(view, "relu") == [(BarKind.KERNEL, a_key(2))]


def test_the_host_lane_shows_our_ranges_the_launches_and_the_waits() -> None:
    run = Recording()
    _step(run)
    view = _view(run)
    assert _named(view, f"graphbound::{FIRST}") == [(BarKind.GRAPH_RANGE, a_key(1))]
    assert [kind for kind, _ in _named(view, "cudaLaunchKernel")] == [BarKind.LAUNCH] * 3
    assert [kind for kind, _ in _named(view, "cudaDeviceSynchronize")] == [BarKind.SYNC]
    assert not _named(view, "ProfilerStep#0")


def test_there_is_a_lane_for_each_thread_and_stream_host_first() -> None:
    run = Recording()
    with run.step():
        with run.graph(FIRST):
            run.launch("gemm", us=5, stream=7)
        with run.on_thread(200), run.graph(SECOND):
            run.launch("copy", us=5, stream=20, kind=EventKind.COPY)
        run.synchronize()
    view = _view(run)
    assert view.lanes == ("host thread 100", "host thread 200", "stream 7", "stream 20")
    assert {view.lanes[bar.lane] for bar in view.bars if bar.kind is BarKind.COPY} == {"stream 20"}


def test_the_median_step_is_shown_and_time_starts_with_it() -> None:
    run = Recording()
    for kernels in (90, 2, 10):
        _step(run, kernels)
        run.host(1000)
    view = _view(run)
    assert (view.number, view.steps) == (3, 3)
    assert len(_named(view, "gemm")) == 10
    assert 0 < min(bar.start_ns for bar in view.bars) < 10_000
    assert max(bar.start_ns + bar.duration_ns for bar in view.bars) <= view.duration_ns


def test_a_kernel_without_a_launch_is_drawn_and_belongs_to_nobody() -> None:
    run = Recording()
    with run.step():
        run.launch("gemm", us=5)
        run.orphan("lost", us=5)
        run.synchronize()
    assert _named(_view(run), "lost") == [(BarKind.KERNEL, None)]


def test_a_cpu_trace_shows_operators_by_graph() -> None:
    run = Recording()
    with run.step(), run.graph(FIRST), run.op("aten::mm"):
        run.host(50)
    view = _view(run)
    assert view.is_host
    assert view.lanes == ("host thread 100", "operators, thread 100")
    assert _named(view, "aten::mm") == [(BarKind.OPERATOR, a_key(1))]


def test_a_trace_without_steps_has_no_view() -> None:
    run = Recording()
    with run.graph(FIRST):
        run.launch("gemm", us=5)
    assert view_median_step(run.trace()) is None
    assert view_median_step(Recording().trace()) is None


def test_too_many_bars_are_thinned_the_longest_kept_and_the_rest_counted() -> None:
    run = Recording()
    with run.step(), run.graph(FIRST):
        for number in range(4_000):
            run.launch("long" if number % 100 == 0 else "short", us=50 if number % 100 == 0 else 0.2)
    everything = _view(run, max_bars=100_000)
    view = _view(run, max_bars=500)
    assert everything.left_out == 0
    assert len(view.bars) <= 500
    assert len(view.bars) + view.left_out == len(everything.bars)
    assert len(_named(view, "long")) == 40
    assert [bar.start_ns for bar in view.bars] == sorted(bar.start_ns for bar in view.bars)


@pytest.mark.parametrize("shift_ns", [1, 10**15])
def test_shifting_all_timestamps_changes_no_bar(shift_ns: int) -> None:
    early, late = Recording(), Recording(now_ns=shift_ns)
    _step(early)
    _step(late)
    assert _view(early) == _view(late)
