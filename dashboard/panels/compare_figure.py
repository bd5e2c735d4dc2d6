"""The largest differences of a comparison, to the left what got less and to the right what got more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from analyzer.core import quantities
from analyzer.core.compared import Compared, ComparedRow, Matched
from analyzer.reporting.compared_text import fate_text
from dashboard.figure import axis_title, safe

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BARS: Final = 15
_NAME: Final = 18
"""Letters, which leave the bars half of a telephone; the table and the hover have the rest."""
_BAR_PX, _FRAME_PX, _LEGEND_PX = 26, 130, 55
_FEWEST: Final = 3
"""Bars that a figure has room for, at least."""
_LESS, _MORE = "#0072B2", "#D55E00"
"""Blue and vermilion of Okabe & Ito, apart for any colour vision; the second is hatched."""
_NS_PER_MS: Final = 1e6
_ROOM: Final = 0.8
"""Of what the bars span: a text stands in its bar where it fits, else beside it."""


def difference_figure(compared: Compared) -> go.Figure:
    """A bar for each of the largest rows, one for the rest together: they add up to the difference of the totals."""
    import plotly.graph_objects as go  # 0.3 s

    bars = _bars(compared)
    figure = go.Figure()
    for word, colour, pattern, sign in (("less time", _LESS, "", -1), ("more time", _MORE, "/", 1)):
        mine = [bar for bar in bars if bar[1] * sign > 0]
        figure.add_bar(
            name=word,
            orientation="h",
            y=[bar[0] for bar in mine],
            x=[bar[1] / _NS_PER_MS for bar in mine],
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "#ffffff", "solidity": 0.15},
            },
            text=[bar[2] for bar in mine],
            textposition="auto",
            hovertext=[bar[3] for bar in mine],
            hoverinfo="text",
        )
    names = [bar[0] for bar in bars]
    figure.update_layout(
        barmode="overlay",
        bargap=0.25,
        xaxis={"title": axis_title("difference a step" if compared.before.steps is not None else "difference", "ms")},
        # The largest on top; the labels are numbered, as two rows may have one name.
        yaxis={
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "ticktext": [_label(n) for n in names],
            "tickvals": names,
        },
    )
    figure.update_xaxes(zeroline=True, range=_range([bar[1] for bar in bars]))
    figure.update_layout(legend={"y": -_LEGEND_PX / (_BAR_PX * max(len(bars), _FEWEST))})
    return figure


def figure_height_px(compared: Compared) -> int:
    return _FRAME_PX + _BAR_PX * max(len(_bars(compared)), _FEWEST)


def _bars(compared: Compared) -> list[tuple[str, int, str, str]]:
    """Key, difference in ns, the text on the bar and that of the hover."""
    changed = [row for row in compared.rows if row.difference_ns]
    bars = [
        (f"{number} {safe(_short(row), _NAME)}", row.difference_ns, signed(row.difference_ns), _hover(row))
        for number, row in enumerate(changed[:MOST_BARS], 1)
    ]
    rest = changed[MOST_BARS:]
    if rest:
        ns = sum(row.difference_ns for row in rest)
        name = f"{len(bars) + 1} {len(rest):,} smaller ones"
        bars.append((name, ns, signed(ns), f"{len(rest):,} smaller ones: {signed(ns)} together"))
    return bars


def _short(row: ComparedRow) -> str:
    """Of a graph its line alone, whose end tells it from others: `…ing_granite.py:391`."""
    name = row.name.partition(" in ")[0] if row.matched is Matched.GRAPH else row.name
    return name if row.matched is not Matched.GRAPH or len(name) <= _NAME else f"…{name[1 - _NAME :]}"


def _range(differences_ns: Sequence[int]) -> tuple[float, float] | None:
    """With room beside the bars for their texts, on a narrow page too; None where there is no bar."""
    low, high = min(0, *differences_ns, 0), max(0, *differences_ns, 0)
    room = _ROOM * (high - low)
    if not room:
        return None
    return ((low - room if low else low) / _NS_PER_MS, (high + room if high else high) / _NS_PER_MS)


def _label(key: str) -> str:
    return key.partition(" ")[2]


def signed(ns: int) -> str:
    """`+1.2 ms`, `−0.4 ms`, `0 ns`."""
    return ("+" if ns > 0 else "−" if ns < 0 else "") + quantities.duration(abs(ns))


def _hover(row: ComparedRow) -> str:
    return "<br>".join(
        (
            safe(row.name, 200),
            f"{_side(row.before_ns)} → {_side(row.after_ns)} ({signed(row.difference_ns)})",
            safe(f"{fate_text(row)}, matched by {row.matched.value}"),
        )
    )


def _side(ns: int | None) -> str:
    return "not there" if ns is None else quantities.duration(ns)
