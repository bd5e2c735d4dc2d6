"""One finding as a card: what, where, what it costs and how that is known, the source, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from dash import html

from analyzer.core import quantities
from analyzer.core.finding import Excerpt, Finding
from analyzer.core.graphs import GraphKey, SourceLine
from analyzer.core.shell import shell_word
from analyzer.reporting.plain_text import file_name, plain
from analyzer.reporting.rows import place
from analyzer.rules.explain import explain
from dashboard.panels.findings_places import MOST_GRAPHS, is_silenced, rule_of, section_of
from dashboard.panels.panel import Component, Page, attribute
from dashboard.prose import prose

MESSAGE_LIMIT: Final = 1_000
PATH_LIMIT: Final = 300
NOT_KEPT: Final = (
    "The source was not kept: this report is of an older version, or the file could not be read or had changed."
)
_METHOD: Final = "How it is measured"


@dataclass(frozen=True, slots=True)
class GraphLink:
    key: GraphKey
    label: str


@dataclass(frozen=True, slots=True)
class Card:
    """`step_ns` is the step that the cost is a part of. `elsewhere` are findings that say the same, by id and place.
    `order` is its place in the report.
    """

    id: str
    order: int
    finding: Finding
    graphs: tuple[GraphLink, ...]
    elsewhere: tuple[tuple[str, str], ...]
    step_ns: int | None
    has_timeline: bool


def card(shown: Card) -> Component:
    """An article with what `assets/gb_findings.js` sorts and filters by in its attributes."""
    finding = shown.finding
    told: dict[str, Any] = {
        "data-finding": shown.id,
        "data-rule": finding.rule[:PATH_LIMIT],
        "data-file": file_of(finding),
        "data-graphs": " ".join(str(link.key) for link in shown.graphs),
        "data-order": str(shown.order),
        "data-place": _sorted_place(finding.where),
    }
    return html.Article(
        [
            _head(shown),
            _cost(shown),
            html.P(prose(plain(finding.message, MESSAGE_LIMIT))),
            _source(finding),
            html.P([html.B("Do: "), html.Span(prose(plain(finding.remedy, MESSAGE_LIMIT)))]),
            *_leads(shown),
            *_explanation(finding),
        ],
        className="gb-finding",
        **told,
    )


def file_of(finding: Finding) -> str:
    """What findings are filtered by; `the step` for what has no line."""
    return "the step" if finding.where is None else plain(finding.where.file, PATH_LIMIT)


def address(finding_id: str) -> str:
    """The link that opens the page at this finding."""
    return f"#page={Page.FINDINGS.value}&finding={quote(finding_id)}"


def _head(shown: Card) -> Component:
    finding = shown.finding
    rule = rule_of(finding)
    title = "a rule that is not known here" if rule is None else rule.title
    link = html.A(plain(finding.rule, 80), href=address(shown.id), **attribute("data-finding-link", shown.id))
    words = [html.Span(finding.confidence.value, className=f"gb-tag gb-{finding.confidence.value}")]
    if finding.count > 1:
        words.append(html.Span(f"{quantities.count(finding.count)} times", className="gb-tag"))
    if is_silenced(finding):
        words.append(html.Span(prose("silenced in `analyze check` by its comment"), className="gb-tag"))
    return html.Header(
        [html.H3([link, html.Span(plain(title, 120), className="gb-finding-title")]), *words, *_place(finding)]
    )


def _place(finding: Finding) -> list[Component]:
    where = finding.where
    if where is None:
        return [html.Span("of the step as a whole", className="gb-quiet")]
    inside = "" if where.function is None else f" in {plain(where.function, 80)}"
    return [html.Code(place(where), title=plain(f"{where.file}:{where.line}", PATH_LIMIT)), html.Span(inside)]


def _cost(shown: Card) -> Component:
    """The cost, its share of the step as a bar, and how it is known."""
    ns, step_ns = shown.finding.ns_per_step, shown.step_ns
    rule = rule_of(shown.finding)
    method = "" if rule is None else section_of(rule, _METHOD)
    how = (
        [html.Details([html.Summary("how it is measured"), html.P(prose(plain(method, MESSAGE_LIMIT)))])]
        if method
        else []
    )
    if ns is None:
        return html.Div([html.B("cost unknown"), *how], className="gb-finding-cost")
    text: list[Component] = [html.B(f"{quantities.duration(ns)} a step")]
    if step_ns:
        part = min(1.0, ns / step_ns)
        filled = html.Span(style={"width": f"{max(part, 0.005):.1%}"})
        text += [
            html.Span(filled, className="gb-finding-share", **attribute("aria-hidden", "true")),
            html.Span(
                f"{quantities.share(part)} of a step of {quantities.duration(step_ns)}, no range known",
                className="gb-quiet",
            ),
        ]
    return html.Div([*text, *how], className="gb-finding-cost")


def _source(finding: Finding) -> Component:
    if finding.where is None:
        return html.Span()
    if finding.excerpt is None:
        return html.P(NOT_KEPT, className="gb-quiet gb-not-kept")
    return _excerpt(finding.excerpt, finding.where)


def _excerpt(kept: Excerpt, where: SourceLine) -> Component:
    """The line itself has a mark beside its colour."""
    lines = []
    for number, text in enumerate(kept.lines, kept.first):
        is_own = number == where.line
        lead = html.Span(f"{'▶' if is_own else ' '} {number:>5} ", className="gb-line-number")
        lines.append(html.Span([lead, text, "\n"], className="gb-line gb-own-line" if is_own else "gb-line"))
    label: dict[str, Any] = {"aria-label": f"source around {plain(file_name(where.file))} line {where.line}"}
    return html.Pre(html.Code(lines), className="gb-excerpt", tabIndex=0, **label)


def _leads(shown: Card) -> list[Component]:
    links: list[Component] = []
    for one in shown.graphs[:MOST_GRAPHS]:
        key = quote(str(one.key))
        links.append(html.A(f"graph {plain(one.label, 60)}", href=f"#page={Page.GRAPHS.value}&graph={key}"))
        if shown.has_timeline:
            links.append(html.A("in the timeline", href=f"#page={Page.TIMELINE.value}&align=graph:{key}"))
    if len(shown.graphs) > MOST_GRAPHS:
        links.append(html.Span(f"and {len(shown.graphs) - MOST_GRAPHS} more graphs", className="gb-quiet"))
    found = [html.P(links, className="gb-leads")] if links else []
    if shown.elsewhere:
        others = [
            html.A(text, href=address(name), **attribute("data-finding-link", name)) for name, text in shown.elsewhere
        ]
        found.append(html.P(["the same at ", *_spaced(others)], className="gb-leads"))
    return found


def _spaced(parts: Sequence[Component]) -> list[Component]:
    return [piece for part in parts for piece in (part, " ")]


def _explanation(finding: Finding) -> list[Component]:
    if rule_of(finding) is None:
        return []
    return [
        html.Details([html.Summary(f"analyze explain {shell_word(finding.rule)}"), html.Pre(explain(finding.rule))])
    ]


def _sorted_place(where: SourceLine | None) -> str:
    """Orders by file, then by line, as text."""
    return "" if where is None else f"{plain(where.file, PATH_LIMIT)}:{where.line:09d}"
