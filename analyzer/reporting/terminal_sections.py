"""The sections of the terminal report, in order. Each takes the report and the width and gives what to print, nothing
where the report has nothing to say there. Imports rich: only terminal.py imports this module, and late.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from analyzer.core import quantities
from analyzer.core.finding import Finding
from analyzer.core.report import Report
from analyzer.core.trial import Change
from analyzer.reporting.caveats import chosen_caveats
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.path_text import path_lines
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import (
    LEFT_ALONE,
    SENTENCE_LIMIT,
    SILENT_EAGER,
    attribution_text,
    bound_phrase,
    is_silently_eager,
    notes_text,
    outcome_phrase,
    reasons,
)
from analyzer.reporting.rows import place, region_rows
from analyzer.reporting.terminal_ranks import honesty_section, ranks_section
from analyzer.reporting.terminal_tables import graph_table, plan_table, prediction_table, refusals, step_bars

Section = Callable[[Report, int], list[RenderableType]]

MAX_FINDINGS: Final = 10
"""Findings that are shown, the costliest first: what fits on a screen. The rest are counted and in report.json."""

MAX_REASONS: Final = 5
"""Regions whose verdict is explained, the longest first."""

MIN_SHARE: Final = 0.05
"""Of the step: below, a region's reasons would hide those that matter."""


def _head(report: Report, width: int) -> list[RenderableType]:
    facts = report.workload
    what = (facts.name, facts.mode, report.device.name, *peaks_text(report.device), f"torch {report.versions.torch}")
    blocks: list[RenderableType] = [Text(" · ".join(plain(w, 60) for w in what), style="dim")]
    if report.partial is not None:
        blocks.append(Text(f"PARTIAL REPORT: {plain(report.partial, SENTENCE_LIMIT)}", style="bold red"))
    if is_silently_eager(report):
        blocks.append(Text(SILENT_EAGER, style="bold red"))
    # What a recording cannot be believed in comes before what is concluded from it.
    honest = honesty_section(report, width)
    blocks += [Text(""), *honest, Text("")] if honest else []
    blocks.append(Text(plain(report.headline, SENTENCE_LIMIT), style="bold"))
    return blocks


def _outcome(report: Report, width: int) -> list[RenderableType]:
    comparison = report.comparison
    if comparison is None:
        return []
    if report.is_left_alone:
        return [Text.assemble(("LEFT ALONE", "bold yellow"), f": {LEFT_ALONE}")]
    word = comparison.outcome.value.replace("_", " ")
    return [Text.assemble((word, _change_style(comparison.outcome)), f": {outcome_phrase(report, comparison)}")]


def _step(report: Report, width: int) -> list[RenderableType]:
    return step_bars(report, width)


def _graphs(report: Report, width: int) -> list[RenderableType]:
    return graph_table(report, width)


def _why(report: Report, width: int) -> list[RenderableType]:
    rows = sorted(region_rows(report), key=lambda row: -(row.before_ns or 0))
    large = [row for row in rows if row.share is None or row.share >= MIN_SHARE] or rows[:1]
    explained = [row for row in large if reasons(row)][:MAX_REASONS]
    blocks: list[RenderableType] = [Text("Why", style="bold")] if explained else []
    for row in explained:
        blocks.append(_indented(Text(f"{row.label} is {bound_phrase(row.verdict)}"), 2))
        blocks.extend(_indented(Text(reason), 4) for reason in reasons(row))
    return blocks


def _critical_path(report: Report, width: int) -> list[RenderableType]:
    lines = path_lines(report.critical_path)
    head: list[RenderableType] = [Text("Critical path", style="bold")] if lines else []
    return head + [_indented(Text(line), 2) for line in lines]


def _findings(report: Report, width: int) -> list[RenderableType]:
    if not report.findings:
        return []
    ordered = sorted(report.findings, key=lambda f: -(f.ns_per_step or 0))
    blocks: list[RenderableType] = [Text("Findings", style="bold")]
    told: set[str] = set()
    for finding in ordered[:MAX_FINDINGS]:
        blocks.extend(_finding_lines(finding, is_told=finding.remedy in told))
        told.add(finding.remedy)
    if len(ordered) > MAX_FINDINGS:
        blocks.append(_indented(Text(f"and {len(ordered) - MAX_FINDINGS} more in report.json"), 2))
    return blocks


def _not_taken(report: Report, width: int) -> list[RenderableType]:
    lines = refusals(report)
    head: list[RenderableType] = [Text("Candidates not tried, or of no use", style="bold")] if lines else []
    return head + [_indented(Text(line), 2) for line in lines]


def _to_know(report: Report, width: int) -> list[RenderableType]:
    lines = chosen_caveats(report)
    head: list[RenderableType] = [Text("To know of what was chosen", style="bold")] if lines else []
    return head + [_indented(Text(plain(line, SENTENCE_LIMIT)), 2) for line in lines]


def _predictions(report: Report, width: int) -> list[RenderableType]:
    return prediction_table(report, width)


def _plans(report: Report, width: int) -> list[RenderableType]:
    return plan_table(report, width)


def _attribution(report: Report, width: int) -> list[RenderableType]:
    if report.attributed is None:
        return []
    is_recorded = report.is_recorded
    head_word = "" if is_recorded else "before: "
    lines = [f"{head_word}{attribution_text(report.attributed, is_recorded=is_recorded)}"]
    if report.attributed_after is not None:
        lines.append(f"after:  {attribution_text(report.attributed_after, is_recorded=is_recorded)}")
    head: list[RenderableType] = [Text("Kernel time, of all profiled steps", style="bold")]
    return head + [_indented(Text(line), 2) for line in lines]


def _notes(report: Report, width: int) -> list[RenderableType]:
    notes = notes_text(report)
    head: list[RenderableType] = [Text("Notes", style="bold")] if notes else []
    return head + [_indented(Text(plain(note, SENTENCE_LIMIT)), 2) for note in notes]


SECTIONS: Final[tuple[Section, ...]] = (
    _head,
    _outcome,
    _step,
    _graphs,
    _why,
    _critical_path,
    ranks_section,
    _findings,
    _to_know,
    _not_taken,
    _predictions,
    _plans,
    _attribution,
    _notes,
)


def _finding_lines(finding: Finding, *, is_told: bool) -> list[RenderableType]:
    cost = "cost unknown" if finding.ns_per_step is None else f"{quantities.duration(finding.ns_per_step)} a step"
    times = f" ({quantities.count(finding.count)} times)" if finding.count > 1 else ""
    head = f"{place(finding.where)}  {plain(finding.rule)}{times}  {cost}, {finding.confidence}"
    remedy = "the same as above" if is_told else plain(finding.remedy, SENTENCE_LIMIT)
    return [
        _indented(Text(head, style="yellow"), 2),
        _indented(Text(plain(finding.message, SENTENCE_LIMIT)), 4),
        _indented(Text(f"do: {remedy}"), 4),
    ]


def _change_style(change: Change) -> str:
    match change:
        case Change.FASTER:
            return "bold green"
        case Change.SLOWER | Change.WRONG_RESULT:
            return "bold red"
        case Change.SAME | Change.NOISY:
            return "bold yellow"
        case _:
            assert_never(change)


def _indented(text: Text, columns: int) -> RenderableType:
    return Padding(text, (0, 0, 0, columns))
