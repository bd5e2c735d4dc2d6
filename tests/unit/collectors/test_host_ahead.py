"""The host ahead of the device: what is taken in turn, and that a step which waits gives no figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from analyzer.core.graphs import GapKey
from collectors import host_ahead
from collectors.host_ahead import HOLD_NS, RegionAhead, paired, sample_host_ahead
from collectors.probe import Call, Probe, ProbeMode, StepCalls
from collectors.timing import PROBE_ROUNDS, PROBES_A_ROUND
from tests.reports import a_key
from tests.workloads import a_stepper, a_workload

A, B = a_key(1), a_key(2)


class Device:
    """Stands in for a CUDA device: told to hold, and asked whether it has come to the step, as `answers` say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answers: Iterator[bool]) -> None:
        self.held_ns: list[int] = []
        monkeypatch.setattr(host_ahead.torch_compat, "hold_device", self.held_ns.append)
        monkeypatch.setattr(host_ahead, "MOST_HOLD_NS", 10**18)  # on a crowded machine a step may take long
        monkeypatch.setattr(Probe, "has_begun", lambda probe: next(answers))


def sampled(*, call: Any = None) -> tuple[tuple[RegionAhead, ...] | None, Probe]:
    probe, work = Probe("cpu"), a_workload()
    model = probe.around(A, call or work.model)
    return sample_host_ahead(a_stepper(work, model), probe), probe


def endless(*values: bool) -> Iterator[bool]:
    while True:
        yield from values


def test_every_region_is_timed_both_ways_behind_a_held_device(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(monkeypatch, endless(False))
    found, probe = sampled()
    assert found is not None
    assert [one.region for one in found] == [GapKey(None, A), A, GapKey(A, None)]
    assert all(one.launched_ns > 0 and one.ahead_ns > 0 for one in found)
    assert len(device.held_ns) == PROBE_ROUNDS * PROBES_A_ROUND
    assert min(device.held_ns) > HOLD_NS
    assert probe.mode is ProbeMode.OFF


def test_a_step_that_waits_for_the_device_has_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    Device(monkeypatch, endless(True))
    assert sampled()[0] is None


def test_a_host_interrupted_now_and_then_costs_those_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    Device(monkeypatch, endless(False, False, True))
    assert sampled()[0] is not None
    Device(monkeypatch, endless(True, True, False))
    assert sampled()[0] is None


def test_a_step_too_long_to_hold_a_device_for_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    device = Device(monkeypatch, endless(False))
    monkeypatch.setattr(host_ahead, "MOST_HOLD_NS", HOLD_NS)
    assert sampled()[0] is None
    assert device.held_ns == []


def test_without_a_device_the_step_has_begun_at_once() -> None:
    probe = Probe("cpu")
    probe.begin_step()
    assert probe.has_begun()


def test_a_region_that_only_one_way_has_is_left_out() -> None:
    both = StepCalls((Call(A, 0, 10, 0, 10), Call(B, 10, 40, 10, 40)), 40, 40)
    one = StepCalls((Call(A, 0, 4, 0, 4),), 4, 4)
    assert [(r.region, r.launched_ns, r.ahead_ns) for r in paired([both], [one]) if r.region == A] == [(A, 10, 4)]
    assert B not in [r.region for r in paired([both], [one])]
