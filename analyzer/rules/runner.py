"""Runs every rule over the facts of one run. A broken rule fails alone, and says so in the report."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer.core.finding import Finding, RuleFailure
from analyzer.rules import RULES
from analyzer.rules.facts import Facts
from analyzer.rules.rule import MissingData, Rule


def run_rules(facts: Facts, rules: Iterable[Rule] = RULES) -> tuple[tuple[Finding, ...], tuple[RuleFailure, ...]]:
    """The findings, dearest first and those of unknown cost last, and the rules that could not judge.

    Equal costs stay in the order of the rules, so that the same facts give the same report. The costs of findings
    overlap (a graph break and the eager gap behind it are the same milliseconds): they are never to be added up.
    """
    findings: list[Finding] = []
    failures: list[RuleFailure] = []
    for rule in rules:
        try:
            findings.extend(rule.judge(facts))
        except MissingData as missing:
            failures.append(RuleFailure(rule.id, str(missing)))
        except Exception as fault:
            # The one broad except: whatever a rule trips over must not cost the user the report.
            failures.append(RuleFailure(rule.id, f"the rule failed: {type(fault).__name__}: {fault}"))
    return tuple(sorted(findings, key=_by_cost)), tuple(failures)


def _by_cost(finding: Finding) -> tuple[bool, int]:
    cost = finding.ns_per_step
    return cost is None, 0 if cost is None else -cost
