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
    recorded_title: str | None = None

    def title_of(self, run: RunData) -> str:
        """A recording is no step, and its regions need be no graphs: `recorded_title` where there is one."""
        is_recorded = run.report is not None and run.report.is_recorded
        return self.recorded_title if is_recorded and self.recorded_title is not None else self.title


def attribute(name: str, value: str) -> dict[str, Any]:
    """An attribute whose name is no Python name, as `data-page`."""
    return {name: value}


def empty_state(text: str) -> Component:
    """What stands where there is nothing to show: why, and what to do."""
    return html.P(prose(text), className="gb-empty")
