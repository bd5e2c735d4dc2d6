"""A Plotly figure as every page shows it: light and dark, offline, downloads, and nothing told by colour alone.

What the browser does to it (its colours, the downloads) is `assets/gb_figure.js`.
"""

from __future__ import annotations

import html as html_text
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dash import dcc, html

from analyzer.reporting.palette import GREY, OKABE_ITO
from analyzer.reporting.plain_text import plain

if TYPE_CHECKING:
    import plotly.graph_objects as go

Component = Any
"""A Dash component; Dash gives them no common public type."""

EITHER: Final = "#767676"
"""A grey with a contrast of 4.5 to both papers: what the script has not yet coloured can be read."""
FAINT: Final = "rgba(128,128,128,0.25)"
INK: Final = "ink"
"""`trace.meta = {INK: ["line.color"]}`: the script gives these attributes the colour of text in the present look."""

LABEL_LIMIT: Final = 300
_FONT: Final = "system-ui, sans-serif"
_CONFIG: Final[Any] = {
    "displaylogo": False,
    # Plotly 7 shows a button that uploads the figure unless it is told not to; the address is where it would go.
    "showSendToCloud": False,
    "plotlyServerURL": "about:blank",
    "displayModeBar": "hover",
    "modeBarButtonsToRemove": ["lasso2d", "select2d", "toImage"],
    "responsive": True,
    "doubleClick": "reset",
}
_DOWNLOADS: Final = ("png", "svg")


@dataclass(frozen=True, slots=True)
class Look:
    """What tells one series from the others: its colour, and for each kind of mark something beside it."""

    colour: str
    symbol: str
    pattern: str
    dash: str


_LOOKS: Final = tuple(
    Look(colour, *rest)
    for colour, rest in zip(
        OKABE_ITO,
        (
            ("circle", "", "solid"),
            ("square", "/", "dash"),
            ("triangle-up", ".", "dot"),
            ("diamond", "\\", "dashdot"),
            ("cross", "|", "longdash"),
            ("x", "-", "longdashdot"),
            ("star", "x", "6px,2px,2px,2px"),
        ),
        strict=True,
    )
)
OTHER_LOOK: Final = Look(GREY, "hexagon", "+", "2px,6px")
"""Of everything beyond the series that have a look of their own."""
SERIES: Final = len(_LOOKS)


def series_look(number: int | None) -> Look:
    """Of series `number`, counted from 0; OTHER_LOOK for None and from SERIES on."""
    return _LOOKS[number] if number is not None and 0 <= number < SERIES else OTHER_LOOK


def graph(figure_id: str, figure: go.Figure, *, height_px: int, label: str) -> Component:
    """The figure as a `dcc.Graph` whose id is `figure_id`, with its downloads. `label` says what it shows, for whoever
    cannot see it. A callback that has another figure gives this component anew.

    The browser makes the graph once its place can be seen: Plotly is 4.8 MB of script, and a page without a figure is
    painted in half the time without it.
    """
    drawn = dcc.Graph(
        id=figure_id, figure=styled(figure), config=_CONFIG, responsive=True, style={"height": f"{height_px}px"}
    )
    told: dict[str, Any] = {"data-gb-figure": _json(drawn)}
    place = html.Div(id=f"{figure_id}-place", style={"minHeight": f"{height_px}px"}, **told)
    buttons = [_download(figure_id, kind) for kind in _DOWNLOADS]
    said: dict[str, Any] = {"aria-label": plain(label, LABEL_LIMIT)}
    return html.Figure([place, html.Figcaption(["download ", *buttons])], className="gb-figure", role="figure", **said)


def _json(component: Component) -> str:
    from plotly.utils import PlotlyJSONEncoder  # slow, as below

    return json.dumps(component, cls=PlotlyJSONEncoder, ensure_ascii=False, separators=(",", ":"))


def styled(figure: go.Figure) -> go.Figure:
    """A copy with the look of the pages as its template: what the figure itself sets stays."""
    import plotly.graph_objects as go  # slow: 0.3 s and more

    made = go.Figure(figure)
    made.layout.template = _template()
    return made


def safe(text: str, limit: int = LABEL_LIMIT) -> str:
    """A name for Plotly's texts, which read a little HTML: shown as it is, on one line, at most `limit` characters."""
    return html_text.escape(plain(text, limit))


def axis_title(what: str, unit: str | None = None) -> str:
    """`time (ms)`; without a unit for a plain number."""
    return safe(what if unit is None else f"{what} ({unit})")


def decades(low: float, high: float, text: Callable[[float], str]) -> tuple[list[float], list[str]]:
    """The powers of ten in and next to a range of positive numbers, for `tickvals` and `ticktext` of a log axis."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    values = [10.0**power for power in range(first, last + 1)]
    return values, [safe(text(value)) for value in values]


def _download(figure_id: str, kind: str) -> Component:
    told: dict[str, Any] = {
        "data-figure": figure_id,
        "data-format": kind,
        "aria-label": f"download the figure as {kind.upper()}",
    }
    return html.Button(kind.upper(), type="button", **told)


def _template() -> dict[str, Any]:
    axis = {
        "gridcolor": FAINT,
        "linecolor": EITHER,
        "zerolinecolor": EITHER,
        "zeroline": False,
        "automargin": True,
        "tickcolor": EITHER,
        "title": {"standoff": 8},
    }
    return {
        "layout": {
            "font": {"family": _FONT, "size": 12, "color": EITHER},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(OKABE_ITO),
            "margin": {"l": 8, "r": 8, "t": 28, "b": 8},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {"align": "left", "font": {"family": _FONT, "size": 12}, "namelength": -1},
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "yref": "container", "y": 0, "yanchor": "bottom"},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": EITHER},
            "annotationdefaults": {"arrowcolor": EITHER},
        }
    }
