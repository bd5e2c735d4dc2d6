"""Predicted against measured savings, trial by trial: how far what was foretold can be relied on. Reads no file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analyzer.core.report import CandidateReport, GraphReport, Report
from analyzer.core.trial import TrialOutcome


@dataclass(frozen=True, slots=True)
class Entry:
    """One trial that was predicted and measured. Savings are of the graph's own time in a step, forward and backward
    together, negative for a loss, both against the default taken in turn with the trial: a host that was slow in one
    second and fast in the next (2.7 and 4.5 ms a step of BERT on an H200) is no error of a prediction. `step_ns` is a
    step of that default.
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
    once: dict[str, GraphReport] = {}
    for graph in report.graphs:  # forward and backward of a graph carry the same trials
        once.setdefault(graph.key.digest, graph)
    found = (_entry(digest, trial) for digest, graph in once.items() for trial in graph.candidates)
    return tuple(entry for entry in found if entry is not None)


def reliance(entries: Sequence[Entry]) -> Reliance | None:
    """How far the predictions of these entries were off; None without any."""
    if not entries:
        return None
    median, tail = np.quantile([abs(entry.error) for entry in entries], (0.5, 0.9))
    return Reliance(len(entries), float(median), float(tail))


def _entry(digest: str, candidate: CandidateReport) -> Entry | None:
    if candidate.outcome not in (TrialOutcome.MEASURED, TrialOutcome.WRONG_RESULT):
        return None
    predicted, own, base = candidate.predicted_ns, candidate.measured_ns, candidate.baseline_ns
    if predicted is None or own is None or base is None or not candidate.step_baseline_ns:
        return None
    return Entry(digest, candidate.candidate, base - predicted, base - own, candidate.step_baseline_ns)
