"""Samples as a strip with its box: every measurement is a mark, so that two heaps are not taken for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from analyzer.core import quantities
from analyzer.core.samples import Samples
from dashboard.figure import Look, safe, series_look

if TYPE_CHECKING:
    from plotly import graph_objects as go

STRIP_PX: Final = 34
ROW_GAP_PX: Final = 12
FRAME_PX: Final = 60
LEGEND_PX: Final = 34
NAME_LIMIT: Final = 28
"""Characters of a name beside an axis: at 400 px more would leave no place for the marks."""
SERIES_LIMIT: Final = 60


@dataclass(frozen=True, slots=True)
class Strip:
    """One row of marks: `series` is what tells rows of one name apart, in the legend."""

    name: str
    series: str
    samples: Samples


def strip_figure(strips: Sequence[Strip], axis: str = "ms a step") -> go.Figure:
    """Rows from top to bottom in the order given; times in ms."""
    from plotly import graph_objects as go  # 0.4 s, and only a page that is shown needs it

    series = _series(strips)
    # Plotly stacks a group of horizontal boxes from below.
    boxes = [_boxes(go, strips, name, series.index(name)) for name in reversed(series)]
    figure = go.Figure([*boxes, *(_key(go, name, number) for number, name in enumerate(series))])
    names = list(dict.fromkeys(safe(strip.name, NAME_LIMIT) for strip in strips))
    figure.update_layout(
        boxmode="group",
        showlegend=len(series) > 1,
        # Of the container: beside the plot's own height Plotly 7.1 was seen to draw it above the figure, out of sight.
        legend={"orientation": "h", "yref": "container", "y": 1, "yanchor": "top", "x": 0, "xanchor": "left"},
        margin={"l": 8, "r": 12, "t": LEGEND_PX if len(series) > 1 else 8, "b": 44},
    )
    figure.update_xaxes(title_text=axis, rangemode="tozero", automargin=True)
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    return figure


def strip_height_px(strips: Sequence[Strip]) -> int:
    series, names = len(_series(strips)), len({strip.name for strip in strips})
    return FRAME_PX + names * (series * STRIP_PX + ROW_GAP_PX) + (LEGEND_PX if series > 1 else 0)


def _series(strips: Sequence[Strip]) -> list[str]:
    return list(dict.fromkeys(strip.series for strip in strips))


def _boxes(go: Any, strips: Sequence[Strip], series: str, number: int) -> go.Box:
    own = [strip for strip in strips if strip.series == series]
    look = series_look(number)
    return go.Box(
        x=[ns / 1e6 for strip in own for ns in strip.samples.ns],
        y=[safe(strip.name, NAME_LIMIT) for strip in own for _ in strip.samples.ns],
        text=[quantities.duration(ns) for strip in own for ns in strip.samples.ns],
        name=safe(series, SERIES_LIMIT),
        orientation="h",
        boxpoints="all",
        jitter=0.7,
        pointpos=0,
        fillcolor="rgba(0,0,0,0)",
        line={"color": look.colour, "width": 1.5},
        marker=_marker(look),
        hovertemplate="%{text}<extra>%{y}</extra>",
        hoveron="points",
        showlegend=False,
    )


def _key(go: Any, series: str, number: int) -> go.Scatter:
    """The legend of a series with its symbol: that of a box shows a colour alone."""
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=safe(series, SERIES_LIMIT),
        marker=_marker(series_look(number)) | {"size": 9, "opacity": 1},
        showlegend=True,
        hoverinfo="skip",
    )


def _marker(look: Look) -> dict[str, object]:
    return {"color": look.colour, "size": 6, "symbol": look.symbol, "opacity": 0.75}
