"""What `analyze check` found, for a terminal: the answer first, then each model with what failed and what to do."""

from __future__ import annotations

from typing import Final

from analyzer.core.gate import GateResult, GateStatus, ModelGate
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import place

_MARKS: Final = {
    GateStatus.FAILED: "FAILED",
    GateStatus.BROKEN: "BROKEN",
    GateStatus.WARNED: "warning",
    GateStatus.IMPROVED: "better",
    GateStatus.NOT_COMPARED: "-",
    GateStatus.SILENCED: "silenced",
    GateStatus.PASSED: "ok",
}
_WIDTH: Final = max(len(mark) for mark in _MARKS.values())
SENTENCE_LIMIT: Final = 1_000
"""Characters: what the user's program said last may be all that there is to go by."""
_NAMES: Final = 18
"""Columns of the longest id of a gate (cudagraph_refusals)."""


def gate_text(result: GateResult) -> str:
    """Ends in a newline. Hostile names are escaped."""
    answer = "PASSED" if result.has_passed else "FAILED"
    lines = [f"{answer}: {plain(result.headline)}", ""]
    for model in result.models:
        lines += [*_model(model), ""]
    lines += [f"note: {plain(note)}" for note in result.notes]
    if result.accept is not None and result.accept_file is not None:
        lines.append(f"accept the new values: {result.command} --init")
    lines.append(f"again: {result.command}")
    return "\n".join(lines) + "\n"


def _model(model: ModelGate) -> list[str]:
    lines = [plain(model.name)]
    if model.error is not None:
        lines.append(f"  {'FAILED':<{_WIDTH}}  {plain(model.error, SENTENCE_LIMIT)}")
    told: set[str] = set()
    for check in model.checks:
        lines.append(
            f"  {_MARKS[check.status]:<{_WIDTH}}  {check.gate:<{_NAMES}}  {plain(check.message, SENTENCE_LIMIT)}"
        )
        if (check.is_failure or check.is_warning) and check.remedy is not None and check.remedy not in told:
            # Several numbers that one line changed have one remedy.
            told.add(check.remedy)
            lines.append(f"  {'':<{_WIDTH}}  {'':<{_NAMES}}  → {plain(check.remedy, SENTENCE_LIMIT)}")
    lines += [f"  silenced: {finding.rule} at {place(finding.where)}" for finding in model.silenced]
    return lines + [f"  note: {plain(note)}" for note in model.notes]
