"""Several ranks side by side: who was late and for what, where each rank's time went, and what was not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dash import html

from analyzer.core import quantities
from analyzer.core.budget import Part
from analyzer.core.ranks import RanksReport, RankSummary, RankWait
from analyzer.reporting.palette import COLLECTIVES, part_colour
from analyzer.reporting.plain_text import plain
from analyzer.reporting.ranks_text import late_text
from dashboard.figure import axis_title, graph, safe
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, table

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST_BARS: Final = 32
"""Ranks of the figure: those that were latest, then those that waited most. All are in the table."""
MOST_LATE: Final = 8
MOST_LOST: Final = 10
_NS_PER_MS: Final = 1e6
_BAR_PX, _FRAME_PX, _LEGEND_PX = 18, 130, 55
_FEWEST: Final = 4
"""Bars that a figure has room for, at least."""

NO_RANKS: Final = (
    "This report is of one process: report.json holds no ranks. `analyze FOLDER` of the traces of all ranks compares "
    "them; `analyze dashboard FOLDER` shows it."
)
_PARTS: Final = (
    ("computing", part_colour(Part.COMPUTE), ""),
    ("exposed collectives", COLLECTIVES, "/"),
    ("exposed copies", part_colour(Part.COPIES), "|"),
    ("idle", part_colour(Part.OTHER), "x"),
)
_COLUMNS: Final = (
    Column("rank", width_px=70),
    Column("late", Kind.DURATION, tip="so much less than the median of the others it waited in matched collectives"),
    Column("late for", width_px=230),
    Column("waited", Kind.DURATION, tip="in matched collectives, for the others"),
    Column("computing", Kind.DURATION, width_px=110),
    Column("exposed collectives", Kind.DURATION, tip="with no kernel computing beside them"),
    Column("exposed copies", Kind.DURATION),
    Column("idle", Kind.DURATION),
    Column("idle: host late", Kind.DURATION, tip="the next row had not been launched"),
    Column("hidden", Kind.SHARE, tip="of the time of its collectives, beside computing kernels"),
    Column("data loading", Kind.DURATION, tip="the host's time in a DataLoader"),
    Column("window", Kind.DURATION, tip="from its first device row to its last"),
    Column("steps", Kind.NUMBER, width_px=80),
    Column("kernels", Kind.NUMBER),
    Column("without launch", Kind.NUMBER, tip="kernels whose launch was not recorded"),
    Column("file", width_px=160),
)


def build(run: RunData) -> list[Component]:
    ranks = run.report.ranks if run.report is not None else None
    if ranks is None:
        return [empty_state(NO_RANKS)]
    return [
        html.P(summary_text(ranks), className="gb-headline"),
        html.Ul([html.Li(text) for text in late_text(ranks, MOST_LATE)], className="gb-ranks-facts"),
        *_lost(ranks),
        *(html.P(prose(plain(note, 300)), className="gb-quiet") for note in ranks.notes),
        *_figure(ranks),
        table("gb-ranks", _COLUMNS, [_cells(rank, _wait(ranks, rank)) for rank in ranks.ranks], file_name="ranks"),
    ]


def summary_text(ranks: RanksReport) -> str:
    """How many, how uneven, and whether anything is known of waits."""
    lost = f", {len(ranks.lost)} could not be read" if ranks.lost else ""
    balance = (
        "how evenly they compute is not known"
        if ranks.imbalance is None
        else f"the busiest computes {quantities.ratio(ranks.imbalance)} the mean"
    )
    return f"{len(ranks.ranks)} ranks{lost}; {balance}"


def parts_figure(ranks: RanksReport) -> go.Figure:
    """A bar for each rank: the four parts of its window, which add up to it."""
    import plotly.graph_objects as go  # 0.3 s

    shown = shown_ranks(ranks)
    figure = go.Figure()
    for place, (word, colour, pattern) in enumerate(_PARTS):
        parts = [_parts(rank)[place] for rank in shown]
        figure.add_bar(
            name=word,
            orientation="h",
            y=[_name(rank) for rank in shown],
            x=[ns / _NS_PER_MS for ns in parts],
            marker={
                "color": colour,
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "#222222", "solidity": 0.2},
            },
            hovertext=[
                safe(
                    f"rank {_name(rank)}: {quantities.duration(ns)} {word} of {quantities.duration(sum(_parts(rank)))}"
                )
                for rank, ns in zip(shown, parts, strict=True)
            ],
            hoverinfo="text",
        )
    figure.update_layout(
        barmode="stack",
        bargap=0.25,
        xaxis={"title": axis_title("window", "ms")},
        yaxis={"title": "rank", "type": "category", "autorange": "reversed"},
        legend={"traceorder": "normal", "y": -_LEGEND_PX / (_BAR_PX * max(len(shown), _FEWEST))},
    )
    return figure


def _hover(rank: RankSummary, word: str, ns: int) -> str:
    whole = quantities.duration(sum(_parts(rank)))
    return safe(f"rank {_name(rank)}: {quantities.duration(ns)} {word} of {whole}")


def shown_ranks(ranks: RanksReport) -> tuple[RankSummary, ...]:
    """Those of the figure, in order of rank."""
    waits = {wait.rank: (-wait.late_ns, -wait.waited_ns) for wait in ranks.waits}
    known = [rank for rank in ranks.ranks if rank.temporal is not None]
    chosen = sorted(known, key=lambda rank: (waits.get(rank.rank, (0, 0)), rank.rank))[:MOST_BARS]
    return tuple(sorted(chosen, key=lambda rank: rank.rank))


def _figure(ranks: RanksReport) -> list[Component]:
    shown = shown_ranks(ranks)
    if not shown:
        return [empty_state("No rank's trace shows work of a device: record with ProfilerActivity.CUDA as well.")]
    left = len(ranks.ranks) - len(shown)
    more = [html.P(f"{left} ranks are in the table alone: those that are neither late nor wait.")] if left else []
    return [
        graph(
            "gb-ranks-parts",
            parts_figure(ranks),
            height_px=_FRAME_PX + _BAR_PX * max(len(shown), _FEWEST),
            label=f"Where the time of {len(shown)} ranks went",
        ),
        *more,
    ]


def _lost(ranks: RanksReport) -> list[Component]:
    said = [f"not read: {plain(one.source, 160)}: {plain(one.reason, 300)}" for one in ranks.lost[:MOST_LOST]]
    if len(ranks.lost) > MOST_LOST:
        said.append(f"and {len(ranks.lost) - MOST_LOST} more that could not be read")
    return [html.P(text, className="gb-loud") for text in said]


def _wait(ranks: RanksReport, rank: RankSummary) -> RankWait | None:
    return next((wait for wait in ranks.waits if wait.rank == rank.rank), None)


def _name(rank: RankSummary) -> str:
    """A rank that its file does not name has a question mark."""
    return f"{rank.rank}" if rank.is_rank_known else f"{rank.rank}?"


def _parts(rank: RankSummary) -> tuple[int, int, int, int]:
    own = rank.temporal
    assert own is not None
    return own.compute_ns, own.exposed_collective_ns, own.exposed_copy_ns, own.idle_ns


def _cells(rank: RankSummary, wait: RankWait | None) -> tuple[Cell, ...]:
    own = rank.temporal
    parts = (None,) * 4 if own is None else _parts(rank)
    return (
        _name(rank),
        None if wait is None else wait.late_ns,
        wait.late_for.value if wait is not None and wait.late_for is not None else "",
        None if wait is None else wait.waited_ns,
        *parts,
        None if rank.idle is None else rank.idle.host_late_ns,
        rank.overlap_share,
        rank.data_ns,
        None if own is None else own.elapsed_ns,
        len(rank.steps_ns) if rank.steps is None else rank.steps.marked,
        rank.kernels,
        rank.unlinked_kernels,
        rank.source,
    )


def _applies(run: RunData) -> bool:
    return run.report is not None and run.report.ranks is not None


PANEL: Final = Panel(id="ranks", title="Ranks", build=build, page=Page.RANKS, applies=_applies)
