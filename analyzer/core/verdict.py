"""Which resource bounds a region, how sure that is, and on what evidence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from analyzer.core.budget import Part


class Bound(Enum):
    COMPUTE = "compute"
    MEMORY = "memory"
    CPU = "cpu"
    LATENCY = "latency"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Saving:
    """What removing one part would save at most, in nanoseconds a step."""

    part: Part
    at_most_ns: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """`confidence` is between 0 and 1, None when undecided; `evidence` are sentences with their numbers, strongest
    first; `missing` says what to record for a verdict where there is none.
    """

    bound: Bound
    confidence: float | None
    evidence: tuple[str, ...]
    savings: tuple[Saving, ...] = ()
    missing: str | None = None
