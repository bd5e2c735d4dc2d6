"""A plan holds where it is better than the default at what was aimed at; eager has the last word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analyzer.core.run import Verification
from analyzer.core.settings import Objective
from analyzer.core.trial import TrialOutcome
from analyzer.fallback import better_plan
from analyzer.measured import Measured
from tests.unit.derive.runs import A
from tests.unit.fake_driver import STEP_NS, VERSIONS, a_capture, a_way


def verified(
    planned_ns: int, *, eager_ns: int = 3 * STEP_NS, outcome: TrialOutcome = TrialOutcome.MEASURED
) -> Measured:
    measured = Measured(versions=VERSIONS, capture=a_capture())
    measured.plan = measured.plan_of({A.digest: "frozen"})
    measured.verification = Verification(
        eager=a_way("eager", eager_ns),
        default=a_way("default", STEP_NS),
        planned=a_way("plan", planned_ns, outcome),
        capture=None,
        timing=None,
    )
    return measured


def test_a_plan_as_fast_as_the_default_holds_for_memory_and_not_for_latency() -> None:
    same = verified(STEP_NS)
    assert better_plan(same, Objective.MEMORY) is None
    assert better_plan(same, Objective.COMPILE) is None
    taken_back = better_plan(same)
    assert taken_back is not None
    assert taken_back.is_default


@pytest.mark.parametrize("objective", list(Objective))
def test_a_slower_or_wrong_plan_never_holds(objective: Objective) -> None:
    for measured in (verified(2 * STEP_NS), verified(STEP_NS // 2, outcome=TrialOutcome.WRONG_RESULT)):
        found = better_plan(measured, objective)
        assert found is not None
        assert found.is_default


@pytest.mark.parametrize("objective", list(Objective))
def test_where_eager_is_faster_the_model_is_left_alone(objective: Objective) -> None:
    found = better_plan(verified(STEP_NS // 2, eager_ns=STEP_NS // 4), objective)
    assert found is not None
    assert not found.is_compiled
    assert {choice.candidate for choice in found.choices} == {"eager"}


def test_a_plan_names_the_candidate_of_each_direction_where_they_differ() -> None:
    measured = Measured(versions=VERSIONS, capture=a_capture())
    plan = measured.plan_of({A.digest: "cpp_wrapper/frozen"})
    assert plan.candidate(A) == "cpp_wrapper"  # an inference graph is its forward


@pytest.mark.parametrize(("peak", "is_left"), [(None, True), (100, True), (101, False)])
def test_eager_is_no_way_out_where_it_needs_more_than_the_limit(peak: int | None, is_left: bool) -> None:
    measured = verified(STEP_NS // 2, eager_ns=STEP_NS // 4)
    assert measured.verification is not None
    eager = replace(measured.verification.eager, peak_bytes=peak)
    measured.verification = replace(measured.verification, eager=eager)
    found = better_plan(measured, memory_limit_bytes=100)
    assert (found is not None and not found.is_compiled) is is_left
