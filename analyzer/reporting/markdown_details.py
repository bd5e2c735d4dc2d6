"""What a comment folds away: the gates, the regions of a step, the ways to run the model, what could not be judged."""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.gate import GateCheck, ModelGate
from analyzer.core.gate_number import gate_number, seen_text
from analyzer.core.report import PlanTrial, Report
from analyzer.reporting.caveats import chosen_caveats
from analyzer.reporting.markdown_text import cell, folded, table, text
from analyzer.reporting.path_text import path_lines
from analyzer.reporting.rows import RegionRow, region_rows, verdict_text

MOST_ROWS: Final = 30
"""Rows of a folded table; the rest are counted, and are in report.json."""


def model_details(model: ModelGate) -> list[str]:
    """A folded section each, the ones that are asked for most first."""
    report = model.report
    name = model.name
    sections = [folded(quantities.counted(len(model.checks), "gate"), _gates(model), name)] if model.checks else []
    if report is not None:
        sections += _of_report(report, name)
    return sections + ([folded("notes", _list(model.notes), name)] if model.notes else [])


def _of_report(report: Report, name: str) -> list[str]:
    rows = region_rows(report)
    sections = (
        [folded(quantities.counted(len(rows), "graph or eager gap", "graphs and eager gaps"), _regions(rows), name)]
        if rows
        else []
    )
    if report.plans:
        sections.append(
            folded(quantities.counted(len(report.plans), "way to run it", "ways to run it"), _plans(report.plans), name)
        )
    path = path_lines(report.critical_path)
    sections += [folded("critical path", _list(tuple(path)), name)] if path else []
    caveats = chosen_caveats(report)
    sections += [folded("to know of what was chosen", _list(caveats), name)] if caveats else []
    unjudged = tuple(f"{failure.rule} could not judge: {failure.reason}" for failure in report.rule_failures)
    notes = (*unjudged, *report.workload.notes, *report.notes)
    return sections + ([folded("what was not judged, and notes", _list(notes), name)] if notes else [])


def _regions(rows: tuple[RegionRow, ...]) -> str:
    titles = ("where", "bound by", "share", "plan", "before", "after")
    cells = [
        (
            cell(row.label),
            text(verdict_text(row.verdict)),
            quantities.share(row.share),
            cell(row.chosen or "eager", 60),
            quantities.duration(row.before_ns),
            quantities.duration(row.after_ns),
        )
        for row in sorted(rows, key=lambda row: -(row.before_ns or 0))[:MOST_ROWS]
    ]
    return table(titles, cells) + _more(len(rows))


def _plans(plans: tuple[PlanTrial, ...]) -> str:
    rows = [
        (
            cell(plan.name, 60) + (" (chosen)" if plan.is_chosen else ""),
            quantities.duration(None if plan.step_ns is None else plan.step_ns.median_ns),
            quantities.error_size(None if plan.accuracy is None else plan.accuracy.error),
            quantities.byte_count(plan.peak_bytes),
            text(plan.outcome.value if plan.reason is None else f"{plan.outcome.value}: {plan.reason}", 200),
        )
        for plan in plans[:MOST_ROWS]
    ]
    return table(("way", "a step", "error", "memory", "outcome"), rows) + _more(len(plans))


def _gates(model: ModelGate) -> str:
    rows = [_gate(check) for check in model.checks[:MOST_ROWS]]
    return table(("gate", "outcome", "measured", "before", "limit", ""), rows) + _more(len(model.checks))


def _gate(check: GateCheck) -> tuple[str, ...]:
    held = ("" if number is None else text(gate_number(number, check.unit)) for number in (check.baseline, check.limit))
    measured = text(gate_number(check.measured, check.unit))
    return cell(check.gate), check.status.value, measured, *held, text(check.reason or seen_text(check.seen) or "", 300)


def _more(rows: int) -> str:
    return f"\n\nand {quantities.count(rows - MOST_ROWS)} more in report.json" if rows > MOST_ROWS else ""


def _list(sentences: tuple[str, ...]) -> str:
    return "\n".join(f"- {text(sentence)}" for sentence in sentences[:MOST_ROWS]) + _more(len(sentences))
