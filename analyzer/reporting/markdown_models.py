"""The table of models at the head of a comment: a line each, whatever became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from analyzer.core import quantities
from analyzer.core.gate import ModelGate
from analyzer.core.report import Report
from analyzer.core.trial import Change
from analyzer.reporting.markdown_text import cell, table, text
from analyzer.reporting.rows import bound_word, step_ns

MOST_MODELS: Final = 30
"""Lines of the table, those that failed first; the rest are counted."""


def model_table(models: Sequence[ModelGate], *, is_gated: bool) -> str:
    titles = ["model", "device", "a step", "outcome", "largest graph bound by", "graphs", "findings"]
    ordered = sorted(models, key=lambda model: model.has_passed)
    rows = [[*_cells(model), *([_gates(model)] if is_gated else [])] for model in ordered[:MOST_MODELS]]
    more = len(ordered) - MOST_MODELS
    note = [f"and {quantities.count(more)} more models"] if more > 0 else []
    return "\n\n".join([table([*titles, *(["gates"] if is_gated else [])], rows), *note])


def _cells(model: ModelGate) -> list[str]:
    report = model.report
    if report is None:
        return [cell(model.name, 40), *[quantities.UNKNOWN] * 6]
    return [
        cell(model.name, 40),
        text(report.device.name, 40),
        _step(report),
        _outcome(report),
        _bound(report),
        quantities.UNKNOWN if report.capture is None else quantities.count(len(report.graphs)),
        quantities.count(len(report.findings) - len(model.silenced)),
    ]


def _step(report: Report) -> str:
    comparison = report.comparison
    if comparison is not None:
        return quantities.durations((comparison.before_ns, comparison.after_ns))
    return quantities.duration(step_ns(report))


def _outcome(report: Report) -> str:
    comparison = report.comparison
    if comparison is None:
        return "not compared"
    if report.is_left_alone:
        return "left alone"
    match comparison.outcome:
        case Change.FASTER | Change.SLOWER | Change.SAME | Change.NOISY:
            interval = comparison.interval
            factor = quantities.ratio_with_interval(comparison.ratio, interval.low, interval.high)
            return f"{comparison.outcome.value}, {factor}"
        case Change.WRONG_RESULT:
            return "WRONG RESULT"
        case _:
            assert_never(comparison.outcome)


def _bound(report: Report) -> str:
    """That of the graph which takes longest; unknown where none was timed."""
    timed = [graph for graph in report.graphs if graph.is_in_step and graph.budget is not None]
    longest = max(timed, key=lambda graph: graph.budget.elapsed_ns if graph.budget else 0, default=None)
    return quantities.UNKNOWN if longest is None else bound_word(longest.verdict.bound)


def _gates(model: ModelGate) -> str:
    if model.error is not None:
        return "**did not run**"
    failed, warned = len(model.failures), len(model.warnings)
    said = [f"**{failed} failed**"] if failed else []
    said += [f"{warned} warned"] if warned else []
    return ", ".join(said) or "passed"
