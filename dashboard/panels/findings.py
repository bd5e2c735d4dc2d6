"""All findings by what they cost, each with its source and what to do; and the rules that could not judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dash import html

from analyzer.core import quantities
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.graphs import GraphKey
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import place, region_rows, step_ns
from dashboard.panels.findings_card import PATH_LIMIT, Card, GraphLink, card, file_of
from dashboard.panels.findings_places import dearest, finding_ids, graphs_of, same_elsewhere
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData

MOST_CARDS: Final = 200
"""Cards of a page that opens at once; the rest, which cost less, are counted and in report.json."""
MOST_SAME: Final = 12
"""Links to the same finding elsewhere."""
NO_REPORT: Final = "Without report.json there are no findings. Run `analyze model.py`."
NOT_JUDGED: Final = "No rule has judged this run: it ended before its capture. Run `analyze model.py` again."
NO_FINDING: Final = "No rule found its pattern here."
_OVERLAP: Final = (
    "By milliseconds lost, dearest first. Costs overlap (a graph break and the eager gap behind it are the same "
    "milliseconds): they do not add up."
)
_SORTS: Final = (("cost", "by cost"), ("place", "by place"), ("rule", "by rule"))


def build(run: RunData) -> list[Component]:
    report = run.report
    if report is None:
        return [empty_state(NO_REPORT)]
    failures = _failures(report.rule_failures)
    if not report.findings:
        has_judged = report.capture is not None or report.is_recorded
        return [empty_state(NO_FINDING if has_judged else NOT_JUDGED), *failures]
    cards = cards_of(report, has_timeline=any(side.recording is not None for side in run.sides))
    left = len(report.findings) - MOST_CARDS
    more = [html.P(f"and {quantities.count(left)} that cost less in report.json")] if left > 0 else []
    return [
        html.P(_OVERLAP, className="gb-quiet"),
        _bar(cards),
        html.P(className="gb-quiet", role="status", id="gb-findings-count"),
        html.Div([card(one) for one in cards], id="gb-findings"),
        *more,
        *failures,
    ]


def cards_of(report: Report, *, has_timeline: bool) -> tuple[Card, ...]:
    """The dearest findings first."""
    shown, labels = dearest(report.findings)[:MOST_CARDS], _labels(report)
    names = finding_ids(shown)
    whole_ns = step_ns(report)

    def graph_links(finding: Finding) -> tuple[GraphLink, ...]:
        return tuple(GraphLink(key, labels.get(key, str(key))) for key in graphs_of(report, finding.where))

    return tuple(
        Card(
            id=names[number],
            order=number,
            finding=finding,
            graphs=graph_links(finding),
            elsewhere=tuple(
                (names[other], place(shown[other].where)) for other in same_elsewhere(shown, number)[:MOST_SAME]
            ),
            step_ns=whole_ns,
            has_timeline=has_timeline,
        )
        for number, finding in enumerate(shown)
    )


def _labels(report: Report) -> dict[GraphKey, str]:
    return {row.region: row.label for row in region_rows(report) if isinstance(row.region, GraphKey)}


def _bar(cards: Sequence[Card]) -> Component:
    """What `assets/gb_findings.js` listens to; a choice of one is none, and is left out."""
    graphs = {str(link.key): link.label for one in cards for link in one.graphs}
    rules = Counter(one.finding.rule[:PATH_LIMIT] for one in cards)
    files = Counter(file_of(one.finding) for one in cards)
    choices = (
        ("rule", "every rule", [(rule, f"{plain(rule, 60)} ({count})") for rule, count in sorted(rules.items())]),
        ("file", "every file", [(file, f"{_tail(file)} ({count})") for file, count in sorted(files.items())]),
        ("in", "every graph", [(key, plain(label, 60)) for key, label in graphs.items()]),
    )
    selects = [_select(name, [("", every), *options]) for name, every, options in choices if len(options) > 1]
    return html.Div([_select("sort", _SORTS), *selects], className="gb-bar")


def _select(name: str, options: Iterable[tuple[str, str]]) -> Component:
    label: dict[str, Any] = {"data-findings": name, "aria-label": f"findings: {name}"}
    return html.Select([html.Option(text, value=value) for value, text in options], **label)


def _tail(path: str) -> str:
    """The end of a path: what tells two apart."""
    return path if len(path) <= 48 else f"…{path[-47:]}"


def _failures(failures: Sequence[RuleFailure]) -> list[Component]:
    if not failures:
        return []
    rows = [
        html.Li([html.Code(plain(one.rule, 80)), ": ", html.Span(prose(plain(one.reason, 600)))]) for one in failures
    ]
    number = "One rule" if len(failures) == 1 else f"{len(failures)} rules"
    return [html.H3(f"{number} could not judge"), html.Ul(rows, className="gb-failures")]


PANEL: Final = Panel(id="findings", title="Findings", build=build, page=Page.FINDINGS)
