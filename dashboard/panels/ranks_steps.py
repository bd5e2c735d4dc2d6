"""A heat map of ranks and steps: the time of each step, and what of it was waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final, assert_never

from dash import dcc, html

from analyzer.core import quantities
from analyzer.core.ranks import RanksReport, RankSummary
from dashboard.figure import axis_title, graph, safe
from dashboard.panels.panel import Component, Page, Panel, attribute, empty_state
from dashboard.panels.ranks import NO_RANKS
from dashboard.run_folder import RunData
from dashboard.table import Column, Kind, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

ASKED_ID: Final = "gb-asked-ranks"
RESULT_ID: Final = "gb-ranks-steps"
MEASURE: Final = "measure"
"""Of the address: `#page=ranks&measure=waited`."""

MOST_CELLS_WITH_TEXT: Final = 160
"""Up to here a cell's time is written in it."""
_FEW_STEPS: Final = 12
_ROW_PX, _FRAME_PX, _MOST_PX = 22, 120, 900
_NS_PER_MS: Final = 1e6

NO_STEPS: Final = (
    "No rank's trace has marked steps that a device worked in: call `prof.step()` after each step of the program, with "
    "torch.profiler.schedule, and record again."
)


class Measure(Enum):
    """What the heat map shows; the value is its word in the address."""

    ELAPSED = "step"
    EXPOSED = "exposed"
    WAITED = "waited"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class StepGrid:
    """`ns[r][s]` is of rank `ranks[r]` in step `steps[s]`; None where it is not known, or the rank has no such step.

    `left_out` says what is not in it, a sentence each.
    """

    ranks: tuple[RankSummary, ...]
    steps: tuple[str, ...]
    ns: tuple[tuple[int | None, ...], ...]
    left_out: tuple[str, ...]


def build(run: RunData) -> list[Component]:
    ranks = run.report.ranks if run.report is not None else None
    if ranks is None:
        return [empty_state(NO_RANKS)]
    if not has_steps(run):
        return [empty_state(NO_STEPS)]
    options = [html.Option(measure_text(one), value=one.value) for one in Measure]
    select = html.Select(options, **attribute("data-gb-state", MEASURE))
    return [
        html.Div(html.Label(["show ", select]), className="gb-bar"),
        dcc.Store(id=ASKED_ID),
        html.Div(steps_view(run, Measure.ELAPSED), id=RESULT_ID, **attribute("data-gb-asks", ASKED_ID)),
    ]


def has_steps(run: RunData) -> bool:
    """Whether there is a heat map, and with it what asks the server for another."""
    ranks = run.report.ranks if run.report is not None else None
    return ranks is not None and any(rank.steps for rank in ranks.ranks)


def measure_of(word: str | None) -> Measure:
    """The measure of this word; the step's time for any other word."""
    return next((one for one in Measure if one.value == word), Measure.ELAPSED)


def measure_text(measure: Measure) -> str:
    match measure:
        case Measure.ELAPSED:
            return "time of the step"
        case Measure.EXPOSED:
            return "exposed collectives"
        case Measure.WAITED:
            return "waited for other ranks"
        case Measure.IDLE:
            return "device idle"
        case _:
            assert_never(measure)


def steps_view(run: RunData, measure: Measure) -> list[Component]:
    """A pure function of a report."""
    ranks = run.report.ranks if run.report is not None else None
    grid = None if ranks is None else step_grid(ranks, measure)
    if grid is None or not grid.ranks:
        return [empty_state(NO_STEPS)]
    if all(ns is None for row in grid.ns for ns in row):
        return [empty_state(f"{measure_text(measure)}: not known, as no step's collectives were all matched.")]
    height_px = min(_FRAME_PX + _ROW_PX * len(grid.ranks), _MOST_PX)
    word = measure_text(measure)
    return [
        graph(
            "gb-ranks-heat",
            heat_figure(grid, measure),
            height_px=max(height_px, 240),
            label=f"{word}, of {len(grid.ranks)} ranks in {len(grid.steps)} steps",
        ),
        html.P(_explained(measure), className="gb-quiet"),
        *(html.P(text, className="gb-quiet") for text in grid.left_out),
        html.Details([html.Summary("the same as a table"), _table(grid, word)]),
    ]


def step_grid(ranks: RanksReport, measure: Measure) -> StepGrid:
    """Steps are laid beside each other by the number that torch.profiler gave them where all ranks have one, else in
    the order of each recording.
    """
    stepped = tuple(rank for rank in ranks.ranks if rank.steps is not None)
    are_numbered = all(rank.steps is not None and rank.steps.numbers is not None for rank in stepped)
    take = _taker(ranks, measure)
    rows: list[dict[int, int | None]] = []
    for rank in stepped:
        assert rank.steps is not None
        own = rank.steps.numbers if are_numbered and rank.steps.numbers is not None else range(len(rank.steps_ns))
        rows.append({number: take(rank, at) for at, number in enumerate(own)})
    numbers = sorted({number for row in rows for number in row})
    return StepGrid(
        ranks=stepped,
        steps=tuple(str(number) for number in numbers),
        ns=tuple(tuple(row.get(number) for number in numbers) for row in rows),
        left_out=_left_out(ranks, are_numbered=are_numbered),
    )


def heat_figure(grid: StepGrid, measure: Measure) -> go.Figure:
    """Yellow is much and blue little, on a scale that grows evenly light (cividis), with the time in the cell where
    there is room.
    """
    import plotly.graph_objects as go  # 0.3 s

    cells = len(grid.ranks) * len(grid.steps)
    has_text = cells <= MOST_CELLS_WITH_TEXT and len(grid.steps) <= _FEW_STEPS
    figure = go.Figure(
        go.Heatmap(
            z=[[None if ns is None else ns / _NS_PER_MS for ns in row] for row in grid.ns],
            x=list(grid.steps),
            y=[_name(rank) for rank in grid.ranks],
            text=[[quantities.UNKNOWN if ns is None else quantities.milliseconds(ns) for ns in row] for row in grid.ns],
            texttemplate="%{text}" if has_text else None,
            hovertext=[
                [safe(_hover(rank, step, ns, measure)) for step, ns in zip(grid.steps, row, strict=True)]
                for rank, row in zip(grid.ranks, grid.ns, strict=True)
            ],
            hoverinfo="text",
            colorscale="cividis",
            colorbar={"title": {"text": "ms"}, "thickness": 12},
            xgap=1,
            ygap=1 if len(grid.ranks) <= 64 else 0,
        )
    )
    figure.update_layout(
        xaxis={"title": axis_title("step"), "type": "category"},
        yaxis={"title": "rank", "type": "category", "autorange": "reversed"},
    )
    return figure


def _taker(ranks: RanksReport, measure: Measure) -> Callable[[RankSummary, int], int | None]:
    waited = {wait.rank: wait.steps_ns for wait in ranks.waits}

    def take(rank: RankSummary, at: int) -> int | None:
        steps = rank.steps
        assert steps is not None
        match measure:
            case Measure.ELAPSED:
                return rank.steps_ns[at]
            case Measure.EXPOSED:
                return steps.exposed_collective_ns[at]
            case Measure.WAITED:
                own = waited.get(rank.rank, ())
                return own[at] if at < len(own) else None
            case Measure.IDLE:
                return steps.idle_ns[at]
            case _:
                assert_never(measure)

    return take


def _left_out(ranks: RanksReport, *, are_numbered: bool) -> tuple[str, ...]:
    said = []
    stepped = [rank for rank in ranks.ranks if rank.steps is not None]
    without = len(ranks.ranks) - len(stepped)
    if without:
        said.append(f"{without} of {len(ranks.ranks)} ranks have no steps here.")
    most = max((rank.steps.marked for rank in stepped if rank.steps is not None), default=0)
    kept = max((len(rank.steps_ns) for rank in stepped), default=0)
    if most > kept:
        said.append(f"The first {kept} of {most} marked steps are kept.")
    if stepped and not are_numbered:
        said.append("The steps carry no numbers: those of the ranks stand beside each other in the order recorded.")
    return tuple(said)


def _explained(measure: Measure) -> str:
    step = "A step is the time between its marks on the host; a device that lags behind works there on an earlier one."
    match measure:
        case Measure.ELAPSED:
            return f"{step} The host's time is the profiler's."
        case Measure.EXPOSED:
            return f"{step} A collective is exposed while no kernel computes beside it."
        case Measure.WAITED:
            return (
                f"{step} A rank waits for as long as its kernel took longer than the shortest of the same collective; "
                "empty where not every collective of the step was found in the other ranks."
            )
        case Measure.IDLE:
            return step
        case _:
            assert_never(measure)


def _hover(rank: RankSummary, step: str, ns: int | None, measure: Measure) -> str:
    return f"rank {_name(rank)}, step {step}: {quantities.duration(ns)} ({measure_text(measure)})"


def _table(grid: StepGrid, word: str) -> Component:
    columns = (Column("rank"), Column("step"), Column(word, Kind.DURATION, width_px=150))
    rows = [
        (_name(rank), step, ns)
        for rank, row in zip(grid.ranks, grid.ns, strict=True)
        for step, ns in zip(grid.steps, row, strict=True)
    ]
    return table("gb-ranks-step-rows", columns, rows, file_name="rank-steps")


def _name(rank: RankSummary) -> str:
    return f"{rank.rank}" if rank.is_rank_known else f"{rank.rank}?"


def _applies(run: RunData) -> bool:
    return run.report is not None and run.report.ranks is not None


PANEL: Final = Panel(id="ranks_steps", title="Step by step", build=build, page=Page.RANKS, applies=_applies)
