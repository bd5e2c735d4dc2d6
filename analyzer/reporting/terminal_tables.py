"""The tables and bars of the terminal report. Imports rich: only terminal_sections.py imports this module."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, assert_never

from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.report import DEFAULT_PLAN, CandidateReport, PlanTrial, Report
from analyzer.core.trial import TrialOutcome
from analyzer.reporting.budget_bar import letter, parts_in, segments
from analyzer.reporting.plain_text import ELLIPSIS, plain
from analyzer.reporting.renderer import PAGE_WIDTH
from analyzer.reporting.rows import RegionRow, graph_label, region_rows, verdict_text

MAX_ROWS: Final = 24
"""Regions in the table: a screen. A model with a break in every line has hundreds; the rest are one row, summed."""

MAX_PREDICTIONS: Final = 12
"""Predictions that are shown, of the longest graphs first."""

_LABEL: Final = 22
_BAR: Final = 10
_STEP_BAR: Final = 52
_REASON_LIMIT: Final = 160


def step_bars(report: Report, width: int) -> list[RenderableType]:
    """The step's budget before and after, on one scale of time, and what the letters mean."""
    before, after = report.step_budget, report.step_budget_after
    if before is None:
        return []
    longest = max(before.elapsed_ns, after.elapsed_ns if after else 0)
    table = _table(has_titles=False)
    for _ in range(3):
        table.add_column(no_wrap=True)
    for word, budget in (("before", before), ("after", after)):
        if budget is not None:
            table.add_row(f"  {word}", _bar(budget, _STEP_BAR, longest), quantities.duration(budget.elapsed_ns))
    legend = [Text(f"  {line}") for line in _lines(_legend(before, after), width - 2)]
    return [Text("Where a step goes", style="bold"), table, *legend]


def graph_table(report: Report, width: int) -> list[RenderableType]:
    """Every graph and eager gap: where, bound, share of the step, budget, candidate, time before and after."""
    rows = region_rows(report)
    if not rows:
        return []
    has_after = any(row.after_ns is not None for row in rows)
    extra = width - PAGE_WIDTH
    table = _table()
    table.add_column("graph", width=_LABEL + extra, no_wrap=True)
    table.add_column("bound by", width=12, no_wrap=True)
    table.add_column("share", width=6, justify="right", no_wrap=True)
    table.add_column("budget", width=_BAR, no_wrap=True)
    table.add_column("plan", width=11, no_wrap=True)
    table.add_column("before → after" if has_after else "a step", width=14, justify="right", no_wrap=True)
    shown, rest = _longest(rows)
    for row in shown:
        table.add_row(
            shortened(row.label, _LABEL + extra),
            verdict_text(row.verdict),
            quantities.share(row.share) if row.share is not None else "?",
            _bar(row.budget, _BAR, None),
            "eager" if row.chosen is None else plain(row.chosen),
            _times(row.before_ns, row.after_ns, has_after=has_after),
        )
    if rest:
        table.add_row(*_rest_cells(rest, has_after=has_after))
    parts = parts_in(row.budget for row in rows)
    legend = [] if report.step_budget is not None else _lines([f"{letter(p)} {p.value}" for p in parts], width - 2)
    head = Text.assemble(("Graphs and the eager gaps between them", "bold"), ", ms a step")
    return [head, table, *(Text(f"  {line}") for line in legend)]


def prediction_table(report: Report, width: int) -> list[RenderableType]:
    """Each candidate that was predicted and measured, side by side."""
    graphs = sorted(report.graphs, key=lambda graph: -(graph.before_ns or 0))
    # Forward and backward of one graph are tried together: their row stands once.
    tried = {(g.key.digest, c.candidate): (g, c) for g in reversed(graphs) for c in g.candidates}
    pairs = [(g, c) for g, c in reversed(tried.values()) if c.predicted_ns is not None and c.measured_ns is not None]
    if not pairs:
        return []
    table = _table()
    label_width = width - 51
    table.add_column("  graph", width=label_width, no_wrap=True)
    table.add_column("candidate", width=16, no_wrap=True)
    for title in ("predicted", "measured", "off"):
        table.add_column(title, width=9, justify="right", no_wrap=True)
    for graph, candidate in pairs[:MAX_PREDICTIONS]:
        predicted, measured = candidate.predicted_ns, candidate.measured_ns
        table.add_row(
            f"  {shortened(graph_label(graph), label_width - 2)}",
            plain(candidate.candidate),
            quantities.milliseconds(predicted),
            quantities.milliseconds(measured),
            _off(predicted, measured),
        )
    more = len(pairs) - MAX_PREDICTIONS
    tail = [Text(f"  and {more} more in report.json")] if more > 0 else []
    head = Text.assemble(("Predicted before it was measured", "bold"), ", ms of the graph in a step")
    return [head, table, *tail]


def plan_table(report: Report, width: int) -> list[RenderableType]:
    """How the whole model ran: eager, torch.compile's default, each global mode, the plan."""
    if not report.plans:
        return []
    default = next((p for p in report.plans if p.name == DEFAULT_PLAN), None)
    table = _table()
    has_memory = any(plan.peak_bytes is not None for plan in report.plans)
    columns = (("ms a step", 11), ("speed", 7), ("error", 12), *((("memory", 15),) if has_memory else ()))
    table.add_column("", width=width - sum(size + 1 for _, size in columns), no_wrap=True)
    for title, size in columns:
        table.add_column(title, width=size, justify="right", no_wrap=True)
    failures: list[str] = []
    for plan in report.plans:
        name = f"{'*' if plan.is_chosen else ' '} {plain(plan.name, 60)}"
        table.add_row(name, *_plan_cells(plan, default)[: len(columns)])
        if plan.reason is not None:
            failures.append(f"  {plain(plan.name, 60)}: {plan.outcome.value}, {plain(plan.reason, _REASON_LIMIT)}")
    head = Text.assemble(("The whole model", "bold"), ", * is what plan.json holds; speed is against torch.compile")
    return [head, table, *(Text(line) for line in failures)]


def refusals(report: Report) -> list[str]:
    """A line for each reason why candidates could not be used, with the graphs that it holds for."""
    groups: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for graph in report.graphs:
        for candidate in graph.candidates:
            if _is_lost(candidate):
                reason = plain(candidate.reason or "no reason was given", _REASON_LIMIT)
                groups[candidate.candidate, candidate.outcome.value, reason].append(graph_label(graph))
    lines = []
    for (name, outcome, reason), labels in groups.items():
        where = labels[0] if len(labels) == 1 else f"{len(labels)} graphs"
        lines.append(f"{plain(name)} {outcome} ({where}): {reason}")
    return lines


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
    speed = ""
    against = plan.against_ns or (default.step_ns if default is not None else None)
    if against is not None and plan is not default and median:
        speed = quantities.ratio(against.median_ns / median)
    error = ""
    if plan.accuracy is not None:
        wrong = "" if plan.accuracy.is_right else "WRONG "
        error = wrong + quantities.error_size(plan.accuracy.error)
    memory = "" if plan.peak_bytes is None else quantities.byte_count(plan.peak_bytes)
    return quantities.duration(median, spread=spread).removesuffix(" ms"), speed, error, memory


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


def _off(predicted_ns: int | None, measured_ns: int | None) -> str:
    if not predicted_ns or not measured_ns:
        return "?"
    return f"{predicted_ns / measured_ns - 1:+.0%}".replace("%", " %")


def _bar(budget: Budget | None, cells: int, whole_ns: int | None) -> Text:
    if budget is None:
        return Text("?")
    text = Text()
    for segment in segments(budget, cells, whole_ns):
        text.append(letter(segment.part) * segment.cells, style=_style(segment.part))
    return text


def shortened(label: str, cells: int) -> str:
    """The label in at most so many cells. It is cut in its middle: the line number stands at the end."""
    if cell_len(label) <= cells:
        return label
    tail_cells = cells * 3 // 5
    tail = label[-tail_cells:]
    while cell_len(tail) > tail_cells:
        tail = tail[1:]
    head = label[: cells - 1]
    while cell_len(head) + 1 + cell_len(tail) > cells:
        head = head[:-1]
    return f"{head}{ELLIPSIS}{tail}"


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


def _table(*, has_titles: bool = True) -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), show_header=has_titles, header_style="dim")
