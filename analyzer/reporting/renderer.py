"""What a format is: an id, a sentence, and one function from a report and a page to text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from analyzer.core.report import Report

PAGE_WIDTH: Final = 80
"""Columns of a page when nobody says otherwise, and the fewest that are laid out for."""


@dataclass(frozen=True, slots=True)
class Page:
    """Where text will be shown. `is_ascii` where the other end cannot take `→`, `×` and `µ`."""

    width: int = PAGE_WIDTH
    has_colour: bool = False
    is_ascii: bool = False


class Render(Protocol):
    def __call__(self, report: Report, page: Page) -> str: ...


@dataclass(frozen=True, slots=True)
class Renderer:
    """`id` is the name of the file it lives in. `render` is pure: the same report and page give the same text, which
    ends in a newline.
    """

    id: str
    summary: str
    render: Render
