"""What keeps a measured run from bearing verdicts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analyzer.core.run import Verification
from analyzer.core.timing import Crowd
from analyzer.core.verdict import Bound, Verdict
from analyzer.diagnosis import Diagnosis, Judged
from analyzer.doubts import DRIFT, OUTRUN, OUTRUN_BY_PROBES, doubted, doubts_of
from analyzer.measured import Measured
from tests.reports import a_budget, a_key
from tests.unit.fake_driver import STEP_NS, a_timing, a_way
from tests.unit.optimizers.fake_lab import around

IDLE, BUSY = Crowd(0.0, 2, 2), Crowd(1.6, 2, 2)


@pytest.mark.parametrize(
    ("timed", "compared", "default_ns", "is_it"),
    [
        (IDLE, IDLE, STEP_NS, False),
        (None, None, STEP_NS, False),
        (BUSY, IDLE, STEP_NS, True),
        (IDLE, BUSY, STEP_NS, True),
        (IDLE, IDLE, round(1.1 * DRIFT * STEP_NS), True),
    ],
)
def test_a_crowd_in_either_pass_or_a_changed_machine_disturbs(
    timed: Crowd | None, compared: Crowd | None, default_ns: int, is_it: bool
) -> None:
    ways = a_way("eager", STEP_NS), a_way("default", default_ns), a_way("plan", STEP_NS)
    checked = Verification(*ways, capture=None, timing=None, crowd=compared)
    measured = Measured(timing=replace(a_timing(), crowd=timed), verification=checked)
    assert doubts_of(measured).is_disturbed is is_it


@pytest.mark.parametrize(("profiled", "is_doubted"), [(None, False), (1.8, False), (0.6, False), (0.4, True)])
def test_a_recorded_step_far_shorter_than_one_without_the_profiler_takes_every_verdict_back(
    profiled: float | None, is_doubted: bool
) -> None:
    profiled_ns = None if profiled is None else round(profiled * STEP_NS)
    measured = Measured(timing=a_timing(), profiled_step_ns=profiled_ns)
    assert (doubts_of(measured).why == OUTRUN) is is_doubted
    assert doubts_of(measured).is_disturbed is is_doubted


@pytest.mark.parametrize(("probed", "is_doubted"), [(1.8, False), (0.6, False), (0.4, True)])
def test_probed_steps_far_shorter_than_clean_ones_take_every_verdict_back(probed: float, is_doubted: bool) -> None:
    """Stretched to the clean step, their idle time would be blamed on the model: 6 ms of Python in place of 40 µs."""
    measured = Measured(timing=replace(a_timing(), probed_step_ns=around(round(probed * STEP_NS))))
    assert (doubts_of(measured).why == OUTRUN_BY_PROBES) is is_doubted
    assert doubts_of(measured).is_disturbed is is_doubted


@pytest.mark.parametrize(("factor", "is_doubted"), [(1.2, False), (1.0 / 1.8, False), (2.4, True), (1 / 2.4, True)])
def test_a_run_without_a_plan_is_held_against_the_default_beside_eager(factor: float, is_doubted: bool) -> None:
    measured = Measured(timing=a_timing(), default_ns=around(round(factor * STEP_NS)))
    assert ("the comparison with eager" in (doubts_of(measured).why or "")) is is_doubted


@pytest.mark.parametrize("factor", [1.2, 1.8, 2.4, 1 / 2.4])
def test_a_plan_is_judged_by_a_clean_pass_that_its_comparison_bears_out(factor: float) -> None:
    """A neighbour slowed the plan's clean pass alone: 141 µs in a budget beside a ratio of 65 µs, 97 % sure."""
    ways = a_way("eager", STEP_NS), a_way("default", STEP_NS), a_way("plan", STEP_NS)
    checked = Verification(*ways, capture=None, timing=a_timing(round(factor * STEP_NS)), crowd=IDLE)
    of_no_matter: Any = None
    region = Judged(a_key(1), of_no_matter, Verdict(Bound.CPU, confidence=0.97, evidence=()))
    found = Diagnosis(a_timing(), of_no_matter, (region,), a_budget(starved=9.0), of_no_matter)
    measured = Measured(timing=a_timing(), before=found, after=found, verification=checked)
    judged = doubted(measured, doubts_of(measured))
    assert judged.before == found
    assert judged.after is not None
    is_doubted = factor in (2.4, 1 / 2.4)
    assert ("the plan's clean pass" in (judged.after.regions[0].verdict.missing or "")) is is_doubted
    assert any("a step under the plan took" in note for note in doubts_of(measured).notes) is (factor != 1.2)
    assert doubts_of(measured).is_disturbed is (factor != 1.2)


def test_nothing_measured_is_not_disturbed() -> None:
    assert not doubts_of(Measured()).is_disturbed
