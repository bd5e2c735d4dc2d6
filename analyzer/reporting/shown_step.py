"""One step of a recording, small enough to be drawn in a file: lanes of marks. Whoever has the trace makes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShownShade:
    """What a colour stands for. `colour` is `#rrggbb`, `pattern` one of `html_patterns.PATTERNS`. `is_graph`: of a
    graph, in lanes of its own; it may look like a shade of another lane.
    """

    label: str
    colour: str
    pattern: str
    is_graph: bool = False


@dataclass(frozen=True, slots=True)
class ShownMark:
    """From `left` to `right`, as shares of the step. `shade` indexes `ShownStep.shades`. `cover` is how much of it is
    covered by events, 1 for a single one drawn to its ends. `text` names it with its duration, None for what is too
    short to be pointed at.
    """

    left: float
    right: float
    shade: int
    cover: float
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ShownLane:
    """`label` is empty for a lane that goes on from the one above it, a level deeper. `events` touch the step."""

    label: str
    marks: tuple[ShownMark, ...]
    events: int


@dataclass(frozen=True, slots=True)
class ShownStep:
    """`name` is the side (`before`), `title` says which step it is, `ns` is its length as it was recorded.

    `note` is what must be known of it, and why there is no lane where there is none. `left_out` are the events of
    lanes that are not drawn.
    """

    name: str
    title: str
    ns: int
    lanes: tuple[ShownLane, ...] = ()
    shades: tuple[ShownShade, ...] = ()
    left_out: int = 0
    note: str | None = None
