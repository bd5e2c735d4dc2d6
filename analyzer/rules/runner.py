"""Runs every rule over the facts of one run. A broken rule fails alone, and says so in the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding, RuleFailure
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
            confidence = Confidence.LIKELY if rule.is_timed and facts.is_disturbed else rule.confidence
            findings.extend(
                replace(_believed(finding, facts.step_ns), confidence=confidence) for finding in rule.judge(facts)
            )
        except MissingData as missing:
            failures.append(RuleFailure(rule.id, str(missing)))
        except Exception as fault:
            # The one broad except: whatever a rule trips over must not cost the user the report.
            failures.append(RuleFailure(rule.id, f"the rule failed: {type(fault).__name__}: {fault}"))
    return tuple(sorted(findings, key=_by_cost)), tuple(failures)


def _believed(finding: Finding, step_ns: int | None) -> Finding:
    """The finding, its cost taken back where it is more than the whole step: then something was measured wrong."""
    cost = finding.ns_per_step
    if cost is None or step_ns is None or cost <= step_ns:
        return finding
    found, whole = quantities.duration(cost), quantities.duration(step_ns)
    message = f"{finding.message}; its cost is not known: it came out at {found} of a step of {whole}"
    return replace(finding, message=message, ns_per_step=None)


def _by_cost(finding: Finding) -> tuple[bool, int]:
    cost = finding.ns_per_step
    return cost is None, 0 if cost is None else -cost
