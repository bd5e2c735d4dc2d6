"""Which of the nested rows of a host thread is the innermost at each moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.distinct import distinct
from analyzer.core.trace import IntColumn, Trace

NOBODY: Final = -1
"""The owner of the time outside all rows; private to `derive`, every column made from it has a mask."""


@dataclass(frozen=True, slots=True)
class Innermost:
    """One thread's time cut into stretches, each owned by the innermost row there, or by nobody.

    `owner[i]` is a trace row and holds from `start_ns[i]` to `start_ns[i + 1]`; the last stretch is nobody's.
    """

    start_ns: IntColumn
    owner: IntColumn

    def at(self, points_ns: IntColumn) -> IntColumn:
        """The innermost row at each of these moments; NOBODY where there is none."""
        where = np.searchsorted(self.start_ns, points_ns, side="right") - 1
        return np.where(where >= 0, self.owner[where], NOBODY) if self.owner.size else np.full_like(points_ns, NOBODY)

    def length_at(self, points_ns: IntColumn) -> IntColumn:
        """For how long nothing opens or closes around each of these moments; 0 for what no stretch bounds."""
        if not self.start_ns.size:
            return np.zeros_like(points_ns)
        # The last stretch, and what lies before the first, is nobody's and without an end.
        return np.append(np.diff(self.start_ns), 0)[np.searchsorted(self.start_ns, points_ns, side="right") - 1]

    def stretches(self) -> tuple[IntColumn, IntColumn, IntColumn]:
        """Start, end and owner of each stretch that a row owns: the rows' own time, their children's left out."""
        owned = np.flatnonzero(self.owner[:-1] != NOBODY)
        return self.start_ns[owned], self.start_ns[owned + 1], self.owner[owned]


def innermost(trace: Trace, rows: IntColumn) -> Innermost:
    """The innermost of `rows` (in trace order) at each moment.

    Rows that cross instead of nesting (profilers round, and ROCm's runtime calls outlast their parents) hold until
    their own end; the later of two wins while both are open.
    """
    nested = _of_nested(trace, rows)
    if nested is not None:
        return nested
    each = [_of_nested(trace, own) or _of_crossing(trace, own) for _, own in by_thread(trace, rows)]
    # Rows of several threads cross where those of each nest. The row begun last is the one of the highest number.
    edges = distinct(np.concatenate([one.start_ns for one in each]))
    return Innermost(edges, np.maximum.reduce([one.at(edges) for one in each]))


def _of_crossing(trace: Trace, rows: IntColumn) -> Innermost:
    starts: list[int] = []
    owners: list[int] = []
    open_rows: list[tuple[int, int]] = []
    # 0.6 µs a row (25,000 operator rows: 15 ms): a stack of rows that cross has no vectorised form.
    for row, start, end in zip(rows.tolist(), trace.start_ns[rows].tolist(), trace.ends(rows).tolist(), strict=True):
        _close(open_rows, start, starts, owners)
        open_rows.append((row, end))
        starts.append(start)
        owners.append(row)
    _close(open_rows, None, starts, owners)
    return Innermost(np.asarray(starts, dtype=np.int64), np.asarray(owners, dtype=np.int64))


def by_thread(trace: Trace, rows: IntColumn) -> Iterator[tuple[int, IntColumn]]:
    """These rows apart by host thread, each in trace order."""
    if not rows.size:
        return
    threads = trace.thread[rows]
    order = np.argsort(threads, kind="stable")
    numbers = distinct(threads)
    begins = np.searchsorted(threads[order], numbers)
    yield from zip(numbers.tolist(), np.split(rows[order], begins[1:]), strict=True)


def innermost_at(trace: Trace, rows: IntColumn, points_ns: IntColumn, threads: IntColumn) -> IntColumn:
    """The innermost of `rows` at each of these moments on its thread; NOBODY where there is none."""
    found = np.full(points_ns.size, NOBODY, dtype=np.int64)
    for thread, own in by_thread(trace, rows):
        here = np.flatnonzero(threads == thread)
        if here.size:
            found[here] = innermost(trace, own).at(points_ns[here])
    return found


def parents(trace: Trace, rows: IntColumn) -> IntColumn:
    """For every row of the trace the innermost of `rows` of its thread that holds its start; NOBODY elsewhere.

    For a member of `rows` that is the row around it, not itself.
    """
    parent = np.full(len(trace), NOBODY, dtype=np.int64)
    for _, own in by_thread(trace, rows):
        if _parents_of_nested(trace, own, parent):
            continue
        open_rows: list[tuple[int, int]] = []
        # As above: 0.5 µs a row.
        for row, start, end in zip(own.tolist(), trace.start_ns[own].tolist(), trace.ends(own).tolist(), strict=True):
            while open_rows and open_rows[-1][1] <= start:
                open_rows.pop()
            if open_rows:
                parent[row] = open_rows[-1][0]
            open_rows.append((row, end))
    return parent


def _parents_of_nested(trace: Trace, rows: IntColumn, parent: IntColumn) -> bool:
    """Fills in the parents of rows of one thread, 0.1 µs a row; False, with nothing filled in, where they cross."""
    has_length = trace.duration_ns[rows] > 0
    kept, moments = rows[has_length], rows[~has_length]
    held = _nest(trace.start_ns[kept], trace.ends(kept))
    if held is None:
        return False
    around = NOBODY if not moments.size else _stretches(trace, kept, held).at(trace.start_ns[moments])
    if moments.size and (around > moments).any():
        return False
    parent[kept] = np.where(held == NOBODY, NOBODY, kept[held])
    parent[moments] = around
    return True


def _nest(start: IntColumn, end: IntColumn) -> IntColumn | None:
    """For each of these intervals, in order of start, the position of the one around it, NOBODY where there is none.

    None where any two cross, or one has no length: those need the stack. In a nested set the intervals that are still
    open at a start are those around it, so that counting them gives the depth, and the last one that is a level up is
    the parent; that each then lies within its parent proves that the set was nested.
    """
    if (end <= start).any():
        return None
    depth = np.arange(start.size) - np.searchsorted(np.sort(end), start, side="right")
    parent = np.full(start.size, NOBODY, dtype=np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        own = np.flatnonzero(depth == level)
        place = np.searchsorted(above, own) - 1
        if own.size and (not above.size or (place < 0).any()):
            return None
        parent[own] = above[place]
        above = own
    held = np.flatnonzero(parent != NOBODY)
    around = parent[held]
    is_nested = (end[held] <= end[around]) & (start[held] < end[around])
    return parent if is_nested.all() else None


def _of_nested(trace: Trace, rows: IntColumn) -> Innermost | None:
    """`innermost` of rows that nest, 0.1 µs a row; None where they do not."""
    kept = rows[trace.duration_ns[rows] > 0]
    parent = _nest(trace.start_ns[kept], trace.ends(kept))
    return None if parent is None else _stretches(trace, kept, parent)


def _stretches(trace: Trace, kept: IntColumn, parent: IntColumn) -> Innermost:
    """The stretches of nested rows, of each of which `parent` is the position of the one around it."""
    start, end = trace.start_ns[kept], trace.ends(kept)
    number = np.arange(kept.size)
    # At one moment inner rows end before outer ones: a row's number grows with its depth.
    closes = kept.size - 1 - np.argsort(end[::-1], kind="stable")
    end = end[closes]
    # And before others begin. Both are in order, so that each one's place among all follows from how many of the other
    # come before it.
    at_end = number + np.searchsorted(start, end, side="left")
    at_start = number + np.searchsorted(end, start, side="right")
    moment = np.empty(2 * kept.size, dtype=np.int64)
    owner = np.empty(2 * kept.size, dtype=np.int64)
    moment[at_start], moment[at_end] = start, end
    owner[at_start] = kept
    owner[at_end] = np.where(parent == NOBODY, NOBODY, kept[parent])[closes]
    return Innermost(moment, owner)


def _close(open_rows: list[tuple[int, int]], until: int | None, starts: list[int], owners: list[int]) -> None:
    """Ends the rows that are over by `until` (all of them for None) and gives the time back to the row around."""
    while open_rows and (until is None or open_rows[-1][1] <= until):
        _, end = open_rows.pop()
        while open_rows and open_rows[-1][1] <= end:
            open_rows.pop()
        starts.append(end)
        owners.append(open_rows[-1][0] if open_rows else NOBODY)
