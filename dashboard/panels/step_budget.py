"""Where a step goes: one stacked bar before and one after, on one scale of time. The parts add up to the step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dash import html

from analyzer.core.budget import Budget, Part
from analyzer.core.report import Report
from analyzer.reporting.budget_bar import letter, part_title, parts_in
from analyzer.reporting.first_pass import step_at_another_speed
from analyzer.reporting.plain_text import plain
from dashboard.figure import graph, safe
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.panels.step_bar import LETTER_SHARE, mark, part_look, part_name, parts_sentence
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, static_table

if TYPE_CHECKING:
    from plotly import graph_objects as go

NO_REPORT: Final = "Without report.json it is not known where a step goes. Run `analyze model.py`."
NO_BUDGET: Final = (
    "It is not known where a step goes: the run ended before its profiled pass. "
    "Run `analyze model.py` again and let it finish."
)
NOT_KNOWN: Final = "It is not known where the time goes: the headline says why."
OF_THE_WINDOW: Final = "All that was recorded, from the first work of the device to the last."
STEPS_ARE_THE_HOSTS: Final = "A step is what the host marked: it may begin earlier, or end later."
_HEADLINE_LIMIT: Final = 400
_BAR_PX: Final = 46
_FRAME_PX: Final = 64


def build(run: RunData) -> list[Component]:
    report = run.report
    if report is None:
        return [empty_state(NO_REPORT)]
    sides = sides_of(report)
    if not sides:
        return [empty_state(_no_budget(report))]
    said = ". ".join(f"{name}: {parts_sentence(budget)}" for name, budget in sides)
    height = _FRAME_PX + _BAR_PX * len(sides)
    return [
        *_of_what(report),
        graph("step-budget-figure", budget_figure(sides), height_px=height, label=said),
        static_table(
            "step-budget-table",
            columns_of(sides),
            budget_rows(sides),
            file_name="where-a-step-goes",
            marks=[mark(part) for part in shown_parts(sides)],
        ),
    ]


def _no_budget(report: Report) -> str:
    """Of a recording its headline says why, and what to do."""
    if not report.is_recorded:
        return NO_BUDGET
    return f"It is not known where the recorded time goes. {plain(report.headline, _HEADLINE_LIMIT)}"


def _of_what(report: Report) -> list[Component]:
    """A recording's budget is of its window. That of a run is of the first clean pass; what compares with the plan was
    measured later.
    """
    if report.is_recorded:
        steps = [] if report.step_ns is None else [STEPS_ARE_THE_HOSTS]
        return [html.P(" ".join([OF_THE_WINDOW, *steps]), className="gb-quiet")]
    said = step_at_another_speed(report)
    return [] if said is None else [html.P(said, className="gb-quiet")]


def sides_of(report: Report) -> list[tuple[str, Budget]]:
    """The bars from top to bottom; a recording has one, of all that was recorded."""
    if report.step_budget is None:
        return []
    before = ("recorded" if report.is_recorded else "before", report.step_budget)
    after = [("after", report.step_budget_after)] if report.step_budget_after is not None else []
    return [before, *after]


def budget_figure(sides: list[tuple[str, Budget]]) -> go.Figure:
    """A stacked bar a side, in ms. The letters are those of the legend. Without a side it says so: a notebook asks for
    it whatever was recorded.
    """
    from plotly import graph_objects as go  # 0.4 s, and only a page that is shown needs it

    longest = max((budget.elapsed_ns for _, budget in sides), default=0)
    figure = go.Figure([_part(go, sides, part, longest) for part in parts_in(budget for _, budget in sides)])
    figure.update_layout(barmode="stack", showlegend=False, bargap=0.25, margin={"l": 8, "r": 12, "t": 6, "b": 44})
    figure.update_xaxes(title_text="ms", automargin=True)
    figure.update_yaxes(categoryorder="array", categoryarray=[name for name, _ in sides][::-1], automargin=True)
    if not sides:
        figure.add_annotation(text=NOT_KNOWN, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5)
    return figure


def columns_of(sides: list[tuple[str, Budget]]) -> list[Column]:
    columns = [Column("part", width_px=140)]
    for name, _ in sides:
        columns += [Column(name, Kind.DURATION), Column(f"{name}, share", Kind.SHARE)]
    return columns


def budget_rows(sides: list[tuple[str, Budget]]) -> list[tuple[Cell, ...]]:
    """A row a part, the largest first, the unexplained always among them, and the whole last: what they add up to."""
    rows = [(part_name(part), *_both(sides, part)) for part in shown_parts(sides)]
    whole: list[Cell] = ["the whole"]
    for _, budget in sides:
        whole += [budget.elapsed_ns, 1.0]
    return [*rows, tuple(whole)]


def shown_parts(sides: list[tuple[str, Budget]]) -> list[Part]:
    """The parts that occur, and the unexplained, the largest before first."""
    occurring = parts_in(budget for _, budget in sides)
    known = [part for part in Part if part in occurring or part is Part.OTHER]
    return sorted(known, key=lambda part: -sides[0][1].ns(part))


def _both(sides: list[tuple[str, Budget]], part: Part) -> tuple[Cell, ...]:
    cells: list[Cell] = []
    for _, budget in sides:
        cells += [budget.ns(part), budget.share(part)]
    return tuple(cells)


def _part(go: object, sides: list[tuple[str, Budget]], part: Part, longest_ns: int) -> go.Bar:
    look = part_look(part)
    return go.Bar(  # type: ignore[attr-defined]
        x=[budget.ns(part) / 1e6 for _, budget in sides],
        y=[name for name, _ in sides],
        orientation="h",
        name=part_name(part),
        text=[letter(part) if budget.ns(part) >= LETTER_SHARE * longest_ns else "" for _, budget in sides],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        # A letter is read over its pattern where it stands on a little of the plain colour.
        textfont={"color": look.ink, "size": 15, "weight": 700, "shadow": ", ".join([f"0 0 3px {look.colour}"] * 4)},
        marker={
            "color": look.colour,
            "line": {"width": 0},
            # The pattern's own ground hides the colour of the marker.
            "pattern": {
                "shape": look.shape,
                "bgcolor": look.colour,
                "fgcolor": "rgba(0,0,0,0.42)",
                "size": 7,
                "solidity": 0.25,
            },
        },
        customdata=[safe(part_title(budget, part)) for _, budget in sides],
        hovertemplate="%{customdata}<extra>%{y}</extra>",
    )


PANEL: Final = Panel(
    id="step_budget", title="Where a step goes", build=build, recorded_title="Where the recorded time goes"
)
