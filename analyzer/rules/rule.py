"""What a rule is: an id, its documentation, and one function from facts to findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from analyzer.core.finding import Confidence, Finding
from analyzer.rules.facts import Facts

SECTIONS: Final = (
    "What it finds",
    "Why it costs",
    "How it is measured",
    "What to do",
    "When it is wrong",
)
"""The sections of every rule's docstring, in this order, each a line of its own."""


class MissingData(Exception):
    """Raised by a rule that lacks what it judges; the reason says what to record. Never means that all is well."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`id` is the name of the rule's file, `doc` its docstring: a title, an empty line, the `SECTIONS`.

    `confidence` is that of all its findings; where `is_timed`, the pattern itself is one of times, and none is certain
    that was timed on a disturbed machine (`Facts.is_disturbed`). `judge` returns them, none where the pattern is not
    there. It raises MissingData where it cannot tell.
    """

    id: str
    doc: str
    judge: Callable[[Facts], tuple[Finding, ...]]
    confidence: Confidence = Confidence.LIKELY
    is_timed: bool = False

    @property
    def title(self) -> str:
        return self.doc.strip().partition("\n")[0]
