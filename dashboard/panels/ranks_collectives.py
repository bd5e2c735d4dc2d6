"""What the ranks' communication cost, by collective and process group, and how their clocks were brought together."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.ranks import ClockSource, CollectiveUse, RanksReport
from dashboard.panels.panel import Component, Page, Panel, empty_state
from dashboard.panels.ranks import NO_RANKS
from dashboard.run_folder import RunData
from dashboard.table import Cell, Column, Kind, table

_USES: Final = (
    Column("collective", width_px=130),
    Column("process group", width_px=160),
    Column("exposed", Kind.DURATION, tip="with no kernel computing beside it, of all ranks together"),
    Column("of its kernels' time", Kind.SHARE),
    Column("kernels' time", Kind.DURATION, tip="of all ranks together; waiting for a late rank is in it"),
    Column("kernels", Kind.NUMBER),
    Column("bytes", Kind.BYTES, tip="as the traces say, of all ranks together"),
)
_CLOCKS: Final = (
    Column("rank"),
    Column("clock ahead of the reference by", Kind.DURATION, width_px=180),
    Column("its collectives disagree by", Kind.DURATION, width_px=180, tip="half of the spread of what they say"),
)
NO_COLLECTIVES: Final = "No rank's trace shows a collective kernel: the ranks did not communicate while recorded."


def build(run: RunData) -> list[Component]:
    ranks = run.report.ranks if run.report is not None else None
    if ranks is None:
        return [empty_state(NO_RANKS)]
    if not ranks.collectives:
        return [empty_state(NO_COLLECTIVES), *_clocks(ranks)]
    exposed = sum(use.exposed_ns for use in ranks.collectives)
    whole = sum(use.kernel_ns for use in ranks.collectives)
    of_all = f"{quantities.duration(exposed)} of {quantities.duration(whole)}"
    said = f"{of_all} of collective kernels was exposed, of all ranks together."
    return [
        html.P(said),
        table("gb-ranks-collectives", _USES, [_use(use) for use in ranks.collectives], file_name="collectives"),
        *_clocks(ranks),
    ]


def _use(use: CollectiveUse) -> tuple[Cell, ...]:
    share = use.exposed_ns / use.kernel_ns if use.kernel_ns else None
    group = "not named" if use.group is None else use.group
    return use.what, group, use.exposed_ns, share, use.kernel_ns, use.count, use.bytes


def _clocks(ranks: RanksReport) -> list[Component]:
    names = {rank.rank: f"{rank.rank}" if rank.is_rank_known else f"{rank.rank}?" for rank in ranks.ranks}
    matched = f"{quantities.count(ranks.matched)} collectives were found in every rank of their group"
    unmatched = f", {quantities.count(ranks.unmatched)} kernels were not" if ranks.unmatched else ""
    said = html.P(f"The clocks of the ranks were aligned {ranks.clock.value}: {matched}{unmatched}.")
    if ranks.clock is ClockSource.NONE:
        said = html.P("The clocks of the ranks were not aligned: no collective was found in all of them.")
    rows = [(names.get(one.rank, str(one.rank)), one.offset_ns, one.spread_ns) for one in ranks.offsets]
    return [said, table("gb-ranks-clocks", _CLOCKS, rows, file_name="clocks")] if rows else [said]


def _applies(run: RunData) -> bool:
    return run.report is not None and run.report.ranks is not None


PANEL: Final = Panel(
    id="ranks_collectives", title="Communication and clocks", build=build, page=Page.RANKS, applies=_applies
)
