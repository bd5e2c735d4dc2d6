"""Two recordings beside each other: rows whose differences add up to the difference of the totals."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

COMPARED_SCHEMA: Final = 1


class Matched(StrEnum):
    """By what a row of one side was found on the other, the strictest first."""

    GRAPH = "graph"
    OPERATOR = "operator"
    FAMILY = "kernel family"
    IDLE = "idle time"
    NONE = "nothing"


class Fate(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    APPEARED = "appeared"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One thing on both sides, in ns a step. None: it is not there. `count_…` are kernels a step.

    `name` is of the side that has it; where both have it and call it another thing, `was` is what the first calls it.
    """

    name: str
    matched: Matched
    fate: Fate
    before_ns: int | None
    after_ns: int | None
    count_before: float
    count_after: float
    was: str | None = None

    @property
    def difference_ns(self) -> int:
        return (self.after_ns or 0) - (self.before_ns or 0)


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """`whole_ns` is an average step's part of the window; `steps` None: none were marked, and it is the window."""

    source: str
    device: str
    whole_ns: int
    idle_ns: int
    steps: int | None
    bound: str
    honesty: tuple[str, ...]
    lacks_rows: bool = False
    """Whether its file is cut or broken within its rows, so that its times are those of what is left."""


@dataclass(frozen=True, slots=True)
class Compared:
    """`rows` by the size of their difference; the sum of these is `after.whole_ns - before.whole_ns`, exactly."""

    before: ComparedSide
    after: ComparedSide
    rows: tuple[ComparedRow, ...]
    notes: tuple[str, ...] = ()
    schema: int = COMPARED_SCHEMA
    unlike: tuple[str, ...] = ()
    """In what the two are not one program before and after a change (another model, mode, device, number format or
    batch), a clause each. Said before every figure; empty where nothing speaks against it.
    """

    def __post_init__(self) -> None:
        if sum(row.difference_ns for row in self.rows) != self.after.whole_ns - self.before.whole_ns:
            raise ValueError("the rows of a comparison must add up to the difference of the totals")
