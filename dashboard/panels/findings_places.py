"""Which finding is which, and what of the run it lies in. Shows nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from analyzer.core.finding import Finding
from analyzer.core.graphs import GraphKey, SourceLine
from analyzer.core.report import Report
from analyzer.gate.silence import read_silences
from analyzer.reporting.plain_text import file_name
from analyzer.rules import RULES
from analyzer.rules.rule import Rule

MOST_GRAPHS: Final = 4
"""Graphs of one line that a card leads to: a line in a loop over layers lies in as many as there are layers."""
_ID_LIMIT: Final = 80


def dearest(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Those of unknown cost last, in their own order where they cost the same."""
    return tuple(sorted(findings, key=lambda finding: (finding.ns_per_step is None, -(finding.ns_per_step or 0))))


def finding_ids(findings: Sequence[Finding]) -> tuple[str, ...]:
    """A name for each, fit for an address and the same when the report is read again: `graph_break-model.py-57`."""
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        where = "" if finding.where is None else f"-{file_name(finding.where.file)}-{finding.where.line}"
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", f"{finding.rule[:_ID_LIMIT]}{where[-_ID_LIMIT:]}")
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}.{seen[name]}")
    return tuple(found)


def graphs_of(report: Report, where: SourceLine | None) -> tuple[GraphKey, ...]:
    """The graphs that cover a line, or that ended at it, in order of a step; empty where none is known to."""
    if where is None:
        return ()
    place = (where.file, where.line)

    def is_at(line: SourceLine | None) -> bool:
        return line is not None and (line.file, line.line) == place

    return tuple(
        graph.key
        for graph in report.graphs
        if is_at(graph.where)
        or any(map(is_at, graph.source))
        or (graph.ended_by is not None and is_at(graph.ended_by.where))
    )


def same_elsewhere(findings: Sequence[Finding], number: int) -> tuple[int, ...]:
    """The other findings of the same rule that say the same, at other places."""
    own = findings[number]
    return tuple(
        other
        for other, finding in enumerate(findings)
        if other != number and (finding.rule, finding.message) == (own.rule, own.message)
    )


def rule_of(finding: Finding) -> Rule | None:
    """None for a rule of another version."""
    return next((rule for rule in RULES if rule.id == finding.rule), None)


def is_silenced(finding: Finding) -> bool:
    """Whether a comment at its line takes it out of `analyze check`, as far as the line was kept."""
    where, kept = finding.where, finding.excerpt
    if where is None or kept is None or not 0 <= where.line - kept.first < len(kept.lines):
        return False
    text = kept.lines[where.line - kept.first].lstrip()
    silences = read_silences(where.file, text + "\n", (finding.rule,))
    return any(finding.rule in silence.rules for silence in silences.found)


def section_of(rule: Rule, title: str) -> str:
    """The text under one of `rule.SECTIONS`, on one line."""
    lines = rule.doc.splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip() == title), None)
    if start is None:
        return ""
    own = []
    for line in lines[start + 1 :]:
        if line and not line.startswith(" "):
            break
        own.append(line.strip())
    return " ".join(filter(None, own))
