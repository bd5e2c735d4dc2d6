"""What the history says: the step before and after over time, the share of what bounds it, and a table of the runs."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.reporting.html_names import ToldApart
from analyzer.reporting.plain_text import plain
from dashboard.figure import graph
from dashboard.panels.history import LINE
from dashboard.panels.history_figure import MOST_LINES, bound_figure, largest_part, time_figure
from dashboard.panels.panel import Component, attribute, empty_state
from dashboard.runs import Among, minute
from dashboard.runs_history import History, Line, only
from dashboard.runs_read import RunGlance, Timed
from dashboard.table import Cell, Column, Kind, table

TABLE_ID: Final = "gb-history-runs"
MOST_UNREAD: Final = 10
_COLUMNS: Final = (
    Column("began (UTC)", width_px=160, tip="~ where it is when the report was written"),
    Column("run", width_px=200),
    Column("commit", width_px=90, tip="+ where files differed from it"),
    Column("model", width_px=120),
    Column("mode", width_px=90),
    Column("device", width_px=120),
    Column("before", Kind.DURATION, tip="a step under torch.compile default, without the profiler"),
    Column("after", Kind.DURATION, tip="a step of what the run chose, without the profiler"),
    Column("outcome", width_px=90),
    Column("most of the step", width_px=110),
    Column("its share", Kind.SHARE),
    Column("torch", width_px=130),
    Column("remarks", width_px=160),
)
_ONE_COMMIT: Final = "No run carries a commit: git was not there, or the model lies in no repository."
NO_TIMES: Final = (
    "No run of this folder has a step time to draw: each ended before its clean pass, or is a recorded trace. "
    "Run `analyze model.py` and let it finish."
)


def history_view(history: History, here: Among, line: str | None = None) -> list[Component]:
    """A pure function of what was read; `line` names the one that is shown alone."""
    shown, names = only(history, line), here.names
    return [
        *_choice(history, shown),
        *_figures(shown, names),
        *_notes(history, names),
        *_open(here),
        table(
            TABLE_ID,
            _COLUMNS,
            [_cells(run, names) for run in shown.runs],
            file_name="history",
            row_keys=[run.name for run in shown.runs],
        ),
    ]


def _choice(history: History, shown: History) -> list[Component]:
    if len(history.lines) < 2:
        return []
    options = [html.Option("all", value="", selected=len(shown.lines) != 1)] + [
        html.Option(_option(one), value=one.name, selected=shown.lines == (one,)) for one in history.lines
    ]
    return [
        html.Div(html.Label(["show ", html.Select(options, **attribute("data-gb-state", LINE))]), className="gb-bar")
    ]


def _option(line: Line) -> str:
    return f"{plain(line.name, 100)} ({len(line.runs)})"


def _figures(shown: History, names: ToldApart) -> list[Component]:
    if not shown.lines:
        return [empty_state(NO_TIMES)]
    runs = sum(len(line.runs) for line in shown.lines)
    height_px = 400 + 18 * min(len(shown.lines), MOST_LINES)
    return [
        graph(
            "gb-history-times",
            time_figure(shown.lines, names),
            height_px=height_px,
            label=f"The step time of {runs} runs over time, before and after, with quartiles",
        ),
        graph(
            "gb-history-bounds",
            bound_figure(shown.lines, names),
            height_px=height_px - 40,
            label=f"The share of the largest part of the step in {runs} runs over time",
        ),
    ]


def _notes(history: History, names: ToldApart) -> list[Component]:
    said = []
    if history.lines and all(run.commit is None for run in history.runs):
        said.append(_ONE_COMMIT)
    if any(not run.is_began_known for run in history.runs):
        said.append("~ marks the time at which a report was written: it does not say when its run began.")
    if history.untimed:
        said.append(f"Without a step time, as they ended early or are recorded traces: {len(history.untimed):,}.")
    if history.left_out:
        count = "1 more entry was" if history.left_out == 1 else f"{history.left_out:,} more entries were"
        said.append(f"{count} not read: older, or without a readable name.")
    unread = [f"{names.of(one.name)}: {plain(one.reason, 200)}" for one in history.unread[:MOST_UNREAD]]
    more = len(history.unread) - len(unread)
    if more > 0:
        unread.append(f"and {more:,} more that could not be read")
    return [
        *(html.P(text, className="gb-quiet") for text in said),
        *(html.P(text, className="gb-loud") for text in unread),
    ]


def _cells(run: RunGlance, names: ToldApart) -> tuple[Cell, ...]:
    part = largest_part(run)
    return (
        minute(run.began_s) + ("" if run.is_began_known else " ~"),
        names.of(run.name),
        "" if run.commit is None else run.commit.short,
        run.facts.name,
        run.facts.mode,
        run.machine.device,
        _median(run.before),
        _median(run.after),
        "" if run.outcome is None else run.outcome.value.replace("_", " "),
        "" if part is None else part[0].value,
        None if part is None else part[1],
        run.versions.torch,
        run.partial or "",
    )


def _median(timed: Timed | None) -> int | None:
    return None if timed is None else timed.median_ns


def _open(here: Among) -> list[Component]:
    """Where the runs can be opened; a row that is chosen leads to its run, or lays it beside the one that is shown."""
    hint = (
        "Enter or a click on a row opens that run."
        if here.can_open
        else "Enter or a click on a row lays that run beside this one."
    )
    return [html.P(hint, className="gb-quiet", **attribute("data-gb-open", "run" if here.can_open else "compare"))]
