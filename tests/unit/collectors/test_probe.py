"""What stands around a call: nothing, a clock, or a range; and a graph inside another's call is counted once."""

from __future__ import annotations

import pytest
import torch

from analyzer.core.graphs import Direction, GraphKey
from collectors.probe import RANGE_PREFIX, Probe, ProbeMode
from tests.reports import a_key

A, B = a_key(1), a_key(2, Direction.BACKWARD)


class Clock:
    """Moves when told to."""

    def __init__(self) -> None:
        self.ns = 1000

    def read(self) -> int:
        return self.ns

    def work(self, ns: int) -> None:
        self.ns += ns


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr("collectors.probe.time.perf_counter_ns", fake.read)
    return fake


def test_a_call_is_timed_from_the_start_of_the_step(clock: Clock) -> None:
    probe = Probe("cpu")
    call = probe.around(A, clock.work)
    probe.mode = ProbeMode.CLOCK
    probe.begin_step()
    clock.work(5)
    call(10)
    clock.work(3)
    call(20)
    clock.work(1)
    steps = probe.calls(probe.end_step())
    assert [(c.key, c.start_ns, c.end_ns, c.host_start_ns, c.host_end_ns) for c in steps.calls] == [
        (A, 5, 15, 5, 15),
        (A, 18, 38, 18, 38),
    ]
    assert steps.host_ns == steps.device_ns == 39


def test_a_call_inside_another_is_part_of_it(clock: Clock) -> None:
    probe = Probe("cpu")
    inner = probe.around(B, clock.work)

    def outer_work() -> None:
        clock.work(1)
        assert probe.current == A
        inner(10)
        clock.work(1)

    probe.mode = ProbeMode.CLOCK
    probe.begin_step()
    probe.around(A, outer_work)()
    inner(4)
    found = probe.calls(probe.end_step()).calls
    assert [(c.key, c.end_ns - c.start_ns) for c in found] == [(A, 12), (B, 4)]
    assert probe.current is None


def test_the_graph_that_runs_is_known_without_a_clock(clock: Clock) -> None:
    """Torch refuses a CUDA graph for inputs that are written to at its first call, long before any timing."""
    probe = Probe("cpu")
    seen = []
    inner = probe.around(B, lambda: seen.append(probe.current))
    probe.around(A, lambda: (seen.append(probe.current), inner(), seen.append(probe.current)))()
    assert seen == [A, B, A]
    assert probe.current is None


def test_a_step_forgets_the_last(clock: Clock) -> None:
    probe = Probe("cpu")
    call = probe.around(A, clock.work)
    probe.mode = ProbeMode.CLOCK
    for _ in range(2):
        probe.begin_step()
        call(10)
        found = probe.calls(probe.end_step())
        assert [(c.start_ns, c.end_ns) for c in found.calls] == [(0, 10)]


def test_a_call_that_raises_is_closed(clock: Clock) -> None:
    def failing() -> None:
        clock.work(3)
        raise ValueError("no")

    probe = Probe("cpu")
    probe.mode = ProbeMode.CLOCK
    probe.begin_step()
    with pytest.raises(ValueError, match="no"):
        probe.around(A, failing)()
    probe.around(B, clock.work)(4)
    assert [(c.key, c.end_ns - c.start_ns) for c in probe.calls(probe.end_step()).calls] == [(A, 3), (B, 4)]


def test_while_it_is_off_nothing_is_recorded(clock: Clock) -> None:
    probe = Probe("cpu")
    probe.begin_step()
    assert probe.around(A, lambda x: x + 1)(1) == 2
    assert probe.calls(probe.end_step()).calls == ()


def test_results_and_arguments_pass_through_in_every_mode() -> None:
    probe = Probe("cpu")
    call = probe.around(A, lambda a, b: (b, a))
    for mode in ProbeMode:
        probe.mode = mode
        probe.begin_step()
        assert call(1, 2) == (2, 1)


def test_a_callable_that_empties_its_list_stays_marked() -> None:
    def boxed(args: list[object]) -> None:
        args.clear()

    boxed._boxed_call = True  # type: ignore[attr-defined]
    probe = Probe("cpu")
    assert probe.around(A, boxed)._boxed_call is True  # type: ignore[attr-defined]
    assert probe.around(A, torch.relu)._boxed_call is False  # type: ignore[attr-defined]


def test_a_range_bears_the_graphs_key() -> None:
    probe = Probe("cpu")
    probe.mode = ProbeMode.RANGE
    call = probe.around(A, torch.relu)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as recording:
        call(torch.ones(3))
    (name,) = [e.name for e in recording.events() if e.name.startswith(RANGE_PREFIX)]
    assert GraphKey.parse(name.removeprefix(RANGE_PREFIX)) == A
