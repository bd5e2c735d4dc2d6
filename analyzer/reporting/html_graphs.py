"""Every graph and eager gap: a table, and for each what its verdict rests on and what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from analyzer.core import quantities
from analyzer.core.graphs import GraphBreak, GraphKey
from analyzer.core.report import CandidateReport, GraphReport, Report
from analyzer.reporting.caveats import chosen_caveats
from analyzer.reporting.first_pass import row_at_another_speed
from analyzer.reporting.html_bars import row_bar
from analyzer.reporting.html_markup import NOTHING, SPACE, Html, folded, items, joined, paragraph, shown, table, tag
from analyzer.reporting.report_text import bound_phrase, counted_in, error_text, off_text, reasons
from analyzer.reporting.rows import EAGER, RegionRow, place, region_rows, verdict_text

MOST_ROWS: Final = 200
MOST_CANDIDATES: Final = 40
MOST_PLACES: Final = 12
_EVIDENCE: Final = 12


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the table has beside what every report knows: a recording has no plan."""

    has_plan: bool
    has_after: bool


def graphs_section(report: Report, most_cards: int) -> Html:
    """The longest regions are explained, at most so many; nothing where no region is known."""
    rows = region_rows(report)
    if not rows:
        return NOTHING
    what = "regions of the recording" if report.is_recorded else "graphs and the eager gaps between them"
    has_after = any(row.after_ns is not None for row in rows)
    cards = sorted(rows, key=lambda row: -(row.before_ns or 0))[:most_cards]
    graphs, per = {graph.key: graph for graph in report.graphs}, counted_in(report)
    blocks = [_table(rows[:MOST_ROWS], _Columns(has_plan=not report.is_recorded, has_after=has_after))]
    blocks += [paragraph(f"and {quantities.count(n)} more in report.json") for n in (len(rows) - MOST_ROWS,) if n > 0]
    blocks += [_card(row, graphs.get(row.region) if isinstance(row.region, GraphKey) else None, per) for row in cards]
    if len(rows) > most_cards:
        blocks.append(paragraph(f"{quantities.count(len(rows) - most_cards)} shorter ones are not explained here"))
    caveats = chosen_caveats(report)
    if caveats:
        blocks += [tag("h3", shown("To know of what was chosen")), items(caveats)]
    return folded(f"{quantities.count(len(rows))} {what}", *blocks, id_="graphs")


def _table(rows: Sequence[RegionRow], columns: _Columns) -> Html:
    titles = ["where", "bound by", "share", "budget", *(("plan",) if columns.has_plan else ())]
    times = ("before", "after") if columns.has_after else ("time",)
    numbers = (2, *range(len(titles), len(titles) + len(times)))
    return table([*titles, *times], [_row(row, columns) for row in rows], numbers)


def _row(row: RegionRow, columns: _Columns) -> list[Html]:
    times = (row.before_ns, row.after_ns) if columns.has_after else (row.before_ns,)
    bound = verdict_text(row.verdict)
    if row.verdict_after is not None:
        bound = f"{bound} → {verdict_text(row.verdict_after)}"
    return [
        tag("code", shown(row.label, 160)),
        shown(bound),
        shown(quantities.share(row.share)),
        row_bar(row.budget),
        *((shown(row.chosen or EAGER, 80),) if columns.has_plan else ()),
        *(shown(quantities.duration(ns)) for ns in times),
    ]


def _card(row: RegionRow, graph: GraphReport | None, per: str) -> Html:
    head = f"{row.label} is {bound_phrase(row.verdict)}"
    inner = [items(reasons(row, _EVIDENCE))]
    speed = row_at_another_speed(row)
    inner += [paragraph(speed, "quiet")] if speed is not None else []
    if graph is not None:
        inner.append(_facts(graph, per))
        inner += [_ended(graph.ended_by)] if graph.ended_by is not None else []
        inner += [_candidates(graph)] if graph.candidates else []
    return folded(head, *inner, class_="inner card")


def _facts(graph: GraphReport, per: str) -> Html:
    said = [graph.kind]
    said += [f"calls {per}: {quantities.count(graph.calls_per_step)}"]
    said += [] if graph.op_count is None else [f"{quantities.count(graph.op_count)} operations"]
    said += (
        [] if graph.kernels_per_step is None else [f"{quantities.average_of(graph.kernels_per_step, 'kernel')} {per}"]
    )
    said += [f"compile ids {', '.join(graph.compile_ids[:MOST_PLACES])}"] if graph.compile_ids else []
    places = [place(where) for where in graph.source[:MOST_PLACES]]
    more = len(graph.source) - MOST_PLACES
    places += [f"and {more} more lines"] if more > 0 else []
    source = [tag("p", shown("Source lines:"), SPACE, tag("code", shown(", ".join(places))))] if places else []
    return joined(
        (
            paragraph(", ".join(said), "quiet"),
            *source,
            tag("p", shown("Key:"), SPACE, tag("code", shown(str(graph.key)))),
        )
    )


def _ended(end: GraphBreak) -> Html:
    hint = "" if end.hint is None else f". {end.hint}"
    return paragraph(f"It ended at {place(end.where)}: {end.reason}{hint}")


def _candidates(graph: GraphReport) -> Html:
    titles = (
        "candidate",
        "outcome",
        "predicted",
        "measured",
        "off",
        "default",
        "step",
        "default",
        "error",
        "compiled in",
        "why",
    )
    rows = [_candidate(one, one.candidate == graph.chosen) for one in graph.candidates[:MOST_CANDIDATES]]
    told = (
        "Times of this graph in a step: predicted before it was tried, measured, and under torch.compile's default in "
        "turn; then those of the whole step with only this graph changed, which decide."
    )
    more = len(graph.candidates) - MOST_CANDIDATES
    rest = [paragraph(f"and {quantities.count(more)} more in report.json")] if more > 0 else []
    return joined((paragraph(told, "quiet"), table(titles, rows, range(2, 10)), *rest))


def _candidate(one: CandidateReport, is_chosen: bool) -> list[Html]:
    name = f"* {one.candidate}" if is_chosen else one.candidate
    off = "" if one.measured_ns is None else off_text(one.predicted_ns, one.measured_ns)
    return [
        tag("code", shown(name, 120)),
        shown(one.outcome.value),
        shown(_time(one.predicted_ns)),
        shown(_time(one.measured_ns)),
        shown(off),
        shown(_time(one.baseline_ns)),
        shown(_time(one.step_ns)),
        shown(_time(one.step_baseline_ns)),
        shown(error_text(one.accuracy)),
        shown("" if one.compile_ns is None else quantities.clock(one.compile_ns)),
        shown(one.reason or "", 300),
    ]


def _time(ns: int | None) -> str:
    return "" if ns is None else quantities.duration(ns)
