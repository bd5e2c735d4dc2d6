"""A known pattern at a place in the user's source, with the milliseconds that it costs."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.graphs import SourceLine


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` is the id of the rule that found it; `ns_per_step` is None where its cost is not known."""

    rule: str
    message: str
    where: SourceLine | None
    ns_per_step: int | None
    remedy: str
    count: int = 1


@dataclass(frozen=True, slots=True)
class RuleFailure:
    """A rule that could not judge: it lacked its data, or it raised."""

    rule: str
    reason: str
