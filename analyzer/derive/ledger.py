"""Predicted against measured savings, trial by trial: how far what was foretold can be relied on. Reads no file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.core.report import CandidateReport, GraphReport, Report
from analyzer.core.trial import TrialOutcome


@dataclass(frozen=True, slots=True)
class Entry:
    """One trial that was predicted and measured. Savings are of the graph's own time in a step, forward and backward
    together, negative for a loss: the predicted one against the graph in the first clean pass, the measured one against
    the default taken in turn with it. `step_ns` is a step of the default, in turn.
    """

    digest: str
    candidate: str
    predicted_ns: int
    measured_ns: int
    step_ns: int

    @property
    def error(self) -> float:
        """Predicted less measured, as a share of the step: above 0 more was promised than came."""
        return (self.predicted_ns - self.measured_ns) / self.step_ns


@dataclass(frozen=True, slots=True)
class Reliance:
    """The sizes of the errors of some entries, as shares of the step."""

    entries: int
    median: float
    tail: float
    """The 90th percentile."""


def ledger(report: Report) -> tuple[Entry, ...]:
    """Every trial of the report with a prediction, each graph once though it has a forward and a backward.

    A wrong result has its time, and stands here; what failed or was left untried has none.
    """
    digests = dict.fromkeys(graph.key.digest for graph in report.graphs)
    return tuple(
        entry for digest in digests for entry in _entries([g for g in report.graphs if g.key.digest == digest])
    )


def reliance(entries: Sequence[Entry]) -> Reliance | None:
    """How far the predictions of these entries were off; None without any."""
    if not entries:
        return None
    median, tail = np.quantile([abs(entry.error) for entry in entries], (0.5, 0.9))
    return Reliance(len(entries), float(median), float(tail))


def _entries(graphs: Sequence[GraphReport]) -> Iterator[Entry]:
    budgets = [graph.budget for graph in graphs if graph.is_in_step]
    before_ns = sum(budget.elapsed_ns for budget in budgets if budget is not None)
    if not before_ns or any(budget is None for budget in budgets):
        return
    # Forward and backward of a graph carry the same trials.
    for candidate in graphs[0].candidates:
        entry = _entry(graphs[0].key.digest, candidate, before_ns)
        if entry is not None:
            yield entry


def _entry(digest: str, candidate: CandidateReport, before_ns: int) -> Entry | None:
    if candidate.outcome not in (TrialOutcome.MEASURED, TrialOutcome.WRONG_RESULT):
        return None
    predicted, own, base = candidate.predicted_ns, candidate.measured_ns, candidate.baseline_ns
    if predicted is None or own is None or base is None or not candidate.step_baseline_ns:
        return None
    return Entry(digest, candidate.candidate, before_ns - predicted, base - own, candidate.step_baseline_ns)
