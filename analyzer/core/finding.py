"""A known pattern at a place in the user's source, with the milliseconds that it costs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from analyzer.core.graphs import SourceLine


class Confidence(StrEnum):
    """How sure it is that the pattern is there; what it costs is another question."""

    CERTAIN = "certain"
    """Torch says so, a setting says so, or it was counted."""
    LIKELY = "likely"
    """Matched or measured by a pattern with known exceptions: `analyze explain` names them."""


EXCERPT_AROUND: Final = 2
"""Lines before and after a place that are kept: enough to see the statement, and little of a file in a report."""

EXCERPT_WIDTH: Final = 200
"""Characters of a line that are kept."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The user's source around a place, as it was when it ran: at most EXCERPT_AROUND lines before and after it, each
    at most EXCERPT_WIDTH characters, the last an ellipsis where it was cut. `first` is the number of the first line.
    """

    first: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` is the id of the rule that found it; `ns_per_step` is None where its cost is not known. `excerpt` is None
    where the source was not kept: it could not be read, or had changed since.
    """

    rule: str
    message: str
    where: SourceLine | None
    ns_per_step: int | None
    remedy: str
    count: int = 1
    confidence: Confidence = Confidence.LIKELY
    excerpt: Excerpt | None = None


RUN_THE_MODEL: Final = "run analyze on the model itself"
"""What to do, after what is missing and a colon, where no recording can hold it."""


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that could not judge: it lacked its data, or it raised."""

    rule: str
    reason: str
