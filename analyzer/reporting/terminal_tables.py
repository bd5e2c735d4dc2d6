"""The tables and bars of the terminal report. Imports rich: only terminal_sections.py imports this module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, assert_never

from rich.console import RenderableType
from rich.text import Text

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.report import DEFAULT_PLAN, CandidateReport, PlanTrial, Report
from analyzer.core.trial import TrialOutcome
from analyzer.reporting.budget_bar import letter, parts_in, segments
from analyzer.reporting.fitted_table import Cell, Column, bare_table, fitted_table
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import changes_meaning, error_text, off_text, plan_error, plan_memory, plan_speed
from analyzer.reporting.rows import RegionRow, graph_label, region_rows, tried_labels, verdict_text

MAX_ROWS: Final = 24
"""Regions in the table: a screen. A model with a break in every line has hundreds; the rest are one row, summed."""

MAX_PREDICTIONS: Final = 12
"""Predictions that are shown, of the longest graphs first."""

_BAR: Final = 10
_CANDIDATE: Final = 18
_PREDICTED: Final = 30
"""Cells of a candidate's name; combined ones can be longer, and are whole in report.json."""
_STEP_BAR: Final = 52
_REASON_LIMIT: Final = 160


def step_bars(report: Report, width: int) -> list[RenderableType]:
    """The step's budget before and after, on one scale of time, and what the letters mean."""
    before, after = report.step_budget, report.step_budget_after
    if before is None:
        return []
    longest = max(before.elapsed_ns, after.elapsed_ns if after else 0)
    table = bare_table()
    for _ in range(3):
        table.add_column(no_wrap=True)
    for word, budget in (("all" if report.is_recorded else "before", before), ("after", after)):
        if budget is not None:
            table.add_row(f"  {word}", _bar(budget, _STEP_BAR, longest), quantities.duration(budget.elapsed_ns))
    legend = [Text(f"  {line}") for line in _lines(_legend(before, after), width - 2)]
    return [
        Text("Where the recorded time goes" if report.is_recorded else "Where a step goes", style="bold"),
        table,
        *legend,
    ]


def graph_table(report: Report, width: int) -> list[RenderableType]:
    """Every graph and eager gap: where, bound, share of the step, budget, candidate, time before and after."""
    rows = region_rows(report)
    if not rows:
        return []
    has_after = any(row.after_ns is not None for row in rows)
    shown, rest = _longest(rows)
    lines: list[tuple[Cell, ...]] = [_region_cells(row, has_after=has_after) for row in shown]
    if rest:
        lines.append(_rest_cells(rest, has_after=has_after))
    columns = (
        Column("graph"),
        Column("bound by", 12),
        Column("share", 6, is_number=True),
        Column("budget", _BAR),
        Column("plan", 11, most=_CANDIDATE),
        Column("before → after" if has_after else "in all" if report.is_recorded else "a step", 14, is_number=True),
    )
    table = fitted_table(columns, lines, width)
    parts = parts_in(row.budget for row in rows)
    legend = [] if report.step_budget is not None else _lines([f"{letter(p)} {p.value}" for p in parts], width - 2)
    head = _graphs_head(report)
    return [head, table, *(Text(f"  {line}") for line in legend)]


def _region_cells(row: RegionRow, *, has_after: bool) -> tuple[Cell, ...]:
    return (
        row.label,
        verdict_text(row.verdict),
        quantities.share(row.share) if row.share is not None else "?",
        _bar(row.budget, _BAR, None),
        "eager" if row.chosen is None else plain(row.chosen),
        _times(row.before_ns, row.after_ns, has_after=has_after),
    )


def _graphs_head(report: Report) -> Text:
    if report.is_recorded:
        return Text.assemble(("Regions of the recording", "bold"), ", ms in all")
    return Text.assemble(("Graphs and the eager gaps between them", "bold"), ", ms a step")


def prediction_table(report: Report, width: int) -> list[RenderableType]:
    """Each candidate that was measured, beside what was predicted of it."""
    graphs = sorted(report.graphs, key=lambda graph: -(graph.before_ns or 0))
    # Forward and backward of one graph are tried together: their row stands once.
    tried = {(g.key.digest, c.candidate): (g, c) for g in reversed(graphs) for c in g.candidates}
    pairs = [(g, c) for g, c in reversed(tried.values()) if c.measured_ns is not None]
    if not pairs:
        return []
    # What keeps the meaning is held to eager's own error, and its error stands with the whole model.
    titles = ("predicted", "measured", "off", *(("error",) if any(changes_meaning(c) for _, c in pairs) else ()))
    labels = tried_labels(report.graphs)
    lines = [_prediction_cells(labels[g.key], c)[: 2 + len(titles)] for g, c in pairs[:MAX_PREDICTIONS]]
    figures = (Column(title, 9, is_number=True) for title in titles)
    table = fitted_table((Column("  graph"), Column("candidate", 16, most=_PREDICTED), *figures), lines, width)
    more = len(pairs) - MAX_PREDICTIONS
    tail = [Text(f"  and {more} more in report.json")] if more > 0 else []
    head = Text.assemble(("Tried, and predicted before", "bold"), ", ms of the graph in a step")
    return [head, table, *tail]


def _prediction_cells(label: str, candidate: CandidateReport) -> tuple[str, ...]:
    predicted, measured = candidate.predicted_ns, candidate.measured_ns
    return (
        f"  {label}",
        plain(candidate.candidate),
        quantities.milliseconds(predicted),
        quantities.milliseconds(measured),
        off_text(predicted, measured),
        error_text(candidate.accuracy),
    )


def plan_table(report: Report, width: int) -> list[RenderableType]:
    """How the whole model ran: eager, torch.compile's default, each global mode, the plan."""
    if not report.plans:
        return []
    default = next((p for p in report.plans if p.name == DEFAULT_PLAN), None)
    has_memory = any(plan.peak_bytes is not None for plan in report.plans)
    figures = (("ms a step", 11), ("speed", 7), ("error", 12), *((("memory", 10),) if has_memory else ()))
    columns = (Column(""), *(Column(title, cells, is_number=True) for title, cells in figures))
    lines = [
        (f"{'*' if plan.is_chosen else ' '} {plain(plan.name, 60)}", *_plan_cells(plan, default))[: len(columns)]
        for plan in report.plans
    ]
    table = fitted_table(columns, lines, width)
    failures: list[str] = []
    for plan in report.plans:
        if plan.reason is not None:
            failures.append(f"  {plain(plan.name, 60)}: {plan.outcome.value}, {plain(plan.reason, _REASON_LIMIT)}")
    head = Text.assemble(("The whole model", "bold"), ", * is what plan.json holds; speed is against torch.compile")
    has_pools = has_memory and any(plan.pool_bytes for plan in report.plans)
    legend = ["  memory is the peak of a step, + what its CUDA graphs hold"] if has_pools else []
    return [head, table, *(Text(line) for line in (*legend, *failures))]


def refusals(report: Report) -> list[str]:
    """A line for each reason why candidates could not be used, with all candidates and graphs that it holds for."""
    labels: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for graph in report.graphs:
        for candidate in graph.candidates:
            if _is_lost(candidate):
                reason = plain(candidate.reason or "no reason was given", _REASON_LIMIT)
                labels[candidate.candidate, candidate.outcome.value, reason].append(graph_label(graph))
    names: defaultdict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (name, outcome, reason), where in labels.items():
        names[outcome, reason, tuple(where)].append(plain(name))
    return [
        f"{', '.join(together)} {outcome} ({where[0] if len(where) == 1 else f'{len(where)} graphs'}): {reason}"
        for (outcome, reason, where), together in names.items()
    ]


def _is_lost(candidate: CandidateReport) -> bool:
    match candidate.outcome:
        case TrialOutcome.MEASURED:
            return False
        case TrialOutcome.UNTRIED:
            # Only worth a line where somebody said why.
            return candidate.reason is not None
        case (
            TrialOutcome.REFUSED
            | TrialOutcome.FAILED
            | TrialOutcome.WRONG_RESULT
            | TrialOutcome.TIMED_OUT
            | TrialOutcome.CRASHED
            | TrialOutcome.OUT_OF_MEMORY
        ):
            return True
        case _:
            assert_never(candidate.outcome)


def _plan_cells(plan: PlanTrial, default: PlanTrial | None) -> tuple[str, str, str, str]:
    if plan.step_ns is None:
        return plan.outcome.value, "", "", ""
    median, spread = plan.step_ns.median_ns, plan.step_ns.spread
    time = quantities.duration(median, spread=spread).removesuffix(" ms")
    return time, plan_speed(plan, default), plan_error(plan), plan_memory(plan)


def _longest(rows: tuple[RegionRow, ...]) -> tuple[list[RegionRow], list[RegionRow]]:
    """The rows to show, in their own order, and the rest."""
    if len(rows) <= MAX_ROWS:
        return list(rows), []
    order = sorted(range(len(rows)), key=lambda i: -(rows[i].before_ns or 0))
    kept = sorted(order[: MAX_ROWS - 1])
    return [rows[i] for i in kept], [rows[i] for i in sorted(order[MAX_ROWS - 1 :])]


def _rest_cells(rest: list[RegionRow], *, has_after: bool) -> tuple[str, ...]:
    before = _sum(row.before_ns for row in rest)
    after = _sum(row.after_ns for row in rest)
    shares = [row.share for row in rest if row.share is not None]
    part = quantities.share(sum(shares)) if shares else "?"
    return f"{len(rest)} shorter ones", "", part, "", "", _times(before, after, has_after=has_after)


def _sum(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _times(before_ns: int | None, after_ns: int | None, *, has_after: bool) -> str:
    before = "?" if before_ns is None else quantities.milliseconds(before_ns)
    if not has_after:
        return before
    return f"{before} → {'?' if after_ns is None else quantities.milliseconds(after_ns)}"


def _bar(budget: Budget | None, cells: int, whole_ns: int | None) -> Text:
    if budget is None:
        return Text("?")
    text = Text()
    for segment in segments(budget, cells, whole_ns):
        text.append(letter(segment.part) * segment.cells, style=_style(segment.part))
    return text


def _legend(before: Budget, after: Budget | None) -> list[str]:
    """`S starved 68 → 10 %`, for each part that occurs."""
    texts = []
    for part in parts_in((before, after)):
        shares = quantities.share(before.share(part))
        if after is not None:
            shares = f"{shares.removesuffix(' %')} → {quantities.share(after.share(part))}"
        texts.append(f"{letter(part)} {part.value} {shares}")
    return texts


def _lines(items: list[str], width: int) -> list[str]:
    """The items with commas between, broken only between items: a per cent sign alone on a line says nothing."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + 2 + len(item) <= width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    return lines


def _style(part: Part) -> str:
    match part:
        case Part.STARVED:
            return "red"
        case Part.COMPUTE:
            return "blue"
        case Part.MEMORY:
            return "cyan"
        case Part.LATENCY:
            return "magenta"
        case Part.SYNC | Part.COPIES:
            return "yellow"
        case Part.UNKNOWN_KERNELS | Part.OTHER:
            return "dim"
        case _:
            assert_never(part)
