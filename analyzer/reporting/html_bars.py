"""Budgets as bars of plain SVG, with a letter and a pattern for each part: they read without colour, and in print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from analyzer.core import quantities
from analyzer.core.budget import Budget, Part
from analyzer.core.report import Report
from analyzer.reporting.budget_bar import letter, part_title, parts_in
from analyzer.reporting.first_pass import step_at_another_speed
from analyzer.reporting.html_markup import NOTHING, Html, paragraph, shown, table, tag
from analyzer.reporting.html_patterns import filling, ink_on, part_pattern
from analyzer.reporting.palette import part_colour

_STEP_PX: Final = 34
_ROW_PX: Final = 18
_SWATCH_PX: Final = 20
_LETTER_SHARE: Final = 0.03
"""Of the bar: a part that is narrower holds no letter on a telephone. In a table's bar three times as much."""
UNEXPLAINED: Final = "what no evidence explains"


def step_section(report: Report) -> Html:
    """The step's budget before and after on one scale of time, and every part with its share; they add up to 100 %."""
    before, after = report.step_budget, report.step_budget_after
    if before is None:
        return paragraph("Where a step goes is not known: none was timed and recorded to its end.", "empty")
    sides = [("all" if report.is_recorded else "before", before)]
    sides += [("after", after)] if after is not None else []
    longest = max(budget.elapsed_ns for _, budget in sides)
    rows = [
        tag(
            "div",
            tag("span", shown(name), class_="name"),
            _svg(budget, longest, _STEP_PX, _LETTER_SHARE, f"{name}: {_told(budget)}"),
            tag("span", shown(quantities.duration(budget.elapsed_ns)), class_="time"),
            class_="step-bar",
        )
        for name, budget in sides
    ]
    speed = step_at_another_speed(report)
    at_another = [paragraph(speed, "quiet")] if speed is not None else []
    return tag("div", *at_another, *rows, _parts(sides), *_starved(sides))


def row_bar(budget: Budget | None) -> Html:
    """The bar of one row of a table, whole whatever it stands for."""
    if budget is None or not budget.elapsed_ns:
        return shown(quantities.UNKNOWN)
    return _svg(budget, budget.elapsed_ns, _ROW_PX, 3 * _LETTER_SHARE, _told(budget), class_="row-bar")


def swatch(colour: str, pattern: str, sign: str = "") -> Html:
    """A square of a legend."""
    inner = [tag("rect", width=_SWATCH_PX, height=_SWATCH_PX, fill=colour)]
    over = filling(pattern)
    inner += [tag("rect", width=_SWATCH_PX, height=_SWATCH_PX, fill=over)] if over else []
    inner += [_letter(sign, colour, 10, 14)] if sign else []
    return tag("svg", *inner, width=_SWATCH_PX, height=_SWATCH_PX, aria_hidden="true", class_="swatch")


def _letter(sign: str, colour: str, x: str | int, y: int) -> Html:
    """With a seam of the colour around it, so that a pattern does not run into it."""
    return tag("text", shown(sign), x=x, y=y, fill=ink_on(colour), stroke=colour, text_anchor="middle", class_="letter")


def _svg(budget: Budget, whole_ns: int, height: int, least: float, label: str, class_: str = "bar") -> Html:
    shapes: list[Html] = []
    at = 0
    for part in Part:
        ns = budget.ns(part)
        if ns <= 0:
            continue
        shapes.append(_part(budget, part, (at / whole_ns, ns / whole_ns), height, least))
        at += ns
    return tag("svg", *shapes, height=height, role="img", aria_label=label, class_=class_)


def _part(budget: Budget, part: Part, place: tuple[float, float], height: int, least: float) -> Html:
    left, width = place
    box = {"x": f"{left:.3%}", "width": f"{width:.3%}", "height": str(height)}
    colour, over = part_colour(part), filling(part_pattern(part))
    inner = [tag("title", shown(part_title(budget, part))), tag("rect", **box, fill=colour)]
    inner += [tag("rect", **box, fill=over)] if over else []
    if width >= least:
        middle = f"{left + width / 2:.3%}"
        inner.append(_letter(letter(part), colour, middle, height // 2 + 5))
    return tag("g", *inner)


def _parts(sides: Iterable[tuple[str, Budget]]) -> Html:
    """The legend, which is a table of all parts: the unexplained one always among them."""
    known = list(sides)
    occurring = parts_in(budget for _, budget in known)
    parts = [part for part in Part if part in occurring or part is Part.OTHER]
    titles = ["", "", *(title for name, _ in known for title in (name, ""))]
    rows = [_part_row(part, [budget for _, budget in known]) for part in parts]
    total = [NOTHING, shown("together")]
    for _, budget in known:
        total += [shown(quantities.duration(budget.elapsed_ns)), shown("100 %" if budget.elapsed_ns else "0 %")]
    return table(titles, [*rows, total], range(2, len(titles)))


def _part_row(part: Part, budgets: list[Budget]) -> list[Html]:
    name = f"{part.value}: {UNEXPLAINED}" if part is Part.OTHER else part.value
    row = [swatch(part_colour(part), part_pattern(part), letter(part)), shown(name)]
    for budget in budgets:
        row += [shown(quantities.duration(budget.ns(part))), shown(quantities.share(budget.share(part)))]
    return row


def _starved(sides: Iterable[tuple[str, Budget]]) -> Iterator[Html]:
    for name, budget in sides:
        if budget.starved:
            yield paragraph(f"{name}, {part_title(budget, Part.STARVED)}", "quiet")


def _told(budget: Budget) -> str:
    return ", ".join(f"{part.value} {quantities.share(budget.share(part))}" for part in parts_in((budget,)))
