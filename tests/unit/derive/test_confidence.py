"""Confidence is the share of perturbed budgets in which a bound wins."""

from __future__ import annotations

import math
import random
import time
from dataclasses import replace

import pytest

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.samples import Samples
from analyzer.core.verdict import Bound
from analyzer.derive.confidence import (
    BOUNDS,
    BUSY_ERROR,
    HOST_DRIFT,
    IDLE_ERROR,
    PARTS,
    Evidence,
    bound_ns,
    odds,
)
from analyzer.derive.doubt import KernelPoint

MS = 1_000_000


def _evidence(**ns: int) -> Evidence:
    parts = tuple(BudgetPart(Part[name], value) for name, value in ns.items() if value)
    return Evidence(Budget(sum(ns.values()), parts), Samples((sum(ns.values()),) * 5))


def _sure(evidence: Evidence, bound: Bound) -> float:
    return odds(evidence, bound).of(bound)


def test_every_part_with_a_bound_counts_to_one() -> None:
    assert {bound for _, bound in PARTS} == set(BOUNDS)
    assert set(Bound) - set(BOUNDS) == {Bound.UNDECIDED}
    budget = _evidence(STARVED=3 * MS, SYNC=2 * MS, MEMORY=MS).budget
    assert bound_ns(budget, Bound.CPU) == 5 * MS


def test_a_clear_margin_is_sure_and_a_tie_is_a_coin() -> None:
    assert _sure(_evidence(STARVED=9 * MS, COMPUTE=MS), Bound.CPU) == 1.0
    assert _sure(_evidence(STARVED=5 * MS, COMPUTE=5 * MS), Bound.CPU) == pytest.approx(0.5, abs=0.08)


def test_the_margin_decides_how_sure() -> None:
    sure = [_sure(_evidence(STARVED=5 * MS + more, COMPUTE=5 * MS - more), Bound.CPU) for more in range(0, MS, MS // 8)]
    assert sure == sorted(sure)
    assert sure[0] < 0.6
    # 5.9 to 4.1: behind only where the host, at another minute, is faster by more than a third.
    assert sure[-1] == pytest.approx(0.87, abs=0.05)


def test_waiting_and_lateness_starve_the_device_together() -> None:
    parted = _evidence(STARVED=3 * MS, SYNC=3 * MS, MEMORY=4 * MS)
    assert _sure(parted, Bound.CPU) == _sure(_evidence(STARVED=6 * MS, MEMORY=4 * MS), Bound.CPU)


def test_a_host_with_two_speeds_is_seen_with_both() -> None:
    # In a third of the steps the host is so fast that the kernels take most of them.
    steps = Samples((10 * MS,) * 20 + (5 * MS,) * 10)
    evidence = replace(_evidence(STARVED=6 * MS, MEMORY=4 * MS), elapsed=steps)
    found = odds(evidence, Bound.CPU)
    # And in the other two thirds a host that drifts is ahead seven times of eight.
    assert found.of(Bound.CPU) == pytest.approx(2 / 3 * 0.88, abs=0.08)
    assert found.rival(Bound.CPU) is not None
    assert found.rival(Bound.CPU)[0] is Bound.MEMORY  # type: ignore[index]


def test_time_that_nothing_explains_is_the_rivals() -> None:
    known = _evidence(STARVED=6 * MS, COMPUTE=4 * MS)
    for part in ("UNKNOWN_KERNELS", "OTHER"):
        assert _sure(_evidence(STARVED=6 * MS, COMPUTE=2 * MS, **{part: 4 * MS}), Bound.CPU) < _sure(known, Bound.CPU)
    assert _sure(_evidence(STARVED=4 * MS, COMPUTE=2 * MS, UNKNOWN_KERNELS=4 * MS), Bound.CPU) == pytest.approx(
        0.5, abs=0.1
    )


def test_device_time_that_nothing_links_may_have_run_in_idle_time_only() -> None:
    cpu, memory = _evidence(STARVED=6 * MS, MEMORY=4 * MS), _evidence(STARVED=4 * MS, MEMORY=6 * MS)
    assert _sure(replace(cpu, unlinked_share=0.3), Bound.CPU) < 0.8 * _sure(cpu, Bound.CPU)
    assert _sure(replace(memory, unlinked_share=0.3), Bound.MEMORY) == _sure(memory, Bound.MEMORY)


def test_kernels_near_both_roofs_make_it_unsure() -> None:
    budget = _evidence(STARVED=MS, COMPUTE=9 * MS)
    near = replace(budget, kernels=(KernelPoint(Part.COMPUTE, 9 * MS, 8.0 * MS, 7.9 * MS),))
    far = replace(budget, kernels=(KernelPoint(Part.COMPUTE, 9 * MS, 8.0 * MS, 0.5 * MS),))
    assert _sure(near, Bound.COMPUTE) == pytest.approx(0.5, abs=0.08)
    assert _sure(far, Bound.COMPUTE) == 1.0


def test_gaps_that_the_profiler_may_have_lengthened_are_the_hosts_in_part() -> None:
    gaps = replace(_evidence(STARVED=4 * MS, LATENCY=6 * MS), queued_ns=5 * MS)
    kernels = _evidence(STARVED=4 * MS, LATENCY=6 * MS)
    assert _sure(gaps, Bound.LATENCY) < _sure(kernels, Bound.LATENCY)


def test_a_part_that_two_events_cannot_time_decides_nothing() -> None:
    assert _sure(_evidence(STARVED=1_000), Bound.CPU) < 0.5
    assert _sure(_evidence(STARVED=20_000), Bound.CPU) == 1.0


def test_copies_in_front_leave_no_winner() -> None:
    found = odds(_evidence(STARVED=2 * MS, COPIES=6 * MS), Bound.CPU)
    assert found.of(Bound.CPU) < 0.02
    assert found.rival(Bound.CPU) is None


def test_a_cpus_scaled_times_are_less_sure() -> None:
    # Waits for the device, which a CPU has as well, and no lateness of the host's that could drift.
    sure = _sure(_evidence(LATENCY=4 * MS, MEMORY=6 * MS), Bound.MEMORY)
    evidence = replace(_evidence(STARVED=4 * MS, MEMORY=6 * MS), is_host=True)
    assert _sure(evidence, Bound.MEMORY) < sure
    assert _sure(replace(evidence, busy_spread=0.3), Bound.MEMORY) < _sure(evidence, Bound.MEMORY)


def test_the_same_evidence_gives_the_same_odds_whatever_the_order_of_steps() -> None:
    steps = tuple(range(9 * MS, 11 * MS, MS // 10))
    evidence = replace(_evidence(STARVED=5 * MS, MEMORY=5 * MS), elapsed=Samples(steps))
    assert odds(evidence, Bound.CPU) == odds(replace(evidence, elapsed=Samples(steps[::-1])), Bound.CPU)


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.2, 0.3])
def test_confidence_is_calibrated_where_the_errors_are_the_assumed_ones(margin: float) -> None:
    """A bound in front by a margin is right as often as those errors allow, drawn here in another way."""
    starved = round((0.5 + margin / 2) * 100 * MS)
    rng = random.Random(1)
    held = 0
    for _ in range(4_000):
        busy = (100 * MS - starved) * (1 + BUSY_ERROR * rng.gauss(0, 1))
        elapsed = 100 * MS * (1 + IDLE_ERROR * rng.gauss(0, 1))
        held += (elapsed - busy) * math.exp(HOST_DRIFT * rng.gauss(0, 1)) > busy
    found = _sure(_evidence(STARVED=starved, MEMORY=100 * MS - starved), Bound.CPU)
    assert found == pytest.approx(held / 4_000, abs=0.07)


def test_a_graph_of_microseconds_is_not_late_for_the_gaps_at_its_edges() -> None:
    # Three launches well ahead have such gaps between two events.
    assert _sure(_evidence(STARVED=2_500, LATENCY=500), Bound.CPU) < 0.5
    assert _sure(_evidence(STARVED=25_000, LATENCY=500), Bound.CPU) == 1.0


def test_what_probes_cost_leaves_a_short_graph_unsure() -> None:
    evidence = _evidence(STARVED=30_000, LATENCY=20_000)
    probed = replace(evidence, elapsed=Samples((90_000,) * 5))
    assert _sure(probed, Bound.CPU) < _sure(evidence, Bound.CPU)


def test_gaps_of_the_devices_own_do_not_drift_with_the_host() -> None:
    gaps = replace(_evidence(LATENCY=6 * MS, MEMORY=4 * MS), queued_ns=6 * MS)
    late = _evidence(STARVED=6 * MS, MEMORY=4 * MS)
    assert _sure(gaps, Bound.LATENCY) > _sure(late, Bound.CPU)


def test_a_host_that_was_seen_to_drift_further_is_less_sure_unless_it_is_the_device() -> None:
    late = _evidence(STARVED=7 * MS, MEMORY=3 * MS)
    assert _sure(replace(late, host_drift=0.7), Bound.CPU) < _sure(late, Bound.CPU) - 0.05
    on_cpu = replace(late, is_host=True)
    assert _sure(replace(on_cpu, host_drift=0.7), Bound.CPU) == _sure(on_cpu, Bound.CPU)


def test_a_region_of_many_kernels_takes_a_few_milliseconds() -> None:
    kernels = tuple(KernelPoint(Part.MEMORY, 5_000 + i, 10.0, 2_200.0 + i) for i in range(3_000))
    evidence = replace(_evidence(STARVED=5 * MS, MEMORY=5 * MS), kernels=kernels)
    odds(evidence, Bound.CPU)
    begin = time.process_time()
    for _ in range(5):
        odds(evidence, Bound.CPU)
    # Aimed at 5 ms; what is caught here is a loop over draws.
    assert (time.process_time() - begin) / 5 < 0.05
