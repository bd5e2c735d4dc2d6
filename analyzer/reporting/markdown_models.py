"""The table of models at the head of a comment: a line each, whatever became of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core import quantities
from analyzer.core.gate import ModelGate
from analyzer.reporting.markdown_text import cell, table, text
from analyzer.reporting.model_words import bound_text, outcome_text, step_text

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
        unknown = quantities.UNKNOWN
        return [cell(model.name, 40), unknown, unknown, "did not run", *[unknown] * 3]
    return [
        cell(model.name, 40),
        text(report.device.name, 40),
        step_text(report),
        outcome_text(report),
        bound_text(report),
        quantities.UNKNOWN if report.capture is None else quantities.count(len(report.graphs)),
        quantities.count(len(report.findings) - len(model.silenced)),
    ]


def _gates(model: ModelGate) -> str:
    if model.error is not None:
        return "**did not run**"
    failed, warned = len(model.failures), len(model.warnings)
    said = [f"**{failed} failed**"] if failed else []
    said += [f"{warned} warned"] if warned else []
    return ", ".join(said) or "passed"
