"""What is said where a budget and the times beside it were taken at another speed: budgets are of the first clean pass,
before and after of a later one, in which the default and the plan took turns.
"""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Budget
from analyzer.core.quantities import duration, durations
from analyzer.core.report import Report
from analyzer.reporting.rows import RegionRow

SAME_SPEED: Final = 0.1
"""Of a step: a machine that is left alone repeats one to a few per cent (design, measuring)."""


def step_at_another_speed(report: Report) -> str | None:
    """Of the budget of the whole step; None where both were taken at one speed, or there is one alone."""
    before, comparison = report.step_budget, report.comparison
    if before is None or comparison is None or _is_same(comparison.before_ns, before):
        return None
    times = durations((before.elapsed_ns, comparison.before_ns), separator=" and ")
    return (
        f"The first clean pass, which these parts are of, and the comparison were taken at {times} a step before. "
        "The machine, or what else ran on it, had changed."
    )


def row_at_another_speed(row: RegionRow) -> str | None:
    """The same of the budget of a graph or an eager gap."""
    if row.before_ns is None or row.budget is None or _is_same(row.before_ns, row.budget):
        return None
    first, later = duration(row.budget.elapsed_ns), duration(row.before_ns)
    return f"These parts are of the first clean pass, {first}; {later} was measured later, in turn with the plan."


def _is_same(later_ns: int, first: Budget) -> bool:
    return not first.elapsed_ns or abs(later_ns / first.elapsed_ns - 1) <= SAME_SPEED
