"""A known pattern at a place in the user's source, with the milliseconds that it costs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from analyzer.core.graphs import SourceLine


class Confidence(StrEnum):
    """How sure it is that the pattern is there; what it costs is another question."""

    CERTAIN = "certain"
    """Torch says so, a setting says so, or it was counted."""
    LIKELY = "likely"
    """Matched or measured by a pattern with known exceptions: `analyze explain` names them."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` is the id of the rule that found it; `ns_per_step` is None where its cost is not known."""

    rule: str
    message: str
    where: SourceLine | None
    ns_per_step: int | None
    remedy: str
    count: int = 1
    confidence: Confidence = Confidence.LIKELY


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that could not judge: it lacked its data, or it raised."""

    rule: str
    reason: str
