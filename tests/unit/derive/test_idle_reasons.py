"""What of the idle time lies outside of every marked step, and that its lines add up to the idle stretches."""

from __future__ import annotations

import numpy as np

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import attribute
from analyzer.derive.host_rows import WAITS
from analyzer.derive.idle_reasons import OUTSIDE, UNTOLD
from analyzer.derive.steps import find_steps
from analyzer.derive.trace_budget import TraceBudget, trace_budget
from tests.traces import Recording, Row

NOBODYS = Device(kind="unknown", name="x", source=Source.DATA_SHEET)
US = 1_000


def budget_of(run: Recording) -> TraceBudget:
    trace = run.trace()
    found = trace_budget(attribute(trace), find_steps(trace), NOBODYS)
    assert found is not None
    return found


def two_steps(*, apart_us: float, late_us: float = 20) -> Recording:
    """A kernel late in each of two steps, `apart_us` apart."""
    run = Recording()
    for number in range(2):
        with run.step():
            run.host(late_us)
            run.launch("gemm", us=5)
            run.host(late_us)
        run.host(apart_us * (number == 0))
    return run


def test_a_gap_across_two_steps_is_cut_where_they_end_and_begin() -> None:
    idle = budget_of(two_steps(apart_us=30)).idle
    # The kernel ends 5 µs after its call; the step ends 15 µs and its own closing later.
    assert (idle.end_ns - idle.start_ns).tolist() == [16 * US, 30 * US, 22 * US]
    assert idle.stretch.tolist() == [0, 0, 0]
    assert idle.ns[:, OUTSIDE].tolist() == [0, 30 * US, 0]
    assert idle.ns[:, :WAITS].sum(axis=1).tolist() == [16 * US, 0, 22 * US]
    assert not idle.ns[:, UNTOLD].any()


def test_what_the_host_is_seen_to_do_between_steps_is_its_own_and_not_outside() -> None:
    run = Recording()
    for _ in range(2):
        with run.step():
            run.launch("gemm", us=5)
        run.host(10)
        with run.op("aten::empty"):
            run.host(8)
    idle = budget_of(run).idle
    # The kernel runs on for 4 µs after its step.
    assert idle.ns[:, OUTSIDE].sum() == 6 * US
    assert (idle.ns.sum(axis=1) == idle.end_ns - idle.start_ns).all()


def test_steps_that_follow_one_another_cut_nothing() -> None:
    idle = budget_of(two_steps(apart_us=0)).idle
    assert idle.stretch.tolist() == [0]
    assert not idle.ns[:, OUTSIDE].any()


def test_kernels_launched_in_time_have_no_time_outside_of_steps() -> None:
    """The device works on while the host is between two steps."""
    run = Recording()
    with run.step():
        run.launch("gemm", us=100)
        run.launch("gemm", us=100)
    run.host(50)
    with run.step():
        run.launch("gemm", us=100)
    assert not budget_of(run).idle.ns.any()


def test_on_a_cpu_too_the_time_between_steps_is_nothing_of_the_program() -> None:
    run = Recording()
    for _ in range(2):
        with run.step(), run.op("aten::mm", shapes=((8, 8), (8, 8)), dtypes=("float", "float")):
            run.host(40)
        run.host(25)
    found = budget_of(run)
    assert found.idle.ns[:, OUTSIDE].tolist().count(25 * US) == 1
    assert found.whole.ns(Part.OTHER) == found.idle.ns[:, OUTSIDE].sum() == 25 * US
    assert sum(part.ns for part in found.whole.parts) == found.window.elapsed_ns


def test_the_lines_are_the_stretches_whatever_the_steps_are() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        run = Recording()
        for _ in range(int(rng.integers(0, 5))):
            with run.step():
                for _ in range(int(rng.integers(0, 4))):
                    run.host(float(rng.integers(0, 90)))
                    run.launch("gemm", us=float(rng.integers(0, 60)), stream=int(rng.integers(1, 3)))
            run.host(float(rng.integers(0, 40)) * int(rng.integers(0, 2)))
            if rng.integers(0, 2):
                run.launch("outside", us=4)
            if rng.integers(0, 3) == 0:
                run.orphan("nobody's", us=3)
        run.rows.append(Row("last", EventKind.KERNEL, run.now_ns + 900_000, 5_000, stream=1))
        found = budget_of(run)
        idle, window = found.idle, found.window
        assert np.bincount(idle.stretch, minlength=window.idle_before.size).all()
        sums = np.zeros(window.idle_before.size, dtype=np.int64)
        np.add.at(sums, idle.stretch, idle.ns.sum(axis=1))
        assert (sums == window.idle_end_ns - window.idle_start_ns).all()
        assert (idle.ns.sum(axis=1) == idle.end_ns - idle.start_ns).all()
        assert (idle.ns >= 0).all()
        assert (idle.start_ns[1:] >= idle.end_ns[:-1]).all()
        outside = idle.ns[:, OUTSIDE] > 0
        assert (idle.start_ns[outside] < idle.end_ns[outside]).all()
