"""A budget as one bar: each part has a colour, a pattern and a letter, so that it reads without colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.reporting.budget_bar import letter, part_title
from analyzer.reporting.html_patterns import ink_on, part_pattern
from analyzer.reporting.palette import part_colour
from dashboard.panels.panel import Component
from dashboard.table import attributes

LETTER_SHARE: Final = 0.06
"""Of a bar's width: in less, a letter would be cut off (13 px of 220)."""
_SHAPES: Final = {
    "none": "",
    "rising": "/",
    "falling": "\\",
    "dots": ".",
    "upright": "|",
    "level": "-",
    "crossed": "x",
    "grid": "+",
}
"""What Plotly calls each pattern."""


@dataclass(frozen=True, slots=True)
class Look:
    """How a part is drawn. `pattern` is a name of `assets/gb_graphs.css`, `shape` Plotly's sign for the same, `ink` the
    colour of its letter.
    """

    colour: str
    pattern: str
    shape: str
    ink: str


def part_look(part: Part) -> Look:
    pattern, colour = part_pattern(part), part_colour(part)
    return Look(colour, pattern, _SHAPES[pattern], ink_on(colour))


def part_name(part: Part) -> str:
    """The word of the part; what nothing explains says so."""
    return "other, unexplained" if part is Part.OTHER else part.value


def bar(budget: Budget, whole_ns: int | None = None) -> Component:
    """As wide as its place where `whole_ns` is the budget's own time, and shorter by as much where it is longer."""
    whole = whole_ns or budget.elapsed_ns
    pieces = [_piece(budget, part, whole) for part in Part if budget.ns(part) > 0]
    said = "; ".join(part_title(budget, part) for part in Part if budget.ns(part) > 0)
    return html.Div(pieces, className="gb-parts", role="img", **attributes({"aria-label": said or "no time"}))


def legend(budgets: Iterable[Budget | None]) -> Component:
    """A swatch, a letter and a word for each part that occurs."""
    known = [budget for budget in budgets if budget is not None]
    parts = [part for part in Part if any(budget.ns(part) > 0 for budget in known)]
    items = [html.Li([_swatch(part), f"{letter(part)} {part_name(part)}"]) for part in parts]
    return html.Ul(items, className="gb-legend")


def mark(part: Part) -> Component:
    """Its swatch and its letter, to stand before its name in a table."""
    return html.Span([_swatch(part), html.B(letter(part), className="gb-letter")])


def parts_sentence(budget: Budget) -> str:
    """`starved 67 %, memory 20 %, …`, the largest first."""
    parts = sorted((part for part in Part if budget.ns(part) > 0), key=lambda part: -budget.ns(part))
    return ", ".join(f"{part_name(part)} {quantities.share(budget.share(part))}" for part in parts)


def _piece(budget: Budget, part: Part, whole_ns: int) -> Component:
    look = part_look(part)
    share = budget.ns(part) / whole_ns if whole_ns else 0.0
    inside = [html.B(letter(part), style={"background": look.colour})] if share >= LETTER_SHARE else []
    return html.Span(
        inside,
        title=part_title(budget, part),
        style={"width": f"{share * 100:.3f}%", "backgroundColor": look.colour, "color": look.ink},
        **attributes({"data-pattern": look.pattern}),
    )


def _swatch(part: Part) -> Component:
    look = part_look(part)
    return html.Span(
        className="gb-swatch", style={"backgroundColor": look.colour}, **attributes({"data-pattern": look.pattern})
    )
