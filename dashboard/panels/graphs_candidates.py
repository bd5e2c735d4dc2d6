"""What was tried for one graph: outcome and reason, predicted beside measured, every sample that the report keeps."""

from __future__ import annotations

import hashlib
from typing import Final

from dash import html

from analyzer.core.report import CandidateReport, GraphReport
from analyzer.core.trial import TrialOutcome
from analyzer.reporting.report_text import error_text
from dashboard.figure import graph as figure_of
from dashboard.panels.panel import Component, empty_state
from dashboard.panels.step_samples import Strip, strip_figure, strip_height_px
from dashboard.table import Cell, Column, Kind, known_columns, table

MOST_DRAWN: Final = 10
"""Candidates in the figure; the table has all."""
DEFAULT_SERIES: Final = "torch.compile's default, in turn"
OWN_SERIES: Final = "with the candidate"

NOT_TRIED: Final = (
    "Nothing was tried for this graph. `analyze model.py` tries candidates for the graphs that take longest, "
    "without --no-optimize."
)
NOT_KEPT: Final = "This report keeps medians alone; `analyze model.py` now keeps the samples too."
_EXPLANATION: Final = (
    "Predicted and measured are the graph's own time a step. What decides is the whole step with only this graph "
    "changed, against the default taken in turn with it."
)
_COLUMNS: Final = (
    Column("candidate", width_px=170),
    Column("outcome", width_px=110),
    Column("why", width_px=260, is_wrapped=True),
    Column("predicted", Kind.DURATION, tip="the graph's own time in a step, before it was tried"),
    Column("measured", Kind.DURATION, tip="the graph's own time in a step"),
    Column("predicted ÷ measured", Kind.RATIO, 104),
    Column("default", Kind.DURATION, tip="the graph's own time under torch.compile's default, in turn"),
    Column("step", Kind.DURATION, tip="the whole step with only this graph changed"),
    Column("step, default", Kind.DURATION, tip="the whole step under torch.compile's default, in turn"),
    Column("speed", Kind.RATIO, 78, tip="of the step: default over candidate"),
    Column("compile", Kind.DURATION),
    Column("error", width_px=110, tip="of the results, from the reference that the overview names"),
    Column("memory", Kind.BYTES, tip="the peak of a step, without what CUDA graphs keep"),
    Column("+ CUDA graphs", Kind.BYTES, 104, tip="what its CUDA graphs keep beside that peak"),
)


def candidates_of(graph: GraphReport) -> list[Component]:
    if not graph.candidates:
        return [empty_state(NOT_TRIED)]
    columns, rows = known_columns(_COLUMNS, candidate_rows(graph))
    shown = table(f"graphs-candidates-{_own_id(graph)}", columns, rows, file_name=f"tried-{_own_id(graph)}")
    return [html.P(_EXPLANATION, className="gb-quiet"), shown, *_samples(graph)]


def candidate_rows(graph: GraphReport) -> list[tuple[Cell, ...]]:
    return [_row(candidate, is_chosen=candidate.candidate == graph.chosen) for candidate in graph.candidates]


def strips_of(graph: GraphReport) -> list[Strip]:
    """The steps of each candidate under the default and with it; without those whose samples are not kept."""
    strips = []
    for candidate in [one for one in graph.candidates if one.step_samples is not None][:MOST_DRAWN]:
        name = _name(candidate, is_chosen=candidate.candidate == graph.chosen)
        if candidate.step_baseline_samples is not None:
            strips.append(Strip(name, DEFAULT_SERIES, candidate.step_baseline_samples))
        if candidate.step_samples is not None:
            strips.append(Strip(name, OWN_SERIES, candidate.step_samples))
    return strips


def _row(candidate: CandidateReport, *, is_chosen: bool) -> tuple[Cell, ...]:
    return (
        _name(candidate, is_chosen=is_chosen),
        candidate.outcome.value,
        _why(candidate),
        candidate.predicted_ns,
        candidate.measured_ns,
        _over(candidate.predicted_ns, candidate.measured_ns),
        candidate.baseline_ns,
        candidate.step_ns,
        candidate.step_baseline_ns,
        _over(candidate.step_baseline_ns, candidate.step_ns),
        candidate.compile_ns,
        error_text(candidate.accuracy),
        candidate.peak_bytes,
        candidate.pool_bytes,
    )


def _name(candidate: CandidateReport, *, is_chosen: bool) -> str:
    return f"{candidate.candidate} (chosen)" if is_chosen else candidate.candidate


def _over(numerator: int | None, denominator: int | None) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _why(candidate: CandidateReport) -> str:
    fallbacks = ", ".join(candidate.python_fallbacks[:3])
    told = [
        candidate.reason,
        candidate.caveat,
        f"its C++ wrapper calls back into Python for {fallbacks}" if fallbacks else None,
    ]
    said = [one for one in told if one]
    if not said and candidate.accuracy is not None and not candidate.accuracy.is_right:
        return "its results are too far from the reference"
    return "; ".join(said)


def _own_id(graph: GraphReport) -> str:
    """For the ids of its parts, which may not hold all that a key of a file may. Each card has its own, so that its
    figure is made anew and not drawn over that of the last.
    """
    return hashlib.sha256(str(graph.key).encode("utf-8", "replace")).hexdigest()[:12]


def _samples(graph: GraphReport) -> list[Component]:
    strips = strips_of(graph)
    if not strips:
        was_measured = any(candidate.outcome is TrialOutcome.MEASURED for candidate in graph.candidates)
        return [empty_state(NOT_KEPT)] if was_measured else []
    return [
        figure_of(
            f"graphs-samples-{_own_id(graph)}",
            strip_figure(strips),
            height_px=strip_height_px(strips),
            label="samples of a step with each candidate, and of the default taken in turn",
        )
    ]
