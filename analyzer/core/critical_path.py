"""The chain of work that made a recording as long as it was: whoever shortens anything else shortens nothing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PathKind(Enum):
    """What the path leads through; the value is how it is said."""

    HOST = "host"
    LAUNCH = "launch delay"
    COMPUTE = "kernels"
    COMMUNICATION = "communication"
    COPY = "copies"
    GAP = "gaps between kernels"
    SYNC = "synchronising"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class PathSegment:
    """A piece of the path. `row` is the trace row that it leads through: the kernel, the launch call, the waiting call;
    None of the host, whose time lies along `thread`, and of gaps.
    """

    kind: PathKind
    start_ns: int
    end_ns: int
    row: int | None = None
    thread: int | None = None


@dataclass(frozen=True, slots=True)
class PathPart:
    kind: PathKind
    ns: int


@dataclass(frozen=True, slots=True)
class PathRow:
    """All rows of one name on the path. `ns` is their time on it: of an operator, without the rows inside it."""

    name: str
    kind: PathKind
    ns: int
    count: int


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The path of a window of `elapsed_ns`, which `parts` add up to exactly, the largest first.

    `steps` is how many marked steps the window holds, 0 for a recording without marks. `rows` are the ones with the
    most time on the path. `missing` is why no path is known, None where one is; everything else is then empty.
    `guessed` is how many device rows on it have no launch call in the recording (no correlation): what they waited for
    is guessed to be the row before them on their stream, or is unknown.
    """

    elapsed_ns: int
    steps: int
    segments: int
    parts: tuple[PathPart, ...]
    rows: tuple[PathRow, ...]
    missing: str | None = None
    guessed: int = 0

    def __post_init__(self) -> None:
        if sum(part.ns for part in self.parts) != self.elapsed_ns:
            raise ValueError("the parts of a path must add up to its window")

    def ns(self, kind: PathKind) -> int:
        return next((part.ns for part in self.parts if part.kind is kind), 0)
