"""What `analyze check` found, for a terminal: the answer first, then each model with what failed and what to do."""

from __future__ import annotations

import textwrap
from typing import Final

from analyzer.core.gate import GateResult, GateStatus, ModelGate
from analyzer.reporting.check_words import check_cause, check_message
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
_NARROW: Final = 70
"""Columns below which a sentence beside its mark and its gate would be a column of single words."""
SENTENCE_LIMIT: Final = 1_000
"""Characters: what the user's program said last may be all that there is to go by."""
_NAMES: Final = 18
"""Columns of the longest id of a gate (cudagraph_refusals)."""


def check_text(result: GateResult, width: int | None = None) -> str:
    """Ends in a newline. Hostile names are escaped. `width` None: a line is as long as what it says, as `grep` wants
    it; commands are never folded.
    """
    answer = "PASSED" if result.has_passed else "FAILED"
    lines = [*_folded(f"{answer}: ", result.headline, width), ""]
    for model in result.models:
        lines += [*_model(model, width), ""]
    for note in result.notes:
        lines += _folded("note: ", note, width)
    if result.accept is not None and result.accept_file is not None:
        lines.append(f"accept the new values: {result.command} --init")
    lines.append(f"again: {result.command}")
    return "\n".join(lines) + "\n"


def _model(model: ModelGate, width: int | None) -> list[str]:
    lines = [plain(model.name)]
    if model.error is not None:
        lines += _folded(f"  {'FAILED':<{_WIDTH}}  ", model.error, width)
    told: set[str] = set()
    is_narrow = width is not None and width < _NARROW
    below = " " * 4 if is_narrow else f"  {'':<{_WIDTH}}  {'':<{_NAMES}}  "
    for check in model.checks:
        begin = f"  {_MARKS[check.status]:<{_WIDTH}}  {check.gate:<{_NAMES}}  "
        lines += [begin.rstrip()] if is_narrow else []
        lines += _folded(below if is_narrow else begin, check_message(check), width)
        if not (check.is_failure or check.is_warning):
            continue
        # Several numbers that one line changed have one cause and one remedy.
        for mark, said in (("", check_cause(check)), ("→ ", check.remedy)):
            if said is not None and said not in told:
                told.add(said)
                lines += _folded(f"{below}{mark}", said, width)
    lines += [f"  silenced: {finding.rule} at {place(finding.where)}" for finding in model.silenced]
    for note in model.notes:
        lines += _folded("  note: ", note, width)
    return lines


def _folded(begin: str, text: str, width: int | None) -> list[str]:
    """A sentence after its mark, on lines below one another."""
    said = plain(text, SENTENCE_LIMIT)
    room = len(said) if width is None else width - len(begin)
    # A path and a word with a hyphen are to be copied.
    lines = textwrap.wrap(said, max(room, 1), break_long_words=False, break_on_hyphens=False) or [""]
    return [begin + lines[0], *(" " * len(begin) + line for line in lines[1:])]
