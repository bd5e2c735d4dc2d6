"""What one gate of a check says, the same for a terminal and for every code host."""

from __future__ import annotations

from analyzer.core.gate import GateCheck


def check_message(check: GateCheck) -> str:
    """Its sentence, with the reason where the sentence does not hold it."""
    return check.message if not check.reason or check.reason in check.message else f"{check.message}: {check.reason}"


def check_cause(check: GateCheck) -> str | None:
    """What the finding at its line says, as a sentence; None where nothing does, or the message has said it."""
    if not check.cause or check.cause in check_message(check):
        return None
    return f"{check.cause[0].upper()}{check.cause[1:]}"
