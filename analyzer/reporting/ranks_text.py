"""What a report says of its ranks, the same on every page: a line a rank, who was late, what was exposed."""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.ranks import RanksReport, RankSummary, RankWait
from analyzer.reporting.plain_text import plain

MOST_LATE: Final = 3
MOST_COLLECTIVES: Final = 6
RANK_TITLES: Final = ("rank", "window", "compute", "comm", "copies", "idle", "hidden", "waited", "late")
"""Of `rank_cells`; all but the first and `hidden` are milliseconds."""


def ranks_head(ranks: RanksReport) -> str:
    lost = f", {len(ranks.lost)} lost" if ranks.lost else ""
    balance = "" if ranks.imbalance is None else f", the busiest {quantities.ratio(ranks.imbalance)} the mean"
    return f"{len(ranks.ranks)} ranks{lost}{balance}; clocks aligned {ranks.clock.value} ({ranks.matched}); ms"


def shown_ranks(ranks: RanksReport, most: int) -> list[tuple[str, ...]]:
    """The cells of the ranks that were latest, then of those that waited most, in order of their numbers."""
    waits = {wait.rank: wait for wait in ranks.waits}
    chosen = sorted(ranks.ranks, key=lambda rank: _order(rank, waits.get(rank.rank)))[:most]
    return [_cells(rank, waits.get(rank.rank)) for rank in sorted(chosen, key=lambda rank: rank.rank)]


def late_text(ranks: RanksReport, most: int = MOST_LATE) -> list[str]:
    """Who was late and for what, at most so many; that nobody was; or that it is not known."""
    if not ranks.waits:
        return ["No collective was matched between ranks: who waits for whom is not known."]
    late = [(wait, wait.late_for) for wait in ranks.waits if wait.late_for is not None]
    if not late:
        return ["No rank came clearly later to its collectives than the others."]
    late.sort(key=lambda one: (-one[0].late_ns, one[0].rank))
    said = [
        f"rank {wait.rank} is late by {quantities.duration(wait.late_ns)} in {quantities.duration(wait.span_ns)}, "
        f"{reason.value}"
        for wait, reason in late[:most]
    ]
    return [*said, f"and {len(late) - most} more"] if len(late) > most else said


def exposed_text(ranks: RanksReport) -> list[str]:
    return [
        f"{plain(use.what, 40)}{'' if use.group is None else f' in group {plain(use.group, 40)}'}: "
        f"{quantities.duration(use.exposed_ns)} exposed of {quantities.duration(use.kernel_ns)} in "
        f"{quantities.count(use.count)} kernels of all ranks"
        for use in ranks.collectives[:MOST_COLLECTIVES]
    ]


def _order(rank: RankSummary, wait: RankWait | None) -> tuple[int, int, int]:
    return (0, 0, rank.rank) if wait is None else (-wait.late_ns, -wait.waited_ns, rank.rank)


def _cells(rank: RankSummary, wait: RankWait | None) -> tuple[str, ...]:
    name = f"{rank.rank}" if rank.is_rank_known else f"{rank.rank}?"
    own = rank.temporal
    if own is None:
        return (name, *("?" for _ in RANK_TITLES[1:]))
    times = (own.elapsed_ns, own.compute_ns, own.exposed_collective_ns, own.exposed_copy_ns, own.idle_ns)
    overlap = "" if rank.overlap_share is None else quantities.share(rank.overlap_share)
    waits = (None, None) if wait is None else (wait.waited_ns, wait.late_ns)
    figures = [quantities.milliseconds(ns) for ns in times]
    return (name, *figures, overlap, *("?" if ns is None else quantities.milliseconds(ns) for ns in waits))
