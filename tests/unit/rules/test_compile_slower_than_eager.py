"""compile_slower_than_eager."""

from __future__ import annotations

from functools import partial

import pytest

from analyzer.core.report import PlanTrial
from analyzer.core.samples import Samples
from analyzer.core.trial import TrialOutcome
from analyzer.rules.compile_slower_than_eager import judge
from analyzer.rules.rule import MissingData
from tests.reports import MS, a_plan_trial
from tests.rule_facts import captured, facts


def test_a_default_compilation_slower_than_eager_costs_the_difference() -> None:
    (finding,) = judge(facts(plans=(a_plan_trial("eager", 8.5), a_plan_trial("default", 9.5))))
    assert finding.ns_per_step == MS
    assert "8.50 → 9.50 ms" in finding.message


def remedy(*plans: PlanTrial) -> str:
    (finding,) = judge(facts(plans=(a_plan_trial("eager", 8.5), a_plan_trial("default", 9.5), *plans)))
    return finding.remedy


def test_a_plan_is_named_only_where_there_is_one_that_helps() -> None:
    chosen = partial(a_plan_trial, is_chosen=True)
    assert "apply the plan" in remedy(chosen("plan", 4.0))
    assert "not faster" in remedy(chosen("plan", 9.0))
    assert "not faster" in remedy(chosen("plan", 4.0, outcome=TrialOutcome.WRONG_RESULT))
    assert "let analyze look for a faster plan" in remedy()
    left = judge(facts(plans=(chosen("eager", 8.5), a_plan_trial("default", 9.5))))
    assert "the plan says so" in left[0].remedy


def test_no_plan_is_promised_where_there_is_no_graph_to_plan_for() -> None:
    plans = (a_plan_trial("eager", 8.5), a_plan_trial("default", 9.5))
    (finding,) = judge(facts(plans=plans, capture=captured(graphs=())))
    assert "no graph was captured" in finding.remedy


def test_a_loss_of_a_per_cent_is_silent_however_steady() -> None:
    assert judge(facts(plans=(a_plan_trial("eager", 9.4), a_plan_trial("default", 9.5)))) == ()


def test_a_loss_within_noise_is_silent() -> None:
    eager = Samples(tuple(ms * MS for ms in (8, 14, 9, 13, 8, 15, 9)))
    compiled = Samples(tuple(ms * MS for ms in (13, 9, 14, 8, 15, 10, 12)))
    plans = (a_plan_trial("eager", 1.0, step_ns=eager), a_plan_trial("default", 1.0, step_ns=compiled))
    assert compiled.median_ns > 1.3 * eager.median_ns
    assert judge(facts(plans=plans)) == ()


def test_a_faster_compilation_is_silent() -> None:
    assert judge(facts()) == ()


@pytest.mark.parametrize("missing", ["eager", "default"])
def test_without_both_timings_it_cannot_tell(missing: str) -> None:
    names = [name for name in ("eager", "default") if name != missing]
    with pytest.raises(MissingData, match=missing):
        judge(facts(plans=(a_plan_trial(missing, None), *(a_plan_trial(name, 5.0) for name in names))))
