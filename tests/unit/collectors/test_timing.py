"""The clean pass: steady state is told from warm-up, regions leave no hole, and ways are measured in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.core.graphs import GapKey, GraphKey
from collectors import timing as module
from collectors.probe import Call, Probe, ProbeMode, StepCalls
from collectors.timing import (
    MAX_ROUNDS,
    MAX_SAMPLES,
    MAX_TURN_STEPS,
    MAX_WARMUP_STEPS,
    MIN_ROUNDS,
    MIN_SAMPLES,
    PROBE_ROUNDS,
    PROBES_A_ROUND,
    TURN_S,
    probe_in_turn,
    probe_steps,
    region_medians,
    sample_count,
    sample_in_turn,
    time_workload,
    turn_count,
    warm_up,
)
from tests.reports import a_key
from tests.workloads import a_stepper, a_workload

A, B = a_key(1), a_key(2)
MS = 1_000_000


@dataclass
class Log:
    compiles: int = 0
    recompiles: list[object] = field(default_factory=list)


@dataclass
class Steps:
    """Takes the place of a Stepper: `times` in turn (the last for ever), and an effect at some steps."""

    times: list[int]
    log: Log = field(default_factory=Log)
    compiles_at: tuple[int, ...] = ()
    recompiles_at: tuple[int, ...] = ()
    count: int = 0
    name: str = ""
    order: list[str] = field(default_factory=list)

    def timed(self) -> int:
        self.log.compiles += self.count in self.compiles_at
        self.log.recompiles += [object()] * (self.count in self.recompiles_at)
        self.order.append(self.name)
        self.count += 1
        return self.times[min(self.count, len(self.times)) - 1]


def warmed(steps: Steps) -> tuple[tuple[int, ...], bool]:
    return warm_up(steps, steps.log)  # type: ignore[arg-type]


def test_three_quiet_steps_are_a_steady_state() -> None:
    assert warmed(Steps([9, 1])) == ((9, 1, 1), True)
    assert warmed(Steps([9, 1], compiles_at=(0,))) == ((9, 1, 1, 1), True)


@pytest.mark.parametrize("what", ["compiles_at", "recompiles_at"])
def test_a_late_compilation_begins_the_wait_anew(what: str) -> None:
    times, is_steady = warmed(Steps([1], **{what: (0, 2)}))  # type: ignore[arg-type]
    assert len(times) == 6
    assert is_steady


def test_a_workload_that_compiles_for_ever_is_not_steady() -> None:
    times, is_steady = warmed(Steps([1], compiles_at=tuple(range(1000))))
    assert len(times) == MAX_WARMUP_STEPS
    assert not is_steady


def test_a_warm_up_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 50))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    times, is_steady = warmed(Steps([1], compiles_at=tuple(range(1000))))
    assert len(times) == module.MIN_WARMUP_STEPS
    assert not is_steady


@given(step_ns=st.integers(1, 10**12), ways=st.integers(1, 8))
def test_rounds_and_samples_stay_within_their_limits(step_ns: int, ways: int) -> None:
    rounds = turn_count(step_ns, ways)
    assert MIN_ROUNDS <= rounds <= MAX_ROUNDS
    assert rounds >= turn_count(step_ns, ways + 1)
    assert MIN_SAMPLES <= sample_count(step_ns) <= MAX_SAMPLES


def test_as_many_rounds_as_fit_the_time_aimed_at() -> None:
    # A step of 10 ms: one to settle and five counted a turn, two ways, so 0.12 s a round.
    assert turn_count(10 * MS, 2, target_s=1.2) == 10
    assert turn_count(10 * MS, 4, target_s=1.2) == MIN_ROUNDS
    assert sample_count(100 * MS, target_s=1.5) == 15


def test_ways_are_taken_in_turn_and_every_second_round_backwards() -> None:
    order: list[str] = []
    slow = 1000 * MS
    ways = [Steps([slow], name=name, order=order) for name in "ab"]
    switched: list[str] = []
    a, b = sample_in_turn([(w, lambda w=w: switched.append(w.name)) for w in ways], rounds=2)  # type: ignore[misc]
    assert switched == ["a", "b", "b", "a"]
    assert order == ["a", "a", "b", "b", "b", "b", "a", "a"]  # each settles for a step that is not counted
    assert len(a.ns) == len(b.ns) == 2


def test_the_step_that_settles_is_not_counted() -> None:
    fast = Steps([50 * MS, 2 * MS])
    (found,) = sample_in_turn([(fast, lambda: None)], rounds=1)  # type: ignore[list-item]
    assert set(found.ns) == {2 * MS}


def test_a_turn_of_a_short_step_is_several_steps_and_all_ways_get_as_many_samples() -> None:
    short, long = Steps([MS]), Steps([30 * MS])
    assert int(TURN_S * 1e9 / MS) > MAX_TURN_STEPS
    first, second = sample_in_turn([(short, lambda: None), (long, lambda: None)], rounds=6)  # type: ignore[list-item]
    assert short.count == 6 * (1 + MAX_TURN_STEPS)
    assert long.count == 6 * 2
    assert len(first.ns) == len(second.ns) == 6


def test_a_pair_is_of_one_round_however_many_steps_each_way_had_in_it() -> None:
    slow_at_first = Steps([50 * MS] * 2 + [6 * MS] * 9)
    fast = Steps([5 * MS] * 9 + [6 * MS] * 9)
    first, second = sample_in_turn([(slow_at_first, lambda: None), (fast, lambda: None)], rounds=2)  # type: ignore[list-item]
    assert first.ns == (50 * MS, *[6 * MS] * 8)
    assert second.ns == (5 * MS, *[6 * MS] * 8)


def test_samples_that_are_thinned_come_from_the_whole_time() -> None:
    assert module._thinned(list(range(12)), 4) == [0, 3, 6, 9]
    assert module._thinned([5, 6], 2) == [5, 6]


def call(key: GraphKey, start: int, end: int) -> Call:
    return Call(key, start, end, start, end)


def test_regions_partition_a_step_without_a_hole() -> None:
    step = StepCalls((call(A, 5, 15), call(B, 20, 50), call(A, 50, 60)), device_ns=70, host_ns=70)
    found = dict(region_medians([step]))
    assert found == {
        GapKey(None, A): 5,
        A: 20,
        GapKey(A, B): 5,
        B: 30,
        GapKey(B, A): 0,
        GapKey(A, None): 10,
    }
    assert sum(found.values()) == 70


@given(
    st.lists(st.tuples(st.sampled_from((A, B)), st.integers(0, 50), st.integers(0, 50)), max_size=8), st.integers(0, 9)
)
def test_regions_always_add_up_to_the_step(parts: list[tuple[GraphKey, int, int]], tail: int) -> None:
    at, calls = 0, []
    for key, gap, length in parts:
        calls.append(call(key, at + gap, at + gap + length))
        at += gap + length
    step = StepCalls(tuple(calls), device_ns=at + tail, host_ns=at + tail)
    assert sum(ns for _, ns in region_medians([step])) == at + tail


def test_a_region_that_one_step_skips_counts_as_nothing_there() -> None:
    with_b = StepCalls((call(A, 0, 10), call(B, 10, 30)), 30, 30)
    without = StepCalls((call(A, 0, 10),), 10, 10)
    (b,) = [r for r in module._regions([with_b, without, with_b]) if r.region == B]
    assert b.elapsed_ns.ns == (20, 0, 20)
    assert b.calls_per_step == pytest.approx(2 / 3)


def test_the_clean_pass_of_real_steps_adds_up() -> None:
    work = a_workload()
    probe = Probe("cpu")
    model = probe.around(A, work.model)

    def twice(x: Any) -> Any:
        return model(model(x))

    stepper = a_stepper(work, twice)
    timing = time_workload(stepper, probe, ((100 * MS, 50 * MS), True))
    assert probe.mode is ProbeMode.OFF
    assert len(timing.step_ns.ns) == len(timing.probed_step_ns.ns) == sample_count(50 * MS)
    assert timing.warmup_ns == (100 * MS, 50 * MS)
    assert [(str(r.region), r.calls_per_step) for r in timing.regions] == [
        (f"gap:start>{A}", 1.0),
        (str(A), 2.0),
        (f"gap:{A}>{A}", 1.0),
        (f"gap:{A}>end", 1.0),
    ]
    for index, whole in enumerate(timing.probed_step_ns.ns):
        assert sum(region.elapsed_ns.ns[index] for region in timing.regions) == whole


def test_ways_are_probed_in_turn_and_each_after_its_switch() -> None:
    probe, work, order = Probe("cpu"), a_workload(), list[str]()
    stepper = a_stepper(work, probe.around(A, work.model))
    ways = (lambda: order.append("first"), lambda: order.append("second"))
    first, second = probe_in_turn(stepper, probe, ways)
    assert order == ["first", "second"] * PROBE_ROUNDS
    assert len(first) == len(second) == PROBE_ROUNDS * PROBES_A_ROUND
    assert all(step.calls[0].key == A for step in (*first, *second))


def test_the_probe_is_off_again_after_a_step_that_raises() -> None:
    def failing(x: Any) -> Any:
        raise RuntimeError("no")

    probe = Probe("cpu")
    with pytest.raises(RuntimeError):
        probe_steps(a_stepper(a_workload(), failing), probe, 2)
    assert probe.mode is ProbeMode.OFF
