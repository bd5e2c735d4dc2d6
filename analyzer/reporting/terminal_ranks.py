"""The sections of the terminal report that only recorded traces have: what cannot be believed, and the ranks.

Imports rich: only terminal_sections.py imports this module.
"""

from __future__ import annotations

from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analyzer.core import quantities
from analyzer.core.ranks import RanksReport, RankSummary, RankWait
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain

MOST_RANKS: Final = 16
"""Rows of a screen: those that were latest, then those that waited most."""
MOST_COLLECTIVES: Final = 6
_LIMIT: Final = 300


def honesty_section(report: Report, width: int) -> list[RenderableType]:
    """What the trace cannot be believed in, before any of its figures."""
    if not report.honesty:
        return []
    lines = [_indented(Text(plain(text, _LIMIT))) for text in report.honesty]
    return [Text("What this trace cannot show", style="bold yellow"), *lines]


def ranks_section(report: Report, width: int) -> list[RenderableType]:
    """The ranks side by side, who was late, and which collectives were exposed."""
    ranks = report.ranks
    if ranks is None:
        return []
    blocks: list[RenderableType] = [Text(_head(ranks), style="bold"), _table(ranks)]
    blocks += [_indented(Text(line)) for line in _late(ranks)]
    blocks += [_indented(Text(line)) for line in _exposed(ranks)]
    return blocks


def _head(ranks: RanksReport) -> str:
    lost = f", {len(ranks.lost)} lost" if ranks.lost else ""
    balance = "" if ranks.imbalance is None else f", the busiest {quantities.ratio(ranks.imbalance)} the mean"
    return f"{len(ranks.ranks)} ranks{lost}{balance}; clocks aligned {ranks.clock.value} ({ranks.matched}); ms"


def _table(ranks: RanksReport) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for title in ("  rank", "window", "compute", "comm", "copies", "idle", "hidden", "waited", "late"):
        table.add_column(title, justify="right", no_wrap=True)
    waits = {wait.rank: wait for wait in ranks.waits}
    shown = sorted(ranks.ranks, key=lambda rank: _order(rank, waits.get(rank.rank)))[:MOST_RANKS]
    for rank in sorted(shown, key=lambda rank: rank.rank):
        table.add_row(*_cells(rank, waits.get(rank.rank)))
    if len(ranks.ranks) > MOST_RANKS:
        table.add_row(f"and {len(ranks.ranks) - MOST_RANKS} more", *("" for _ in range(8)))
    return table


def _order(rank: RankSummary, wait: RankWait | None) -> tuple[int, int, int]:
    return (0, 0, rank.rank) if wait is None else (-wait.late_ns, -wait.waited_ns, rank.rank)


def _cells(rank: RankSummary, wait: RankWait | None) -> tuple[str, ...]:
    name = f"{rank.rank}" if rank.is_rank_known else f"{rank.rank}?"
    own = rank.temporal
    if own is None:
        return (name, *("?" for _ in range(8)))
    times = (own.elapsed_ns, own.compute_ns, own.exposed_collective_ns, own.exposed_copy_ns, own.idle_ns)
    overlap = "" if rank.overlap_share is None else quantities.share(rank.overlap_share)
    waits = (None, None) if wait is None else (wait.waited_ns, wait.late_ns)
    figures = [quantities.milliseconds(ns) for ns in times]
    return (name, *figures, overlap, *("?" if ns is None else quantities.milliseconds(ns) for ns in waits))


def _late(ranks: RanksReport) -> list[str]:
    late = sorted((wait for wait in ranks.waits if wait.late_for is not None), key=lambda wait: -wait.late_ns)
    return [
        f"rank {wait.rank} is late by {quantities.duration(wait.late_ns)} in all, {wait.late_for.value}"
        for wait in late[:3]
        if wait.late_for is not None
    ]


def _exposed(ranks: RanksReport) -> list[str]:
    return [
        f"{plain(use.what, 40)}{'' if use.group is None else f' in group {plain(use.group, 40)}'}: "
        f"{quantities.duration(use.exposed_ns)} exposed of {quantities.duration(use.kernel_ns)} in "
        f"{quantities.count(use.count)} kernels of all ranks"
        for use in ranks.collectives[:MOST_COLLECTIVES]
    ]


def _indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 2))
