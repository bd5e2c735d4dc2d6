"""What an evaluation says: thresholds met or missed, tables, and every disagreement with its numbers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class Meets(Enum):
    YES = "met"
    NO = "missed"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Check:
    """One figure that the issue asks for. `found` None: nothing to measure it on; `of` is how many things it is over.

    `is_at_most` where the figure must not exceed `asked`; otherwise it must reach it.
    """

    what: str
    asked: float
    found: float | None
    of: int
    is_at_most: bool = False

    @property
    def meets(self) -> Meets:
        if self.found is None:
            return Meets.UNKNOWN
        return Meets.YES if (self.found <= self.asked if self.is_at_most else self.found >= self.asked) else Meets.NO


@dataclass(frozen=True, slots=True)
class Table:
    """`note` says how to read it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """A verdict that was stated with a confidence, and whether it turned out right."""

    what: str
    confidence: float
    is_right: bool


@dataclass(frozen=True, slots=True)
class Section:
    title: str
    where: str
    checks: tuple[Check, ...]
    tables: tuple[Table, ...]
    stated: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = field(default=())


BINS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Edges of the bins of confidence; a verdict of exactly 1 is in the last."""


def reliability(stated: tuple[Stated, ...]) -> Table:
    """Of the verdicts given with confidence p, about p should be right."""
    rows = []
    for low, high in itertools.pairwise(BINS):
        own = [s for s in stated if low <= s.confidence < high or (high == 1.0 and s.confidence == 1.0)]
        if own:
            mean, right = sum(s.confidence for s in own) / len(own), sum(s.is_right for s in own)
            rows.append((f"{low:.1f}–{high:.1f}", str(len(own)), f"{mean:.2f}", f"{right / len(own):.2f}"))
    note = "Of the verdicts given with confidence p, about p should be right."
    return Table("Reliability of confidence", ("confidence", "verdicts", "mean confidence", "right"), tuple(rows), note)
