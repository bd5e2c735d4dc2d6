"""The figures of the history: step times with their quartiles, and the share of what takes most of the step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.reporting.html_names import ALONE, LONGEST, ToldApart
from analyzer.reporting.plain_text import plain
from dashboard.figure import Look, axis_title, safe, series_look
from dashboard.runs import minute
from dashboard.runs_history import Line
from dashboard.runs_read import RunGlance, Timed

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_LINES: Final = 8
"""Lines that a figure tells apart; one can choose a line to see it alone, and the table holds the rest."""
MOST_TICKS: Final = 8
LEAST_SPAN_S: Final = 60.0
"""Of the axis of time: around one run alone plotly writes tenths of milliseconds, of a moment known to a second."""
_NS_PER_MS: Final = 1e6
_LEGEND: Final = 60
_WORD_WIDE, _WORD_HIGH = 0.12, 0.045
"""The room of the word beside a mark, as shares of the figure: `unknown kernels` in 12 px letters on a wide page."""
_LEGEND_AT: Final = -0.26
"""Below the ticks and the title of the axis, as a share of the height of the figure."""
_SYMBOLS: Final = {
    Part.STARVED: "circle",
    Part.COMPUTE: "square",
    Part.MEMORY: "diamond",
    Part.LATENCY: "triangle-up",
    Part.SYNC: "cross",
    Part.COPIES: "x",
    Part.UNKNOWN_KERNELS: "star",
    Part.OTHER: "hexagon",
}


_Point = tuple[RunGlance, tuple[Part, float]]
"""A run, what takes most of its step, and the share of it."""


def time_figure(lines: Sequence[Line], names: ToldApart = ALONE) -> go.Figure:
    """What the runs of each line took before (dotted, hollow) and after (solid, filled); the bars are quartiles."""
    import plotly.graph_objects as go  # 0.3 s

    figure = go.Figure()
    for number, line in enumerate(lines[:MOST_LINES]):
        for word, is_after in (("before", False), ("after", True)):
            points = [(run, timed) for run in line.runs if (timed := run.after if is_after else run.before) is not None]
            if points:
                figure.add_trace(_times(line, word, points, series_look(number), names))
    figure.update_layout(
        xaxis=_time_axis(lines[:MOST_LINES]),
        yaxis={"title": axis_title("step", "ms"), "rangemode": "tozero"},
        title=_cut(lines),
        legend={"y": _LEGEND_AT},
    )
    return figure


def bound_figure(lines: Sequence[Line], names: ToldApart = ALONE) -> go.Figure:
    """The largest part of the step before, and its share; the letter and the mark say which part it is."""
    import plotly.graph_objects as go  # 0.3 s

    figure = go.Figure()
    drawn = lines[:MOST_LINES]
    found = [[(run, part) for run in line.runs if (part := largest_part(run)) is not None] for line in drawn]
    for number, (line, points, words) in enumerate(zip(drawn, found, _words(found), strict=True)):
        if points:
            figure.add_trace(_bounds(line, points, words, (series_look(number), names)))
    figure.update_layout(
        xaxis=_time_axis(lines[:MOST_LINES]),
        yaxis={"title": axis_title("largest part of the step before", "%"), "range": [0, 108]},
        title=_cut(lines),
        legend={"y": _LEGEND_AT},
    )
    return figure


def largest_part(run: RunGlance) -> tuple[Part, float] | None:
    """What takes most of the step before, and its share; None where the step has no budget."""
    budget = run.budget
    if budget is None or not budget.elapsed_ns:
        return None
    part = max(Part, key=budget.ns)
    return (part, budget.share(part)) if budget.ns(part) > 0 else None


def _times(
    line: Line, word: str, points: Sequence[tuple[RunGlance, Timed]], look: Look, names: ToldApart
) -> go.Scatter:
    import plotly.graph_objects as go  # as above

    is_after = word == "after"
    return go.Scatter(
        name=safe(f"{plain(line.name, _LEGEND - len(word) - 2)}: {word}", _LEGEND),
        x=[_moment(run.began_s) for run, _ in points],
        y=[timed.median_ns / _NS_PER_MS for _, timed in points],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [_apart(timed.high_ns, timed.median_ns) for _, timed in points],
            "arrayminus": [_apart(timed.median_ns, timed.low_ns) for _, timed in points],
            "thickness": 1.2,
            "width": 3,
        },
        mode="lines+markers",
        line={"color": look.colour, "dash": "solid" if is_after else "dot", "width": 2 if is_after else 1.4},
        marker={"symbol": look.symbol if is_after else f"{look.symbol}-open", "size": 9, "color": look.colour},
        hovertext=[f"{_hover(run, names)}<br>{word}: {_spread(timed)}" for run, timed in points],
        hoverinfo="text",
    )


def _bounds(line: Line, points: Sequence[_Point], words: Sequence[str], drawn: tuple[Look, ToldApart]) -> go.Scatter:
    import plotly.graph_objects as go  # as above

    look, names = drawn
    return go.Scatter(
        name=safe(line.name, _LEGEND),
        x=[_moment(run.began_s) for run, _ in points],
        y=[share * 100 for _, (_, share) in points],
        mode="lines+markers+text",
        text=list(words),
        textposition="top center",
        line={"color": look.colour, "dash": look.dash, "width": 1.6},
        marker={"symbol": [_SYMBOLS[part] for _, (part, _) in points], "size": 9, "color": look.colour},
        hovertext=[f"{_hover(run, names)}<br>{_parts(run)}" for run, _ in points],
        hoverinfo="text",
        cliponaxis=False,
    )


def _words(lines: Sequence[Sequence[_Point]]) -> list[list[str]]:
    """What is written beside the mark of each point: its part where that is news, and where there is room for a word.
    The mark itself and its hover say it everywhere.
    """
    times = [run.began_s for points in lines for run, _ in points]
    span = max([LEAST_SPAN_S, max(times, default=0.0) - min(times, default=0.0)])
    taken: list[tuple[float, float]] = []
    return [[_word(points, at, span, taken) for at in range(len(points))] for points in lines]


def _word(points: Sequence[_Point], at: int, span_s: float, taken: list[tuple[float, float]]) -> str:
    run, (part, share) = points[at]
    x = run.began_s / span_s
    has_room = all(abs(x - other) > _WORD_WIDE or abs(share - beside) > _WORD_HIGH for other, beside in taken)
    if not _is_news(points, at) or not has_room:
        return ""
    taken.append((x, share))
    return part.value


def _is_news(points: Sequence[_Point], at: int) -> bool:
    """Whether the part is another than that of the run before it, which is written beside the mark."""
    return at == 0 or points[at][1][0] is not points[at - 1][1][0]


def _hover(run: RunGlance, names: ToldApart) -> str:
    began = minute(run.began_s) + ("" if run.is_began_known else " ~")
    commit = "commit unknown" if run.commit is None else f"commit {run.commit.short}"
    size = "" if run.facts.parameters is None else f", {run.facts.parameters:,} parameters"
    outcome = "" if run.outcome is None else f", {run.outcome.value.replace('_', ' ')}"
    return "<br>".join(
        (
            safe(names.of(run.name), LONGEST),
            safe(f"{began} UTC, {commit}"),
            safe(f"{run.machine.device}, torch {run.versions.torch}{size}", 160),
            safe(f"chose {run.chosen or 'nothing'}{outcome}", 80),
        )
    )


def _parts(run: RunGlance) -> str:
    budget = run.budget
    assert budget is not None
    found = sorted(((budget.ns(part), part) for part in Part if budget.ns(part) > 0), key=lambda one: -one[0])
    return "<br>".join(f"{part.value} {quantities.share(budget.share(part))}" for _, part in found)


def _spread(timed: Timed) -> str:
    if timed.low_ns is None:
        return f"{quantities.duration(timed.median_ns)}, spread unknown"
    return (
        f"{quantities.duration(timed.median_ns)}, half of {timed.samples} samples in "
        f"{quantities.durations((timed.low_ns, timed.high_ns), separator='–')}"
    )


def _time_axis(lines: Sequence[Line]) -> dict[str, Any]:
    """Ticks at runs, each with its commit where it has one; evenly chosen where there are many."""
    runs = sorted({(run.began_s, run.commit.short if run.commit else "") for line in lines for run in line.runs})
    axis: dict[str, Any] = {"title": axis_title("began", "UTC"), "type": "date", "ticklabelstandoff": 4}
    # Else plotly hides each that reaches over the edge, and with all of them hidden finds no place for the title.
    axis["ticklabeloverflow"] = "allow"
    if runs and (lacking := LEAST_SPAN_S - (runs[-1][0] - runs[0][0])) > 0:
        axis["range"] = [_moment(runs[0][0] - lacking / 2), _moment(runs[-1][0] + lacking / 2)]
    if not any(commit for _, commit in runs):
        return axis
    kept = _apart_in_time(runs)
    texts = [safe(f"{minute(began)[5:10]} {commit}") for began, commit in kept]
    return axis | {"tickvals": [_moment(began) for began, _ in kept], "ticktext": texts}


def _apart_in_time(runs: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """At most MOST_TICKS of them, no two closer than would fit beside each other."""
    span = runs[-1][0] - runs[0][0]
    kept: list[tuple[float, str]] = []
    for run in runs:
        if not kept or run[0] - kept[-1][0] >= span / MOST_TICKS > 0:
            kept.append(run)
    return kept


def _apart(high: float | None, low: float | None) -> float:
    return 0.0 if high is None or low is None else (high - low) / _NS_PER_MS


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _cut(lines: Sequence[Line]) -> dict[str, Any] | None:
    left = len(lines) - MOST_LINES
    if left <= 0:
        return None
    return {
        "text": safe(f"the {MOST_LINES} newest of {len(lines)} lines: choose one to see it alone"),
        "font": {"size": 12},
    }
