"""Brings the clocks of ranks together, by the collectives that they took part in: those end everywhere at once.

Recorders' clocks are those of their machines, which agree to a millisecond at best; a collective's end agrees to the
time that its last message takes, some microseconds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.ranks import ClockOffset, ClockSource, CollectiveMark, RankSummary

MOST_SHIFT: Final = 8
"""Collectives by which the recordings of two ranks may begin or end apart."""

LEAST_MATCHES: Final = 3
"""Of one kind and group, to tell how two sequences of another length lie beside each other."""

CLEARLY: Final = 3.0
CLOSE_NS: Final = 20_000
"""Two ways to lay sequences beside each other fit alike unless one spreads this many times more, and by more than a
collective's end differs between ranks (some microseconds within a machine)."""


@dataclass(frozen=True, slots=True)
class Match:
    """One collective in all ranks of its group: `marks[i]` is of `ranks[i]`, on that rank's own clock."""

    what: str
    group: str | None
    ranks: tuple[int, ...]
    marks: tuple[CollectiveMark, ...]


@dataclass(frozen=True, slots=True)
class Clocks:
    """`offsets` by rank, in order of `ranks`; `unmatched` counts marks that no match holds."""

    source: ClockSource
    offsets: tuple[ClockOffset, ...]
    matches: tuple[Match, ...]
    unmatched: int


def align(ranks: Sequence[RankSummary]) -> Clocks:
    """The clocks of these ranks and their matched collectives.

    A collective is matched by kind, process group and order. Where ranks hold another number of them, the shift is
    taken under which the ends differ most alike. A group that only some ranks name holds those ranks alone.
    """
    matches: list[Match] = []
    total = sum(len(rank.marks) for rank in ranks)
    groups: dict[tuple[str, str | None], list[tuple[int, list[CollectiveMark]]]] = defaultdict(list)
    for rank in ranks:
        own: dict[tuple[str, str | None], list[CollectiveMark]] = defaultdict(list)
        for mark in rank.marks:
            own[mark.what, mark.group].append(mark)
        for key, marks in own.items():
            groups[key].append((rank.rank, marks))
    for (what, group), members in sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or "")):
        matches += _matched(what, group, members, len(ranks))
    offsets = _offsets(ranks, matches)
    source = ClockSource.COLLECTIVES if matches else ClockSource.RECORDED
    if not matches and not all(rank.has_clock for rank in ranks):
        source = ClockSource.NONE
    return Clocks(source, offsets, tuple(matches), total - sum(len(match.marks) for match in matches))


def _matched(what: str, group: str | None, members: list[tuple[int, list[CollectiveMark]]], whole: int) -> list[Match]:
    """A group without a name is taken to be all ranks: with only some of them nothing is matched."""
    if len(members) < 2 or (group is None and len(members) < whole):
        return []
    reference = members[0][1]
    # Where each member's first mark lies in the reference's sequence.
    places = [(rank, marks, _shift(reference, marks)) for rank, marks in members]
    if any(shift is None for _, _, shift in places):
        return []
    found = []
    for number in range(len(reference)):
        marks = [
            own[number - shift] for _, own, shift in places if shift is not None and 0 <= number - shift < len(own)
        ]
        if len(marks) == len(members):
            found.append(Match(what, group, tuple(rank for rank, _ in members), tuple(marks)))
    return found


def _shift(reference: list[CollectiveMark], own: list[CollectiveMark]) -> int | None:
    """How many of the reference's marks come before the first of `own`; None where it cannot be told."""
    if len(reference) == len(own):
        return 0
    if min(len(reference), len(own)) < LEAST_MATCHES:
        return None
    left = np.asarray([mark.end_ns for mark in reference], dtype=np.int64)
    right = np.asarray([mark.end_ns for mark in own], dtype=np.int64)
    found: list[tuple[float, float, int]] = []
    for shift in range(-MOST_SHIFT, MOST_SHIFT + 1):
        first, last = max(0, shift), min(left.size, right.size + shift)
        if last - first < LEAST_MATCHES:
            continue
        apart = right[first - shift : last - shift] - left[first:last]
        middle = float(np.median(apart))
        found.append((float(np.median(np.abs(apart - middle))), abs(middle), shift))
    if not found:
        return None
    tightest = min(spread for spread, _, _ in found)
    # Steps of one length fit as well a step apart: of those that fit, the clocks as recorded decide.
    fitting = [one for one in found if one[0] <= CLEARLY * tightest + CLOSE_NS]
    return min(fitting, key=lambda one: one[1])[2]


def _offsets(ranks: Sequence[RankSummary], matches: list[Match]) -> tuple[ClockOffset, ...]:
    """Each rank's median difference to the middle of the ends of each collective."""
    apart: dict[int, list[float]] = defaultdict(list)
    for match in matches:
        # Relative to one of them: a double does not hold the time of day to the nanosecond.
        ends = [mark.end_ns - match.marks[0].end_ns for mark in match.marks]
        middle = float(np.median(ends))
        for rank, end in zip(match.ranks, ends, strict=True):
            apart[rank].append(end - middle)
    found = []
    for summary in ranks:
        values = apart.get(summary.rank)
        if values is None:
            found.append(ClockOffset(summary.rank, 0, None))
            continue
        middle = float(np.median(values))
        found.append(
            ClockOffset(summary.rank, round(middle), round(float(np.median(np.abs(np.asarray(values) - middle)))))
        )
    return tuple(found)
