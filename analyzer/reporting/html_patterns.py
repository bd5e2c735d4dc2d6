"""Patterns drawn over a colour, so that no two things on a page differ by colour alone."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.budget import Part
from analyzer.reporting.html_markup import Html, tag

PLAIN: Final = "none"
_RISING: Final = "M-2 2l4-4M0 8l8-8M6 10l4-4"
_FALLING: Final = "M-2 6l4 4M0 0l8 8M6-2l4 4"
PATTERNS: Final[tuple[tuple[str, str], ...]] = (
    ("rising", _RISING),
    ("falling", _FALLING),
    ("dots", "M1 2h2M5 6h2"),
    ("upright", "M2 0v8M6 0v8"),
    ("level", "M0 2h8M0 6h8"),
    ("crossed", _RISING + _FALLING),
    ("grid", "M0 4h8M4 0v8"),
)
"""Name and path of each, in a square of `_SIZE`; the names are those of the dashboard's timeline, and `grid`."""

_SIZE: Final = 8


def definitions() -> Html:
    """What `filling` refers to: once on a page. Not hidden by CSS, or browsers would not draw them."""
    found = [
        tag(
            "pattern",
            tag("path", d=path, fill="none", stroke="#000", stroke_opacity=0.45, stroke_width=_stroke(name)),
            id=_id(name),
            width=_SIZE,
            height=_SIZE,
            patternUnits="userSpaceOnUse",
        )
        for name, path in PATTERNS
    ]
    return tag("svg", tag("defs", *found), width=0, height=0, aria_hidden="true", class_="defs")


def filling(pattern: str) -> str | None:
    """What to fill a shape with, over its colour; None where it stays plain."""
    return None if pattern == PLAIN else f"url(#{_id(pattern)})"


def part_pattern(part: Part) -> str:
    """As the kernels and gaps of the timeline have it; of two plain ones of a budget, one has a pattern of its own."""
    match part:
        case Part.STARVED:
            return PLAIN
        case Part.COMPUTE:
            return "grid"
        case Part.MEMORY:
            return "dots"
        case Part.LATENCY:
            return "falling"
        case Part.SYNC:
            return "rising"
        case Part.COPIES:
            return "upright"
        case Part.UNKNOWN_KERNELS:
            return "level"
        case Part.OTHER:
            return "crossed"
        case _:
            assert_never(part)


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on `#rrggbb`: the relative luminance of WCAG 2, at its equal contrast."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000" if luminance > 0.179 else "#fff"


def _id(name: str) -> str:
    return f"gb-{name}"


def _stroke(name: str) -> float:
    return 2.0 if name == "dots" else 1.2
