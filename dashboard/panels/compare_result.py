"""What a comparison of two runs says: totals, what makes them another thing than they look like, rows and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from dash import html

from analyzer.comparing import AFTER as PLAN_TRACE
from analyzer.core import quantities
from analyzer.core.compared import Compared, ComparedRow, ComparedSide, Matched
from analyzer.reporting.compared_text import fate_text, steps_text, totals_text
from analyzer.reporting.html_names import ToldApart
from analyzer.reporting.plain_text import plain
from dashboard.figure import graph
from dashboard.panels.compare_figure import difference_figure, figure_height_px, signed
from dashboard.panels.panel import Component, empty_state
from dashboard.prose import prose
from dashboard.runs_compared import MOST_OF_A_WARNING, RunPair
from dashboard.runs_read import RunGlance, Timed, UnreadRun
from dashboard.table import Cell, Column, Kind, table

_ORDER: Final = (Matched.GRAPH, Matched.OPERATOR, Matched.FAMILY, Matched.IDLE, Matched.NONE)
"""Rows stand in this order: the strictest way in which a thing was found on the other side first."""
_COLUMNS: Final = (
    Column("name", width_px=300),
    Column("before", Kind.DURATION, tip="in an average step"),
    Column("after", Kind.DURATION, tip="in an average step"),
    Column("difference", Kind.DURATION, tip="after less before: these add up to the difference of the totals"),
    Column("what became of it", width_px=210),
    Column("matched by", width_px=110, tip="by what it was found on the other side"),
    Column("kernels before", Kind.NUMBER, tip="a step"),
    Column("kernels after", Kind.NUMBER, tip="a step"),
    Column("called before", width_px=200, tip="its name in the first run, where that is another one"),
)


def pair_view(pair: RunPair | str) -> list[Component]:
    """A pure function of a comparison; a sentence where there is none."""
    if isinstance(pair, str):
        return [empty_state(pair)]
    unlike = pair.compared.unlike if pair.compared is not None else ()
    said = dict.fromkeys(plain(text, MOST_OF_A_WARNING) for text in (*pair.warnings, *unlike))
    warned = [html.P(prose(text), className="gb-loud") for text in said]
    clean = _clean(pair)
    if pair.compared is None:
        why = f"The traces of these two cannot be compared: {plain(pair.refused or 'unknown', 600)}"
        return [*warned, *clean, empty_state(why)]
    return [*warned, *clean, *_traces(pair.compared, pair.names), *_rows(pair.compared)]


def _clean(pair: RunPair) -> list[Component]:
    """The step of what each run ended up with, without the profiler: what it is all about, where it is known."""
    sides = [_ended_up(one) for one in (pair.before, pair.after)]
    left, right = sides
    if left is None or right is None:
        missing = "before" if left is None else "after"
        return [html.P(f"Without the profiler: the step of the run {missing} was not timed.", className="gb-quiet")]
    factor = quantities.ratio(left[1].median_ns / right[1].median_ns) if right[1].median_ns else quantities.UNKNOWN
    times = quantities.durations((left[1].median_ns, right[1].median_ns))
    ways = f"{left[0]} before, {right[0]} after"
    alike = " The spreads overlap: this may be no difference." if _overlap(left[1], right[1]) else ""
    spread = "; ".join(f"{word} {_quartiles(one)}" for word, one in (("before", left[1]), ("after", right[1])))
    return [
        html.P(f"{times} a step, {factor} as fast, without the profiler", className="gb-headline", role="status"),
        html.P(
            f"{ways}; half of the samples lie in: {spread}. Measured in two runs, not in turn.{alike}",
            className="gb-quiet",
        ),
    ]


def _ended_up(one: RunGlance | UnreadRun) -> tuple[str, Timed] | None:
    if isinstance(one, UnreadRun):
        return None
    if one.after is not None:
        return plain(one.chosen or "the plan", 40), one.after
    return None if one.before is None else ("torch.compile default", one.before)


def _overlap(one: Timed, other: Timed) -> bool:
    """Whether the middle halves of the samples have times in common, as far as they are known."""
    if one.low_ns is None or one.high_ns is None or other.low_ns is None or other.high_ns is None:
        return False
    return one.low_ns <= other.high_ns and other.low_ns <= one.high_ns


def _quartiles(one: Timed) -> str:
    return quantities.UNKNOWN if one.low_ns is None else quantities.durations((one.low_ns, one.high_ns), separator="–")


def _traces(compared: Compared, names: ToldApart) -> list[Component]:
    said = [f"{word}: {_side_text(side, names)}" for word, side in _sides(compared)]
    said += [f"{word}: {plain(text, 400)}" for word, side in _sides(compared) for text in side.honesty]
    return [
        *(html.P(prose(plain(text, 400)), className="gb-loud") for text in compared.notes),
        html.P(["Recorded: ", html.Strong(totals_text(compared))]),
        html.Ul([html.Li(prose(text)) for text in said], className="gb-quiet"),
    ]


def _sides(compared: Compared) -> tuple[tuple[str, ComparedSide], ...]:
    return (("before", compared.before), ("after", compared.after))


def _side_text(side: ComparedSide, names: ToldApart) -> str:
    path = PurePath(side.source)
    way = "its plan" if path.name == PLAN_TRACE else "torch.compile default"
    return (
        f"{names.of(path.parent.name)}, {way} ({plain(side.device, 60)}, {steps_text(side)}, idle "
        f"{quantities.duration(side.idle_ns)} of {quantities.duration(side.whole_ns)}). {plain(side.bound, 300)}"
    )


def _rows(compared: Compared) -> list[Component]:
    rows = sorted(compared.rows, key=lambda row: (_ORDER.index(row.matched), -abs(row.difference_ns), row.name))
    total = compared.after.whole_ns - compared.before.whole_ns
    said = (
        f"The {len(rows):,} rows add up to {signed(total)} a step, the difference of the totals."
        if compared.before.steps is not None
        else f"The {len(rows):,} rows add up to {signed(total)}, the difference of the whole windows."
    )
    figure = graph(
        "gb-compare-differences",
        difference_figure(compared),
        height_px=figure_height_px(compared),
        label=f"The largest differences of {totals_text(compared)}",
    )
    return [
        *([figure] if any(row.difference_ns for row in rows) else []),
        html.P(said),
        table("gb-compare-rows", *_without_empty(rows), file_name="compare"),
    ]


def _without_empty(rows: Sequence[ComparedRow]) -> tuple[tuple[Column, ...], list[tuple[Cell, ...]]]:
    """The columns and cells of the rows; the last column only where something was called otherwise."""
    kept = len(_COLUMNS) if any(row.was is not None for row in rows) else len(_COLUMNS) - 1
    return _COLUMNS[:kept], [_cells(row)[:kept] for row in rows]


def _cells(row: ComparedRow) -> tuple[Cell, ...]:
    return (
        row.name,
        # What is not there takes no time.
        row.before_ns or 0,
        row.after_ns or 0,
        row.difference_ns,
        fate_text(row),
        row.matched.value,
        row.count_before,
        row.count_after,
        row.was,
    )
