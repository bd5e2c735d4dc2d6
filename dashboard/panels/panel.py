"""What a panel is: an id, a title, and a pure function from what a run folder holds to components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dash import html

from dashboard.prose import prose
from dashboard.run_folder import RunData

Component = Any
"""A Dash component; Dash gives them no common public type."""


class Page(StrEnum):
    """Where a panel stands; the value is its name in the address of the page."""

    OVERVIEW = "overview"
    TIMELINE = "timeline"
    GRAPHS = "graphs"
    ROOFLINE = "roofline"
    FINDINGS = "findings"
    RANKS = "ranks"
    COMPARE = "compare"
    HISTORY = "history"


def _always(run: RunData) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Panel:
    """`id` is the name of the file it lives in, and of its `<section>`. Where `applies` says no, the panel is left
    out, and a page without a panel has no link.
    """

    id: str
    title: str
    build: Callable[[RunData], list[Component]]
    page: Page = Page.OVERVIEW
    applies: Callable[[RunData], bool] = _always


def attribute(name: str, value: str) -> dict[str, Any]:
    """An attribute whose name is no Python name, as `data-page`."""
    return {name: value}


def empty_state(text: str) -> Component:
    """What stands where there is nothing to show: why, and what to do."""
    return html.P(prose(text), className="gb-empty")
