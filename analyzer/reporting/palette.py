"""Colours that people with any colour vision can tell apart, for every format that has colours."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.budget import Part

OKABE_ITO: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Okabe & Ito, Color Universal Design (2008), without black, in an order that keeps neighbours far apart."""

GREY: Final = "#999999"
COLLECTIVES: Final = "#009E73"
"""What ranks say to each other, on every page: no part of a budget, whose colours are below."""


def part_colour(part: Part) -> str:
    """The colour of a part of a budget, as `#rrggbb`."""
    match part:
        case Part.STARVED:
            return "#D55E00"
        case Part.COMPUTE:
            return "#0072B2"
        case Part.MEMORY:
            return "#56B4E9"
        case Part.LATENCY:
            return "#CC79A7"
        case Part.SYNC:
            return "#E69F00"
        case Part.COPIES:
            return "#F0E442"
        case Part.UNKNOWN_KERNELS:
            return "#666666"
        case Part.OTHER:
            return "#BBBBBB"
        case _:
            assert_never(part)
