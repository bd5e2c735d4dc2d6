"""The rule runner."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.finding import Confidence, Finding, RuleFailure
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule
from analyzer.rules.runner import run_rules


def _finds(rule_id: str, *costs: int | None) -> Rule:
    found = tuple(Finding(rule_id, "", None, cost, "") for cost in costs)
    return Rule(rule_id, "", lambda facts: found)


def _raises(rule_id: str, problem: Exception) -> Rule:
    def judge(facts: Facts) -> tuple[Finding, ...]:
        raise problem

    return Rule(rule_id, "", judge)


def test_findings_come_dearest_first_and_unknown_last() -> None:
    findings, failures = run_rules(Facts(), (_finds("a", None, 5), _finds("b", 70, 0)))
    assert [finding.ns_per_step for finding in findings] == [70, 5, 0, None]
    assert failures == ()


def test_equal_costs_keep_the_order_of_the_rules() -> None:
    findings, _ = run_rules(Facts(), (_finds("b", 5, None), _finds("a", 5, None)))
    assert [finding.rule for finding in findings] == ["b", "a", "b", "a"]


def test_a_cost_above_the_whole_step_is_not_believed() -> None:
    (finding,), _ = run_rules(Facts(step_ns=1_000_000), (_finds("a", 1_500_000),))
    assert finding.ns_per_step is None
    assert finding.message.endswith("its cost is not known: it came out at 1.50 ms of a step of 1.00 ms")
    (whole,), _ = run_rules(Facts(step_ns=1_000_000), (_finds("a", 1_000_000),))
    assert (whole.ns_per_step, whole.message) == (1_000_000, "")


def test_what_is_judged_by_times_is_not_certain_on_a_disturbed_machine() -> None:
    sure = replace(_finds("a", 1), confidence=Confidence.CERTAIN)
    rules = (sure, replace(sure, id="b", is_timed=True))
    for is_disturbed, timed in ((False, Confidence.CERTAIN), (True, Confidence.LIKELY)):
        findings, _ = run_rules(Facts(is_disturbed=is_disturbed), rules)
        assert [finding.confidence for finding in findings] == [Confidence.CERTAIN, timed]


def test_a_rule_without_its_data_says_what_is_missing() -> None:
    findings, failures = run_rules(Facts(), (_raises("a", MissingData("no trace")), _finds("b", 1)))
    assert failures == (RuleFailure("a", "no trace"),)
    assert len(findings) == 1


def test_a_broken_rule_fails_alone() -> None:
    findings, failures = run_rules(Facts(), (_raises("a", KeyError("x")), _finds("b", 1)))
    assert failures == (RuleFailure("a", "the rule failed: KeyError: 'x'"),)
    assert len(findings) == 1
