"""What each colour of the timeline stands for: a number on the wire, a label, a colour and a pattern."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Final, assert_never

from analyzer.core.budget import Part
from analyzer.reporting.palette import COLLECTIVES, GREY, OKABE_ITO, part_colour


class Pattern(Enum):
    """Drawn over a colour, so that no two things differ by colour alone; the value is its name in the canvas."""

    NONE = "none"
    RISING = "rising"
    FALLING = "falling"
    DOTS = "dots"
    UPRIGHT = "upright"
    LEVEL = "level"
    CROSSED = "crossed"


class ShadeGroup(Enum):
    """Where a shade is seen: what a legend lists together."""

    HOST = "host"
    DEVICE = "device"
    GAP = "gap"


class Fixed(IntEnum):
    """Shades that every timeline has; those of its graphs follow them."""

    OPERATOR = 0
    LAUNCH = 1
    RUNTIME = 2
    WAIT = 3
    RANGE = 4
    PYTHON = 5
    OTHER_ROW = 6
    STEP = 7
    NO_GRAPH = 8
    NOT_LINKED = 9
    OTHER_GRAPH = 10
    COMPUTE = 11
    MEMORY = 12
    LATENCY = 13
    UNKNOWN_KERNEL = 14
    COPY = 15
    COMMUNICATION = 16
    GAP_STARVED = 17
    GAP_SYNC = 18
    GAP_COPY = 19
    GAP_COMMUNICATION = 20
    GAP_QUEUED = 21
    GAP_OUTSIDE = 22
    GAP_UNEXPLAINED = 23


FIRST_GRAPH: Final = len(Fixed)
GRAPH_SHADES: Final = len(OKABE_ITO)
_GRAPH_PATTERNS: Final = (
    Pattern.NONE, Pattern.RISING, Pattern.DOTS, Pattern.FALLING, Pattern.UPRIGHT, Pattern.LEVEL, Pattern.CROSSED,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shade:
    """`code` is what the wire carries. `colour` is `#rrggbb`."""

    code: int
    label: str
    colour: str
    pattern: Pattern
    group: ShadeGroup


def fixed_shades() -> tuple[Shade, ...]:
    """In order of their codes."""
    return tuple(_fixed(one) for one in Fixed)


def graph_shades(labels: tuple[str, ...]) -> tuple[Shade, ...]:
    """One for each of the longest graphs, as many as there are colours that can be told apart."""
    return tuple(
        Shade(FIRST_GRAPH + number, label, OKABE_ITO[number], _GRAPH_PATTERNS[number], ShadeGroup.DEVICE)
        for number, label in enumerate(labels[:GRAPH_SHADES])
    )


def fixed_label(code: int) -> str:
    """Raises ValueError for the code of a graph."""
    return _LOOKS[Fixed(code)][0]


def part_shade(part: Part) -> Fixed:
    """The shade of a kernel by its bound."""
    match part:
        case Part.COMPUTE:
            return Fixed.COMPUTE
        case Part.MEMORY:
            return Fixed.MEMORY
        case Part.LATENCY:
            return Fixed.LATENCY
        case Part.COPIES:
            return Fixed.COPY
        case Part.UNKNOWN_KERNELS | Part.STARVED | Part.SYNC | Part.OTHER:
            return Fixed.UNKNOWN_KERNEL
        case _:
            assert_never(part)


def _fixed(one: Fixed) -> Shade:
    label, colour, pattern = _LOOKS[one]
    return Shade(int(one), label, colour, pattern, _group(one))


def _group(one: Fixed) -> ShadeGroup:
    if one <= Fixed.STEP:
        return ShadeGroup.HOST
    return ShadeGroup.GAP if one >= Fixed.GAP_STARVED else ShadeGroup.DEVICE


_LOOKS: Final[dict[Fixed, tuple[str, str, Pattern]]] = {
    Fixed.OPERATOR: ("operators", "#8FA3BF", Pattern.NONE),
    Fixed.LAUNCH: ("launches", "#4D4D4D", Pattern.NONE),
    Fixed.RUNTIME: ("other runtime calls", "#B0A08A", Pattern.NONE),
    Fixed.WAIT: ("waits for the device", part_colour(Part.SYNC), Pattern.RISING),
    Fixed.RANGE: ("named ranges", "#BFD3C6", Pattern.NONE),
    Fixed.PYTHON: ("Python", "#CDBFD9", Pattern.NONE),
    Fixed.OTHER_ROW: ("other rows", "#C8C8C8", Pattern.NONE),
    Fixed.STEP: ("steps", "#D0D7DE", Pattern.NONE),
    Fixed.NO_GRAPH: ("outside of any graph", GREY, Pattern.NONE),
    Fixed.NOT_LINKED: ("no launch row", "#E6E6E6", Pattern.CROSSED),
    Fixed.OTHER_GRAPH: ("shorter graphs", "#6E6E6E", Pattern.LEVEL),
    Fixed.COMPUTE: ("compute-bound kernels", part_colour(Part.COMPUTE), Pattern.NONE),
    Fixed.MEMORY: ("memory-bound kernels", part_colour(Part.MEMORY), Pattern.DOTS),
    Fixed.LATENCY: ("kernels far under both roofs", part_colour(Part.LATENCY), Pattern.FALLING),
    Fixed.UNKNOWN_KERNEL: ("kernels of unknown cost", "#7A7A7A", Pattern.LEVEL),
    Fixed.COPY: ("copies", part_colour(Part.COPIES), Pattern.UPRIGHT),
    Fixed.COMMUNICATION: ("collectives", COLLECTIVES, Pattern.RISING),
    Fixed.GAP_STARVED: ("starved: the host had not launched", part_colour(Part.STARVED), Pattern.NONE),
    Fixed.GAP_SYNC: ("sync: the host waited", part_colour(Part.SYNC), Pattern.RISING),
    Fixed.GAP_COPY: ("copies alone", part_colour(Part.COPIES), Pattern.UPRIGHT),
    Fixed.GAP_COMMUNICATION: ("communication alone", COLLECTIVES, Pattern.DOTS),
    Fixed.GAP_QUEUED: ("between kernels launched in time", part_colour(Part.LATENCY), Pattern.FALLING),
    Fixed.GAP_OUTSIDE: ("between steps, or outside of them", GREY, Pattern.LEVEL),
    Fixed.GAP_UNEXPLAINED: ("unexplained", part_colour(Part.OTHER), Pattern.CROSSED),
}
