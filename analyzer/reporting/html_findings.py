"""Findings, the dearest first: what was found, where, what it costs, what to do, and the lines of source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.report import Report
from analyzer.core.shell import shell_word
from analyzer.reporting.html_markup import NOTHING, SPACE, Html, folded, joined, lines, paragraph, prose, shown, tag
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import place
from analyzer.reporting.word import Word

TOP: Final = 3
_MESSAGE: Final = 1_000


def by_cost(report: Report) -> list[Finding]:
    """Those whose cost is not known come last, in their own order."""
    return sorted(report.findings, key=lambda f: (f.ns_per_step is None, -(f.ns_per_step or 0)))


def top_section(report: Report, *, has_all: bool = True) -> Html:
    """The dearest three; `has_all` where the page lists all of them further down."""
    findings = by_cost(report)[:TOP]
    if not findings:
        return paragraph(_nothing(report), "empty")
    more = len(report.findings) - len(findings)
    where = "below" if has_all else "in report.json"
    rest = [paragraph(f"{quantities.count(more)} more are {where}.", "quiet")] if more else []
    return joined((*(_finding(finding, ()) for finding in findings), *rest))


def all_section(report: Report, rules: Sequence[Word], most: int) -> Html:
    """At most so many findings, each rule explained once. Nothing where there are none."""
    findings = by_cost(report)
    if not findings:
        return NOTHING
    told: set[str] = set()
    blocks: list[Html] = []
    for finding in findings[:most]:
        blocks.append(_finding(finding, () if finding.rule in told else rules))
        told.add(finding.rule)
    if len(findings) > most:
        blocks.append(paragraph(f"and {quantities.count(len(findings) - most)} more in report.json", "quiet"))
    return folded(f"All findings: {quantities.count(len(findings))}", *blocks, id_="all-findings")


def _nothing(report: Report) -> str:
    """An absent finding is no proof where rules could not judge, or nothing was there to be judged."""
    if report.partial is not None:
        return "No known pattern was found in what was measured before the run ended."
    if not report.rule_failures:
        return "No known pattern was found."
    number = quantities.count(len(report.rule_failures))
    return f"No known pattern was found, but {number} rules could not judge: see how it was measured."


def _finding(finding: Finding, rules: Sequence[Word]) -> Html:
    cost = "cost unknown" if finding.ns_per_step is None else f"{quantities.duration(finding.ns_per_step)} a step"
    times = f", {quantities.count(finding.count)} times" if finding.count > 1 else ""
    where = finding.where
    title = None if where is None else f"{where.file}:{where.line}"
    inside = "" if where is None or where.function is None else f"in {where.function}, "
    return tag(
        "article",
        tag(
            "h3",
            tag("span", shown(cost), class_="cost"),
            SPACE,
            shown(f"· {finding.rule} ·"),
            SPACE,
            shown(place(where)) if where is None else tag("code", shown(place(where)), title=title),
            SPACE,
            shown(f"{inside}{finding.confidence.value}{times}"),
        ),
        tag("p", prose(finding.message, _MESSAGE)),
        _excerpt(finding),
        tag("p", tag("strong", shown("Do:")), SPACE, prose(finding.remedy, _MESSAGE)),
        *_explanation(finding, rules),
        class_="finding",
    )


def _excerpt(finding: Finding) -> Html:
    """The user's lines with their numbers, the one that is meant marked by a sign and not by its weight alone."""
    kept = finding.excerpt
    if kept is None or finding.where is None:
        return NOTHING
    width = len(str(kept.first + len(kept.lines)))
    rows: list[Html] = []
    for number, line in enumerate(kept.lines, start=kept.first):
        is_meant = number == finding.where.line
        row = lines(f"{'>' if is_meant else ' '} {number:>{width}}  {line}", 1)
        rows.append(tag("strong", row) if is_meant else row)
    return tag("pre", joined(rows, "\n"))


def _explanation(finding: Finding, rules: Sequence[Word]) -> list[Html]:
    rule = next((word for word in rules if word.id == finding.rule), None)
    if rule is None:
        return []
    text = tag("pre", lines(rule.doc))
    return [folded(f"What `analyze explain {shell_word(plain(rule.id))}` says", text, class_="inner")]
