"""The timelines, one above the other: a place for the canvas of `assets/gb_timeline_7_page.js`, and what is missing."""

from __future__ import annotations

from typing import Final

from dash import html

from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.run_folder import RunData

CANVAS_ID: Final = "gb-timeline"
"""Where the script puts the canvas."""

_EXPLANATION: Final = "Host times are the profiler's, which slows the host and not the kernels."


def build(run: RunData) -> list[Component]:
    missing = [empty_state(f"{side.name}: {side.missing}") for side in run.sides if side.recording is None]
    if not any(side.recording is not None for side in run.sides):
        return missing or [empty_state("There is no trace here. `analyze model.py` records one.")]
    return [html.P(_EXPLANATION, className="gb-quiet"), *missing, html.Div(id=CANVAS_ID)]


PANEL: Final = Panel(id="timelines", title="Timeline", build=build, page=Page.TIMELINE)
