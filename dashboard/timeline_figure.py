"""The two timelines as a Plotly figure: before above after, on one axis of milliseconds. A pure function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from typing import Any, Final, assert_never

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from analyzer.core import quantities
from analyzer.reporting.plain_text import plain
from dashboard.colours import LAUNCHES, WAITS, Colours, Shade
from dashboard.run_folder import Side
from dashboard.step_view import Bar, BarKind, StepView

LANE_PX: Final = 44
_BETWEEN_PX: Final = 70
"""Between the timelines: the ticks of the upper one and the title of the lower one."""
_TOP_PX: Final = 40
_BOTTOM_PX: Final = 120
"""The ticks, the title of the axis, and the legend in two lines."""
_LEGEND_PX: Final = 60
_NAME_LIMIT: Final = 90
"""Characters of a kernel's name in a hover box: more does not fit beside the pointer."""

_LAUNCH_SHADE: Final = Shade("launches", LAUNCHES)
_WAIT_SHADE: Final = Shade("waits for the device", WAITS)


def timelines_figure(sides: tuple[Side, ...], colours: Colours) -> go.Figure:
    """Those sides that have a view, one above the other. At least one must have one."""
    shown = [side for side in sides if side.view is not None]
    views = [side.view for side in shown if side.view is not None]
    lanes = [max(len(view.lanes), 1) for view in views]
    plot_px = LANE_PX * sum(lanes) + _BETWEEN_PX * (len(shown) - 1)
    figure = make_subplots(
        rows=len(shown),
        cols=1,
        shared_xaxes="all",
        vertical_spacing=_BETWEEN_PX / plot_px if len(shown) > 1 else 0,
        row_heights=lanes,
        subplot_titles=[_title(side.name, view) for side, view in zip(shown, views, strict=True)],
    )
    in_legend: set[str] = set()
    for row, view in enumerate(views, start=1):
        for trace in _traces(view, colours):
            trace.showlegend = trace.name not in in_legend
            in_legend.add(trace.name)
            figure.add_trace(trace, row=row, col=1)
        figure.update_yaxes(_lane_axis(view), row=row, col=1)
    longest_ms = max(view.duration_ns for view in views) / 1e6
    figure.update_xaxes(range=[0, longest_ms * 1.01], showticklabels=True, zeroline=False)
    figure.update_xaxes(title_text="time since the step began, ms (profiled)", row=len(shown), col=1)
    figure.update_layout(
        barmode="overlay",
        height=_TOP_PX + plot_px + _BOTTOM_PX,
        margin={"l": 20, "r": 20, "t": _TOP_PX, "b": _BOTTOM_PX},
        legend={"orientation": "h", "y": -_LEGEND_PX / plot_px, "yanchor": "top"},
        plot_bgcolor="#FAFAFA",
        hovermode="closest",
    )
    return figure


def _traces(view: StepView, colours: Colours) -> list[go.Bar]:
    """One Plotly trace a colour, so that a click on the legend hides a graph in both timelines."""
    groups: defaultdict[Shade, list[Bar]] = defaultdict(list)
    for bar in view.bars:
        groups[_shade(bar, colours)].append(bar)
    # Ranges lie under what happens in them; so launches are drawn last.
    ordered = sorted(groups.items(), key=lambda item: item[0] in (_WAIT_SHADE, _LAUNCH_SHADE))
    return [_trace(shade, bars, view) for shade, bars in ordered]


def _trace(shade: Shade, bars: list[Bar], view: StepView) -> go.Bar:
    label = escape(plain(shade.label))
    return go.Bar(
        orientation="h",
        name=label,
        legendgroup=label,
        base=[bar.start_ns / 1e6 for bar in bars],
        x=[bar.duration_ns / 1e6 for bar in bars],
        y=[_height(bar.lane, view) for bar in bars],
        width=[_thickness(bar.kind) for bar in bars],
        # A line of its own colour keeps a bar visible that is shorter than a pixel.
        marker={"color": shade.colour, "line": {"width": 0.5, "color": shade.outline or shade.colour}},
        hovertext=_hover_texts(bars, shade),
        hoverinfo="text",
    )


def _hover_texts(bars: Iterable[Bar], shade: Shade) -> list[str]:
    return [
        f"{escape(plain(bar.name, _NAME_LIMIT))}<br>{bar.kind.value}, {quantities.duration(bar.duration_ns)}, "
        f"from {quantities.duration(bar.start_ns)}<br>{escape(plain(shade.label))}"
        for bar in bars
    ]


def _shade(bar: Bar, colours: Colours) -> Shade:
    match bar.kind:
        case BarKind.LAUNCH:
            return _LAUNCH_SHADE
        case BarKind.SYNC:
            return _WAIT_SHADE
        case BarKind.GRAPH_RANGE | BarKind.KERNEL | BarKind.COPY | BarKind.OPERATOR:
            return colours.of(bar.region)
        case _:
            assert_never(bar.kind)


def _thickness(kind: BarKind) -> float:
    """The share of its lane that a bar fills."""
    match kind:
        case BarKind.GRAPH_RANGE | BarKind.KERNEL | BarKind.OPERATOR:
            return 0.8
        case BarKind.COPY:
            return 0.5
        case BarKind.LAUNCH | BarKind.SYNC:
            return 0.35
        case _:
            assert_never(kind)


def _height(lane: int, view: StepView) -> int:
    """The first lane is drawn at the top."""
    return len(view.lanes) - 1 - lane


def _lane_axis(view: StepView) -> dict[str, Any]:
    return {
        "tickvals": [_height(lane, view) for lane in range(len(view.lanes))],
        "ticktext": [escape(plain(label)) for label in view.lanes],
        "range": [-0.6, max(len(view.lanes), 1) - 0.4],
        "fixedrange": True,
        "zeroline": False,
        "showgrid": False,
    }


def _title(name: str, view: StepView) -> str:
    return f"{name}: step {view.number} of {view.steps}, {quantities.duration(view.duration_ns)} under the profiler"
