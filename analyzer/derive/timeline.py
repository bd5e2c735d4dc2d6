"""Cuts the steps of a trace into regions: the graphs' ranges, and the eager gaps between them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.distinct import commonest
from analyzer.core.graphs import GapKey, GraphKey, Region
from analyzer.core.trace import RANGE_PREFIX, EventKind, IntColumn, Trace
from analyzer.derive.nesting import NOBODY, Innermost, by_thread, innermost, parents

STEP: Final = re.compile(r"ProfilerStep[#*]\d+")
GRAPH: Final = re.compile(rf"{RANGE_PREFIX}(?P<key>\w+\.(?:inference|forward|backward))")

NOWHERE: Final = -1
"""No step, or no region; private to `derive`, every column made from it has a mask."""


@dataclass(frozen=True, slots=True)
class Span:
    """One visit of a region in a step."""

    step: int
    region: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class ThreadRanges:
    """The graph ranges of one host thread; `region[i]` is the region that owns stretch `i`, or NOWHERE."""

    thread: int
    stretches: Innermost
    region: IntColumn


@dataclass(frozen=True, slots=True)
class Timeline:
    """`regions` in order of first visit; `spans` in order of time, covering each step from start to end.

    A graph range nested in another graph's range is a region without spans: its time lies in the outer one's.
    Eager gap `i` takes the calls from `gap_from_ns[i]` on, which is when the graph before it began: on another
    thread that graph may still be running.
    """

    regions: tuple[Region, ...]
    calls: IntColumn
    spans: tuple[Span, ...]
    step_start_ns: IntColumn
    step_end_ns: IntColumn
    gap_from_ns: IntColumn
    gap_region: IntColumn
    threads: tuple[ThreadRanges, ...]

    @property
    def steps(self) -> int:
        return int(self.step_start_ns.size)

    def step_at(self, points_ns: IntColumn) -> IntColumn:
        """The step that holds each moment, NOWHERE outside of all."""
        return step_at(self.step_start_ns, self.step_end_ns, points_ns)

    def region_at(self, points_ns: IntColumn, threads: IntColumn) -> IntColumn:
        """The region of a call made at each moment on each thread, NOWHERE outside of the steps.

        It is the innermost graph range of that very thread, else the eager gap after the last graph begun.
        """
        region = np.full_like(points_ns, NOWHERE)
        in_step = self.step_at(points_ns) != NOWHERE
        region[in_step] = self.gap_region[np.searchsorted(self.gap_from_ns, points_ns[in_step], side="right") - 1]
        for ranges in self.threads:
            own = np.flatnonzero(in_step & (threads == ranges.thread))
            stretch = np.searchsorted(ranges.stretches.start_ns, points_ns[own], side="right") - 1
            found = np.where(stretch >= 0, ranges.region[stretch], NOWHERE)
            region[own[found != NOWHERE]] = found[found != NOWHERE]
        return region


def cut(trace: Trace) -> Timeline:
    """The timeline of a trace. Without step markers it has no step, and nothing in it has a region."""
    starts, ends = _steps(trace)
    keys = _graph_rows(trace)
    rows = np.asarray(sorted(keys), dtype=np.int64)
    parent = parents(trace, rows)
    step = step_at(starts, ends, trace.start_ns[rows])
    outermost: dict[int, list[int]] = {}
    for s, r in zip(step.tolist(), rows.tolist(), strict=True):
        if s != NOWHERE and parent[r] == NOBODY:
            outermost.setdefault(s, []).append(r)
    regions: dict[Region, int] = {}
    spans: list[Span] = []
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        spans += _spans(trace, keys, outermost.get(number, []), Span(number, NOWHERE, start, end), regions)
    # Nested ranges of other graphs have no span, but their kernels need a region.
    for row, at in zip(rows.tolist(), step.tolist(), strict=True):
        if at != NOWHERE:
            regions.setdefault(keys[row], len(regions))
    gap_from, gap_region = _gaps(spans, regions)
    calls = _calls(
        spans,
        regions,
        [
            keys[r]
            for r, s in zip(rows.tolist(), step, strict=True)
            if s != NOWHERE and parent[r] != NOBODY and keys[int(parent[r])] != keys[r]
        ],
    )
    return Timeline(
        regions=tuple(regions),
        calls=calls,
        spans=tuple(spans),
        step_start_ns=starts,
        step_end_ns=ends,
        gap_from_ns=gap_from,
        gap_region=gap_region,
        threads=tuple(_thread_ranges(trace, keys, thread, own, regions) for thread, own in by_thread(trace, rows)),
    )


def _steps(trace: Trace) -> tuple[IntColumn, IntColumn]:
    """The step markers that no other holds, in order, none longer than to the begin of the next: of one thread, the one
    with most of them, as a file of several ranks has those of each.
    """
    rows = trace.named(STEP.fullmatch, EventKind.RANGE)
    if rows.size:
        rows = rows[trace.thread[rows] == commonest(trace.thread[rows])]
    kept, end = disjoint(trace.start_ns[rows], trace.ends(rows))
    return trace.start_ns[rows[kept]], end


def disjoint(start: IntColumn, end: IntColumn) -> tuple[IntColumn, IntColumn]:
    """Of marked steps, in order of start and of equal ones the longer first, those that none before holds, by place;
    and their ends, cut where the next one begins: stamps are rounded, and steps of a server begin before the last ends.
    """
    reach = np.maximum.accumulate(end) if end.size else end
    kept = np.flatnonzero(np.concatenate(([True], end[1:] > reach[:-1]))[: end.size])
    return kept, np.minimum(end[kept], np.append(start[kept][1:], np.iinfo(np.int64).max)[: kept.size])


def _graph_rows(trace: Trace) -> dict[int, GraphKey]:
    """The rows that are the range of a graph. Depending on how it was opened, torch writes one as a range or an op."""
    keys: dict[int, GraphKey] = {}
    for name_id, name in enumerate(trace.names):
        found = GRAPH.fullmatch(name)
        if found is None:
            continue
        rows = np.flatnonzero((trace.name_id == name_id) & np.isin(trace.kind, (EventKind.RANGE, EventKind.CPU_OP)))
        keys |= dict.fromkeys(rows.tolist(), GraphKey.parse(found["key"]))
    return keys


def step_at(starts: IntColumn, ends: IntColumn, points_ns: IntColumn) -> IntColumn:
    """The number of the step that each of these moments lies in, NOWHERE outside; steps never overlap."""
    if not starts.size:
        return np.full_like(points_ns, NOWHERE)
    step = np.searchsorted(starts, points_ns, side="right") - 1
    return np.where((step >= 0) & (points_ns < ends[step]), step, NOWHERE)


def _spans(
    trace: Trace, keys: dict[int, GraphKey], graph_rows: list[int], step: Span, regions: dict[Region, int]
) -> list[Span]:
    """One step as gap, graph, gap, …, gap; `regions` gains those met for the first time."""
    spans: list[Span] = []
    at, after = step.start_ns, None
    for row in graph_rows:
        key, start = keys[row], max(at, int(trace.start_ns[row]))
        end = max(start, min(step.end_ns, int(trace.start_ns[row] + trace.duration_ns[row])))
        gap = regions.setdefault(GapKey(after, key), len(regions))
        spans.append(Span(step.step, gap, at, start))
        spans.append(Span(step.step, regions.setdefault(key, len(regions)), start, end))
        at, after = end, key
    gap = regions.setdefault(GapKey(after, None), len(regions))
    return [*spans, Span(step.step, gap, at, step.end_ns)]


def _gaps(spans: list[Span], regions: dict[Region, int]) -> tuple[IntColumn, IntColumn]:
    keys = tuple(regions)
    begins: list[int] = []
    owners: list[int] = []
    for i, span in enumerate(spans):
        if isinstance(keys[span.region], GapKey):
            is_first = i == 0 or spans[i - 1].step != span.step
            begins.append(span.start_ns if is_first else spans[i - 1].start_ns)
            owners.append(span.region)
    return np.asarray(begins, dtype=np.int64), np.asarray(owners, dtype=np.int64)


def _calls(spans: list[Span], regions: dict[Region, int], nested: list[GraphKey]) -> IntColumn:
    visited = [s.region for s in spans] + [regions[key] for key in nested]
    return np.bincount(np.asarray(visited, dtype=np.int64), minlength=len(regions)).astype(np.int64)


def _thread_ranges(
    trace: Trace, keys: dict[int, GraphKey], thread: int, rows: IntColumn, regions: dict[Region, int]
) -> ThreadRanges:
    stretches = innermost(trace, rows)
    region = [NOWHERE if row == NOBODY else regions.get(keys[row], NOWHERE) for row in stretches.owner.tolist()]
    return ThreadRanges(thread, stretches, np.asarray(region, dtype=np.int64))
