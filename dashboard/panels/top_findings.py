"""The three findings that cost most, with the way to all of them."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import place
from dashboard.panels.findings_card import address
from dashboard.panels.findings_places import dearest, finding_ids
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData

MOST: Final = 3
_LIMIT: Final = 300
NO_REPORT: Final = "Without report.json there are no findings. Run `analyze model.py`."


def build(run: RunData) -> list[Component]:
    report = run.report
    if report is None:
        return [empty_state(NO_REPORT)]
    if not report.findings:
        return [empty_state(f"No rule found its pattern. {_unjudged(report)}".strip())]
    shown = costliest(report)
    more = f"all {len(report.findings)} findings" if len(report.findings) > len(shown) else "the findings in detail"
    link = html.A(more, href=f"#page={Page.FINDINGS.value}")
    tail = f" {_unjudged(report)}".rstrip()
    # Of the first of the same order as on their page, where a second of one name and place gets a number.
    items = [_item(finding, name) for finding, name in zip(shown, finding_ids(shown), strict=True)]
    return [html.Ol(items, className="gb-top"), html.P([link, tail])]


def costliest(report: Report) -> tuple[Finding, ...]:
    return dearest(report.findings)[:MOST]


def cost_text(finding: Finding) -> str:
    """`0.80 ms a step`; a cost that is not known says so."""
    return "cost unknown" if finding.ns_per_step is None else f"{quantities.duration(finding.ns_per_step)} a step"


def _item(finding: Finding, finding_id: str) -> Component:
    times = f", {quantities.count(finding.count)} times" if finding.count > 1 else ""
    head: list[Component] = [
        html.B(cost_text(finding)),
        " ",
        html.A(plain(finding.rule), href=address(finding_id)),
        " at ",
        html.Code(place(finding.where)),
        html.Span(f"{times} ({finding.confidence.value})", className="gb-quiet"),
    ]
    return html.Li([html.Div(head), html.Div(prose(plain(finding.message, _LIMIT))), _remedy(finding)])


def _remedy(finding: Finding) -> Component:
    return html.Div(["do: ", html.Span(prose(plain(finding.remedy, _LIMIT)))], className="gb-quiet")


def _unjudged(report: Report) -> str:
    count = len(report.rule_failures)
    if not count:
        return ""
    return f"{quantities.count(count)} {'rule' if count == 1 else 'rules'} could not judge: the page Findings says why."


PANEL: Final = Panel(id="top_findings", title="What costs most", build=build)
