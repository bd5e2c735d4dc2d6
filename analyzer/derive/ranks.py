"""Compares the ranks of one run: who waited in collectives, who was late and for what, what was exposed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from analyzer.core.quantities import duration
from analyzer.core.ranks import (
    ClockSource,
    CollectiveUse,
    LateFor,
    LostRank,
    RanksReport,
    RankSummary,
    RankWait,
)
from analyzer.derive.clock import Clocks, align

LATE_SHARE: Final = 0.05
"""Of the time compared: a rank that came later than this to its collectives is asked for its reason (as
rank_straggler.STRAGGLING_SHARE)."""

MOST_STEPPED: Final = 512
"""Ranks whose steps are kept one by one, some 4 kB each: what a heat map can show as a row of a pixel or two."""

LEAST_OF_LATENESS: Final = 0.5
"""A choice: what a rank has more of than the others is named as the reason only where it makes up half of what it came
late by. One of the public ranks computes 0.06 ms longer than the others, and comes 1.3 ms late."""

CLOCKS_APART_NS: Final = 1_000_000
"""Machines of one cluster keep their clocks within a millisecond (NTP): more is worth saying."""


def compare_ranks(summaries: Sequence[RankSummary], lost: Sequence[LostRank] = ()) -> RanksReport:
    """What the ranks say together. With one rank, or without collectives, nothing is claimed of waits."""
    ranks, doubles = _distinct(summaries)
    clocks = align(ranks)
    waits = _waits(ranks, clocks)
    kept, left_out = _with_steps_of_some(ranks, waits)
    return RanksReport(
        ranks=kept,
        lost=tuple(lost),
        waits=waits,
        collectives=_summed(ranks),
        clock=clocks.source,
        offsets=clocks.offsets,
        matched=len(clocks.matches),
        unmatched=clocks.unmatched,
        imbalance=_imbalance(ranks),
        notes=(*doubles, *_notes(ranks, lost, clocks), *left_out),
    )


def _distinct(summaries: Sequence[RankSummary]) -> tuple[tuple[RankSummary, ...], tuple[str, ...]]:
    """In order of rank. Files that name a rank twice (two runs in one folder) lose the later one, and it is said. One
    that names none, and was numbered like one that does, gets a number behind all of them.
    """
    found: dict[int, RankSummary] = {}
    notes = []
    for summary in sorted(summaries, key=lambda s: (not s.is_rank_known, s.rank, s.source)):
        if summary.rank in found and not summary.is_rank_known:
            free = max(one.rank for one in (*summaries, *found.values())) + 1
            found[free] = replace(summary, rank=free)
        elif summary.rank in found:
            notes.append(f"{summary.source} says that it is rank {summary.rank}, as {found[summary.rank].source} does")
        else:
            found[summary.rank] = summary
    return tuple(sorted(found.values(), key=lambda one: one.rank)), tuple(notes)


def _waits(ranks: Sequence[RankSummary], clocks: Clocks) -> tuple[RankWait, ...]:
    """By what a rank's kernel took longer than the shortest of the same collective: that one waited for nobody.

    No clock is needed for it. The first collective only marks where the time that is compared begins.
    """
    own: dict[int, list[tuple[int, int]]] = defaultdict(list)
    by_step: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for match in clocks.matches:
        shortest = min(mark.end_ns - mark.start_ns for mark in match.marks)
        for rank, mark in zip(match.ranks, match.marks, strict=True):
            waited_ns = mark.end_ns - mark.start_ns - shortest
            own[rank].append((mark.end_ns, waited_ns))
            if mark.step is not None:
                by_step[rank].append((mark.step, waited_ns))
    spans = {rank: sorted(ends) for rank, ends in own.items() if len(ends) > 1}
    waited = {rank: sum(wait for _, wait in ends[1:]) for rank, ends in spans.items()}
    found = []
    for summary in ranks:
        rank = summary.rank
        others = [wait for other, wait in waited.items() if other != rank]
        if rank not in waited or not others:
            continue
        span = spans[rank][-1][0] - spans[rank][0][0]
        late = max(0, round(float(np.median(others))) - waited[rank])
        rest = [other for other in ranks if other.rank != rank]
        why = _reason(summary, rest, late) if late > LATE_SHARE * span else None
        found.append(RankWait(rank, span, waited[rank], late, why, _by_step(summary, by_step[rank])))
    return tuple(found)


def _by_step(summary: RankSummary, waits: Sequence[tuple[int, int]]) -> tuple[int | None, ...]:
    """What was waited in each step: known where as many collectives were matched as began in it."""
    if summary.steps is None:
        return ()
    matched: dict[int, list[int]] = defaultdict(list)
    for step, waited_ns in waits:
        matched[step].append(waited_ns)
    return tuple(
        sum(matched[step]) if len(matched[step]) == began else None
        for step, began in enumerate(summary.steps.collectives)
    )


def _with_steps_of_some(
    ranks: Sequence[RankSummary], waits: Sequence[RankWait]
) -> tuple[tuple[RankSummary, ...], tuple[str, ...]]:
    """Of very many ranks only those keep their steps that came latest or, after them, waited most; and it is said."""
    stepped = [rank for rank in ranks if rank.steps is not None]
    if len(stepped) <= MOST_STEPPED:
        return tuple(ranks), ()
    by_rank = {wait.rank: (-wait.late_ns, -wait.waited_ns) for wait in waits}
    order = sorted(stepped, key=lambda one: (by_rank.get(one.rank, (0, 0)), one.rank))
    kept = {one.rank for one in order[:MOST_STEPPED]}
    note = f"the steps of {MOST_STEPPED} of {len(stepped)} ranks are kept: of those that came latest or waited most"
    return tuple(one if one.rank in kept else replace(one, steps=None) for one in ranks), (note,)


def _reason(late: RankSummary, others: Sequence[RankSummary], late_ns: int) -> LateFor:
    """What the late rank has most more of than the median of the others; UNKNOWN where that is too little for it."""
    measures: tuple[tuple[LateFor, Callable[[RankSummary], int]], ...] = (
        (LateFor.KERNELS, lambda rank: rank.temporal.compute_ns if rank.temporal else 0),
        (LateFor.HOST, lambda rank: rank.idle.host_late_ns if rank.idle else 0),
        (LateFor.DATA, lambda rank: rank.data_ns),
    )
    more = {why: take(late) - float(np.median([take(other) for other in others])) for why, take in measures}
    # A rank that waits for data has a host that launches later: the nearer cause is named.
    if (
        more[LateFor.DATA] >= LEAST_OF_LATENESS * late_ns
        and more[LateFor.DATA] >= more[LateFor.HOST] / 2
        and more[LateFor.DATA] > more[LateFor.KERNELS]
    ):
        return LateFor.DATA
    why = max((LateFor.KERNELS, LateFor.HOST), key=lambda w: more[w])
    return why if more[why] >= LEAST_OF_LATENESS * late_ns else LateFor.UNKNOWN


def _summed(ranks: Sequence[RankSummary]) -> tuple[CollectiveUse, ...]:
    """Every collective over all ranks, the most exposed first."""
    groups: dict[tuple[str, str | None], list[CollectiveUse]] = defaultdict(list)
    for rank in ranks:
        for use in rank.collectives:
            groups[use.what, use.group].append(use)
    summed = [
        CollectiveUse(
            what=what,
            group=group,
            count=sum(use.count for use in uses),
            kernel_ns=sum(use.kernel_ns for use in uses),
            exposed_ns=sum(use.exposed_ns for use in uses),
            bytes=None if any(use.bytes is None for use in uses) else sum(use.bytes or 0 for use in uses),
        )
        for (what, group), uses in groups.items()
    ]
    return tuple(sorted(summed, key=lambda use: (-use.exposed_ns, use.what, use.group or "")))


def _imbalance(ranks: Sequence[RankSummary]) -> float | None:
    compute = [rank.temporal.compute_ns for rank in ranks if rank.temporal]
    return max(compute) / float(np.mean(compute)) if len(compute) > 1 and any(compute) else None


def _notes(ranks: Sequence[RankSummary], lost: Sequence[LostRank], clocks: Clocks) -> tuple[str, ...]:
    notes = []
    if lost:
        notes.append(f"{len(lost)} of {len(ranks) + len(lost)} ranks were lost and are in no figure")
    world = max((rank.world_size for rank in ranks if rank.world_size is not None), default=None)
    if world is not None and world > len(ranks):
        notes.append(f"{len(ranks)} of the {world} ranks of the run are here: waits for the others are not seen")
    unknown = sum(1 for rank in ranks if not rank.is_rank_known)
    if unknown:
        notes.append(f"{unknown} files do not say which rank they are of, and were numbered in order")
    if clocks.unmatched:
        notes.append(f"{clocks.unmatched} collective kernels were not found in every rank and say nothing of waits")
    apart = [offset.offset_ns for offset in clocks.offsets if offset.spread_ns is not None]
    if clocks.source is ClockSource.COLLECTIVES and apart and max(apart) - min(apart) > CLOCKS_APART_NS:
        notes.append(
            f"the clocks of the ranks are {duration(max(apart) - min(apart))} apart, and were aligned by collectives"
        )
    return tuple(notes)
