"""What the report says of one timeline: verdicts on its graphs, findings, and what it cannot be believed in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from analyzer.core.finding import Finding
from analyzer.core.graphs import GraphKey
from analyzer.core.quantities import share
from analyzer.core.verdict import Verdict
from analyzer.reporting.rows import bound_word

UNJUDGED: Final = "not judged"


@dataclass(frozen=True, slots=True)
class Judged:
    """`verdicts` are by region; one that is not there was not judged. `cards` are the regions that the page Graphs has
    a card of. `caveats` are sentences on what the recording cannot be believed in, or what the run lacks.
    """

    headline: str = ""
    verdicts: Mapping[GraphKey, Verdict] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    caveats: tuple[str, ...] = ()
    cards: frozenset[GraphKey] = frozenset()

    def phrase(self, key: GraphKey) -> str:
        """`memory-bound (confidence 83 %)`, `undecided`, or UNJUDGED."""
        verdict = self.verdicts.get(key)
        if verdict is None:
            return UNJUDGED
        if verdict.confidence is None:
            return bound_word(verdict.bound)
        return f"{bound_word(verdict.bound)}-bound (confidence {share(verdict.confidence)})"


NOT_JUDGED: Final = Judged()
