"""What one model comes to in a table of several, in words that need no escaping: its step, its bound, its plan."""

from __future__ import annotations

from typing import assert_never

from analyzer.core import quantities
from analyzer.core.report import Report
from analyzer.core.trial import Change
from analyzer.reporting.rows import bound_word, step_ns


def step_text(report: Report) -> str:
    comparison = report.comparison
    if comparison is not None:
        return quantities.durations((comparison.before_ns, comparison.after_ns))
    return quantities.duration(step_ns(report))


def outcome_text(report: Report) -> str:
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


def bound_text(report: Report) -> str:
    """That of the graph which takes longest; unknown where none was timed."""
    timed = [graph for graph in report.graphs if graph.is_in_step and graph.budget is not None]
    longest = max(timed, key=lambda graph: graph.budget.elapsed_ns if graph.budget else 0, default=None)
    return quantities.UNKNOWN if longest is None else bound_word(longest.verdict.bound)
