"""Both timelines of one step, before above after, and what of them is not shown."""

from __future__ import annotations

from typing import Final

from dash import dcc, html

from analyzer.core import quantities
from dashboard.colours import choose_colours
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.run_folder import RunData, Side
from dashboard.timeline_figure import timelines_figure

_EXPLANATION: Final = (
    "Host times are those of the profiled pass, which slows the host and not the kernels; the table above has the "
    "times without a profiler. Drag to zoom, double-click to zoom out, click a name in the legend to hide it."
)

_BUTTONS: Final = ("zoom2d", "pan2d", "resetScale2d", "toImage")
"""Named one by one: Plotly's own choice includes buttons that send the figure to its cloud."""


def build(run: RunData) -> list[Component]:
    sides = (run.before, run.after)
    missing = [empty_state(f"{side.name}: {side.missing}") for side in sides if side.view is None]
    views = tuple(side.view for side in sides if side.view is not None)
    if not views:
        return missing
    figure = timelines_figure(sides, choose_colours(run.report, views))
    thinned = [html.P(text) for side in sides if (text := left_out_text(side)) is not None]
    graph = dcc.Graph(figure=figure, config={"displaylogo": False, "modeBarButtons": [list(_BUTTONS)]})
    return [html.P(_EXPLANATION), *missing, graph, *thinned]


def left_out_text(side: Side) -> str | None:
    """What is not drawn of a side; None where everything is."""
    if side.view is None or side.view.left_out == 0:
        return None
    drawn = quantities.count(len(side.view.bars))
    return (
        f"{side.name}: {quantities.count(side.view.left_out)} bars are not drawn, {drawn} are: "
        "where several of a lane fall on one pixel, the longest stands for them. The trace file has all of them."
    )


PANEL: Final = Panel(id="timelines", title="One step, before and after", build=build)
