"""The card of one graph, region or eager gap: what bounds it and why, what was tried, what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.finding import Finding
from analyzer.core.graphs import Direction, GraphKey, SourceLine
from analyzer.core.report import GapReport, GraphReport, Report
from analyzer.core.verdict import Verdict
from analyzer.reporting.budget_bar import parts_in
from analyzer.reporting.first_pass import row_at_another_speed
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import bound_phrase, counted_in
from analyzer.reporting.rows import RegionRow, graph_label, place
from dashboard.panels.graphs import NO_REPORT, card_link, no_regions
from dashboard.panels.graphs_candidates import candidates_of
from dashboard.panels.graphs_generated import generated_of
from dashboard.panels.graphs_regions import ShownRegion, region_of
from dashboard.panels.panel import Component, Page, empty_state
from dashboard.panels.step_bar import bar, mark, part_name
from dashboard.panels.top_findings import cost_text
from dashboard.prose import prose
from dashboard.table import Cell, Column, Kind, known_columns, static_table

MOST_LINES: Final = 40
"""Source lines that are listed; a large graph covers hundreds, and report.json has all."""
NO_CANDIDATES: Final = "No candidate is tried for an eager gap: nothing compiles it."
MADE_BY_A_BREAK: Final = "It goes with the graph break that made it."
_SENTENCE: Final = 500
_NO_LINES: Final = "It covers no line of the user's program that torch could name, as a model made of modules alone."
_NO_LINES_RECORDED: Final = "A trace names no lines unless it was recorded with `with_stack=True`."


def card(report: Report | None, key: str | None) -> list[Component]:
    """The card of the region with this key; for None of the longest. An unknown key says so, and what to do."""
    if report is None:
        return [empty_state(NO_REPORT)]
    region = region_of(report, key)
    if region is None and key is not None:
        return [empty_state(f"This report has no graph {plain(key, 120)}: choose a row of the table.")]
    if region is None:
        return [empty_state(no_regions(report))]
    body = _graph(report, region, region.graph) if region.graph is not None else _gap(report, region.gap)
    head = [
        html.H3(region.row.label),
        html.P(_facts(report, region), className="gb-quiet"),
        html.P(_links(report, region)),
    ]
    return [html.Article([*head, *_verdicts(region), *_budgets(report, region), *body], className="gb-card")]


def card_sentence(report: Report | None, key: str | None) -> str:
    """What is said aloud when a card is shown."""
    region = region_of(report, key) if report is not None else None
    if region is None:
        return "no such graph"
    return f"{region.row.label}: {bound_phrase(region.row.verdict)}"


def _facts(report: Report, region: ShownRegion) -> str:
    per = counted_in(report)
    told = [region.kind, f"key {plain(region.key, 120)}"]
    if region.graph is not None:
        graph = region.graph
        told.append(f"{quantities.average_of(graph.calls_per_step, 'call')} {per}")
        told += [f"{quantities.count(graph.op_count)} operations"] if graph.op_count is not None else []
        told += (
            [f"compiled as {', '.join(plain(one, 20) for one in graph.compile_ids[:5])}"] if graph.compile_ids else []
        )
    source = region.graph or region.gap
    kernels = source.kernels_per_step if source is not None else None
    told.append(f"{quantities.average_of(kernels, 'kernel')} {per}")
    if not region.is_in_step:
        told.append("compiled for an earlier step: no step in steady state calls it")
    return " · ".join(told)


def _links(report: Report, region: ShownRegion) -> list[Component]:
    if region.graph is None:
        return [html.A("timeline", href=f"#page={Page.TIMELINE.value}")]
    return [html.A("timeline, aligned by it", href=f"#page={Page.TIMELINE.value}&align=graph:{region.graph.key}")]


def _verdicts(region: ShownRegion) -> list[Component]:
    row, after = region.row, region.verdict_after
    sides = [_verdict("before" if after is not None else None, row.verdict, row.before_ns)]
    sides += [_verdict("under the plan", after, row.after_ns)] if after is not None else []
    return [html.Div(sides, className="gb-columns")]


def _verdict(side: str | None, verdict: Verdict, ns: int | None) -> Component:
    head = bound_phrase(verdict) if side is None else f"{side}: {bound_phrase(verdict)}"
    reasons = [html.Li(prose(plain(reason, _SENTENCE))) for reason in verdict.evidence]
    missing = [html.Li(prose(f"missing: {plain(verdict.missing, _SENTENCE)}"))] if verdict.missing is not None else []
    time = [html.P(quantities.duration(ns))] if ns is not None else []
    return html.Div([html.H4(head), *time, html.Ul([*reasons, *missing])])


def _budgets(report: Report, region: ShownRegion) -> list[Component]:
    before, after = region.row.budget, region.budget_after
    head = html.H4("Where its time goes")
    if before is None:
        return [head, empty_state("It is not known: the profiled pass saw no work of it.")]
    sides = [("recorded" if report.is_recorded else "before", before), *([("after", after)] if after else [])]
    longest = max(budget.elapsed_ns for _, budget in sides)
    bars = [
        html.Div([html.Span(name), bar(budget, longest), html.Span(quantities.duration(budget.elapsed_ns))])
        for name, budget in sides
    ]
    columns, rows = known_columns(_part_columns(report, after), part_rows(region.row.verdict, before, after))
    shown = static_table(
        "graphs-parts",
        columns,
        rows,
        file_name="budget-of-a-graph",
        marks=[mark(part) for part in _parts(before, after)],
    )
    bar_place = html.Div(bars, className="gb-bars")
    return [head, *_other_speed(region.row), bar_place, shown, *_starved(before)]


def _other_speed(row: RegionRow) -> list[Component]:
    said = row_at_another_speed(row)
    return [] if said is None else [html.P(said, className="gb-quiet")]


def part_rows(verdict: Verdict, before: Budget, after: Budget | None) -> list[tuple[Cell, ...]]:
    """A row a part, the largest first: its time, its share, what removing it would save at most, and its time after."""
    savings = {saving.part: saving.at_most_ns for saving in verdict.savings}
    rows: list[tuple[Cell, ...]] = []
    for part in _parts(before, after):
        own: tuple[Cell, ...] = (part_name(part), before.ns(part), before.share(part), savings.get(part))
        rows.append(own if after is None else (*own, after.ns(part)))
    return rows


def _parts(before: Budget, after: Budget | None) -> list[Part]:
    return sorted(parts_in((before, after)), key=lambda part: -before.ns(part))


def _part_columns(report: Report, after: Budget | None) -> list[Column]:
    columns = [
        Column("part", width_px=140),
        Column("recorded" if report.is_recorded else "before", Kind.DURATION),
        Column("share", Kind.SHARE),
        Column("saves at most", Kind.DURATION, 110, tip="what a step would be shorter without this part, at most"),
    ]
    return columns if after is None else [*columns, Column("after", Kind.DURATION)]


def _starved(budget: Budget) -> list[Component]:
    if not budget.starved:
        return []
    whole = budget.ns(Part.STARVED)
    kinds = sorted(budget.starved, key=lambda piece: -piece.ns)
    told = ", ".join(f"{piece.kind.value} {quantities.share(piece.ns / whole)}" for piece in kinds if whole)
    scaled = "; scaled from the profiled pass to the clean one" if any(piece.is_scaled for piece in kinds) else ""
    return [html.P(f"While the device was starved the host did: {told}{scaled}.", className="gb-quiet")]


def _graph(report: Report, region: ShownRegion, graph: GraphReport) -> list[Component]:
    parts = [html.H4("Source"), *_source(report, graph)]
    if not report.is_recorded:
        parts += [html.H4("Why it ended"), *_ending(graph)]
    parts += _findings(report, {(line.file, line.line) for line in _places(graph)})
    if report.is_recorded:
        parts.append(html.H4("Tried"))
        return [*parts, empty_state("A recorded trace tries nothing: `analyze model.py` does, on the program itself.")]
    chosen = html.P([html.Code(plain(region.chosen)), ", as the plan below says in Python."])
    parts += [html.H4("Tried"), *candidates_of(graph), html.H4("Chosen"), chosen]
    return [*parts, html.H4("Generated code"), *generated_of(report, graph)]


def _places(graph: GraphReport) -> list[SourceLine]:
    ended = graph.ended_by.where if graph.ended_by is not None else None
    return [*graph.source, *([graph.where] if graph.where is not None else []), *([ended] if ended is not None else [])]


def _source(report: Report, graph: GraphReport) -> list[Component]:
    lines = graph.source or ((graph.where,) if graph.where is not None else ())
    if not lines:
        return [empty_state(_NO_LINES_RECORDED if report.is_recorded else _NO_LINES)]
    items = [html.Li(_line(line)) for line in lines[:MOST_LINES]]
    more = len(lines) - MOST_LINES
    tail = [html.P(f"and {quantities.count(more)} more in report.json", className="gb-quiet")] if more > 0 else []
    return [html.Ul(items, className="gb-source", tabIndex=0), *tail]


def _line(line: SourceLine) -> list[Component]:
    function = f" in {plain(line.function, 80)}" if line.function is not None else ""
    return [html.Code(f"{plain(line.file, 200)}:{line.line}"), function]


def _ending(graph: GraphReport) -> list[Component]:
    stop = graph.ended_by
    if stop is None and graph.key.direction is Direction.BACKWARD:
        return [html.P("A backward graph ends with its forward.")]
    if stop is None:
        return [html.P("Torch told of no graph break in it: it ends where the function does that was compiled.")]
    where: list[Component] = ["at ", *_line(stop.where), ": "] if stop.where is not None else []
    times = f" ({quantities.count(stop.count)} times)" if stop.count > 1 else ""
    hint = [html.P(prose(f"torch's hint: {plain(stop.hint, _SENTENCE)}"), className="gb-quiet")] if stop.hint else []
    return [html.P(["Graph break ", *where, html.Span(prose(plain(stop.reason, _SENTENCE))), times]), *hint]


def _gap(report: Report, gap: GapReport | None) -> list[Component]:
    if gap is None:
        return []
    edges = [*_edge(report, "after", gap.key.after), *_edge(report, "before", gap.key.before)]
    where = [html.P(["The graph before it ended at ", html.Code(place(gap.where))])] if gap.where is not None else []
    places = {(gap.where.file, gap.where.line)} if gap.where is not None else set()
    remedy = NO_CANDIDATES if gap.where is None else f"{NO_CANDIDATES} {MADE_BY_A_BREAK}"
    return [html.H4("Where it stands"), html.P(edges), *where, *_findings(report, places), empty_state(remedy)]


def _edge(report: Report, word: str, key: GraphKey | None) -> list[Component]:
    graph = next((one for one in report.graphs if one.key == key), None)
    if graph is None:
        edge = "at the start of a step" if word == "after" else "at its end"
        return [f"{edge} " if key is None else f"{word} {key} "]
    return [f"{word} ", html.A(graph_label(graph), href=card_link(str(graph.key))), " "]


def _findings(report: Report, places: set[tuple[str, int]]) -> list[Component]:
    own = [one for one in report.findings if one.where is not None and (one.where.file, one.where.line) in places]
    if not own:
        return []
    return [html.H4("Found at these lines"), html.Ul([_finding(finding) for finding in _costliest_first(own)])]


def _costliest_first(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -(finding.ns_per_step or 0))


def _finding(finding: Finding) -> Component:
    link = html.A(plain(finding.rule), href=f"#page={Page.FINDINGS.value}")
    at = f" at {place(finding.where)}, {cost_text(finding)}: "
    return html.Li([link, at, html.Span(prose(plain(finding.message, _SENTENCE)))])
