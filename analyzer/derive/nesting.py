"""Which of the nested rows of a host thread is the innermost at each moment, and which row lies in which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.distinct import distinct, distinct_of_ordered
from analyzer.core.trace import BoolColumn, IntColumn, Trace

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

    def from_each(self, edges_ns: IntColumn) -> IntColumn:
        """`at` of moments that are in order and hold all of `start_ns`: a third of the time."""
        begins = np.searchsorted(edges_ns, self.start_ns)
        lengths = np.diff(begins, prepend=0, append=edges_ns.size)
        return np.repeat(np.concatenate(([NOBODY], self.owner)), lengths)

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


@dataclass(frozen=True, slots=True)
class Nesting:
    """Some rows of a trace, of each of `threads` apart. `parent` is, for every row of the trace, the innermost of them
    that holds its start and is not itself; NOBODY for rows that are none of them.
    """

    threads: tuple[int, ...]
    inner: tuple[Innermost, ...]
    parent: IntColumn

    def at(self, points_ns: IntColumn, threads: IntColumn) -> IntColumn:
        """The innermost of the rows at each of these moments on its thread; NOBODY where there is none."""
        found = np.full(points_ns.size, NOBODY, dtype=np.int64)
        for thread, inner in zip(self.threads, self.inner, strict=True):
            here = np.flatnonzero(threads == thread)
            found[here] = inner.at(points_ns[here])
        return found


def nesting(trace: Trace, rows: IntColumn) -> Nesting:
    """How these rows (in trace order) nest; see `innermost` for those that do not."""
    parent = np.full(len(trace), NOBODY, dtype=np.int64)
    apart = tuple(by_thread(trace, rows))
    found = []
    for _, own in apart:
        inner, parent[own] = _tree(trace, own)
        found.append(inner)
    return Nesting(tuple(thread for thread, _ in apart), tuple(found), parent)


def innermost(trace: Trace, rows: IntColumn) -> Innermost:
    """The innermost of `rows` (in trace order) at each moment.

    Rows that cross instead of nesting (profilers round, and ROCm's runtime calls outlast their parents) hold until
    their own end; the later of two wins while both are open.
    """
    each = [_tree(trace, own)[0] for _, own in by_thread(trace, rows)]
    if len(each) == 1:
        return each[0]
    # Rows of several threads cross where those of each nest. The row begun last is the one of the highest number.
    edges = distinct_of_ordered(*(one.start_ns for one in each))
    owner = np.full_like(edges, NOBODY)
    for one in each:
        np.maximum(owner, one.from_each(edges), out=owner)
    return Innermost(edges, owner)


def by_thread(trace: Trace, rows: IntColumn) -> Iterator[tuple[int, IntColumn]]:
    """These rows apart by host thread, each in trace order."""
    if not rows.size:
        return
    threads = trace.thread[rows]
    numbers = distinct(threads)
    if numbers.size == 1:
        yield int(numbers[0]), rows
        return
    # Small numbers are sorted in a sixth of the time of the threads' own.
    place = np.searchsorted(numbers, threads).astype(np.min_scalar_type(numbers.size))
    order = np.argsort(place, kind="stable")
    begins = np.cumsum(np.bincount(place))[:-1]
    yield from zip(numbers.tolist(), np.split(rows[order], begins), strict=True)


def innermost_at(trace: Trace, rows: IntColumn, points_ns: IntColumn, threads: IntColumn) -> IntColumn:
    """The innermost of `rows` at each of these moments on its thread; NOBODY where there is none."""
    found = np.full(points_ns.size, NOBODY, dtype=np.int64)
    for thread, own in by_thread(trace, rows):
        here = np.flatnonzero(threads == thread)
        if here.size:
            found[here] = _tree(trace, own)[0].at(points_ns[here])
    return found


def parents(trace: Trace, rows: IntColumn) -> IntColumn:
    """For every row of the trace the innermost of `rows` of its thread that holds its start; NOBODY elsewhere.

    For a member of `rows` that is the row around it, not itself.
    """
    return nesting(trace, rows).parent


_Tree = tuple[Innermost, IntColumn]
"""Of rows of one thread: the innermost at each moment, and for each of them the row around it, NOBODY without one."""


def _tree(trace: Trace, rows: IntColumn) -> _Tree:
    return _of_nested(trace, rows) or _of_crossing(trace, rows)


def _of_nested(trace: Trace, rows: IntColumn) -> _Tree | None:
    """0.1 µs a row; None where rows cross: those need the stack."""
    has_length = trace.duration_ns[rows] > 0
    kept, moments = rows[has_length], rows[~has_length]
    start, end = trace.start_ns[kept], trace.ends(kept)
    if (end <= start).any():
        return None  # beyond what an integer holds
    # The ends are nearly in order too, which numpy's stable sort makes use of.
    edges, opens = _edges(start, np.sort(end, kind="stable"))
    owner = _owners(opens)
    # Before the first edge, as after the last, there is nobody.
    held = owner[np.flatnonzero(opens) - 1]
    is_held = held != NOBODY
    # What is open at a start is what is around it, if each row lies within the one that was owner before it.
    if (end[is_held] > end[held[is_held]]).any():
        return None
    named = np.append(kept, NOBODY)
    inner = Innermost(edges, named[owner])
    around = inner.at(trace.start_ns[moments])
    if (around > moments).any():
        return None
    parent = np.empty_like(rows)
    parent[has_length], parent[~has_length] = named[held], around
    return inner, parent


def _edges(start: IntColumn, end: IntColumn) -> tuple[IntColumn, BoolColumn]:
    """The starts and ends of rows, each in order, in one order, and which are starts. At one moment ends come first."""
    both = np.concatenate((end, start))
    order = np.argsort(both, kind="stable")
    return both[order], order >= end.size


def _owners(opens: BoolColumn) -> IntColumn:
    """Of nested rows the position of the innermost behind each edge, NOBODY outside of all: the one opened last of
    those as deep as it is there.
    """
    depth = np.cumsum(np.where(opens, 1, -1))
    by_depth = np.argsort(depth.astype(np.min_scalar_type(int(depth.max(initial=0)))), kind="stable")
    opened = np.where(opens, np.cumsum(opens) - 1, NOBODY)[by_depth]
    # The ends that lead to depth 0 come first; the first edge of any other depth is a start.
    latest = np.maximum.accumulate(np.where(opened != NOBODY, np.arange(opened.size), 0))
    owner = np.empty_like(opened)
    owner[by_depth] = opened[latest]
    return owner


def _of_crossing(trace: Trace, rows: IntColumn) -> _Tree:
    starts: list[int] = []
    owners: list[int] = []
    parent: list[int] = []
    open_rows: list[tuple[int, int]] = []
    # 0.7 µs a row (25,000 operator rows: 17 ms): a stack of rows that cross has no vectorised form.
    for row, start, end in zip(rows.tolist(), trace.start_ns[rows].tolist(), trace.ends(rows).tolist(), strict=True):
        _close(open_rows, start, starts, owners)
        parent.append(open_rows[-1][0] if open_rows else NOBODY)
        open_rows.append((row, end))
        starts.append(start)
        owners.append(row)
    _close(open_rows, None, starts, owners)
    return Innermost(_column(starts), _column(owners)), _column(parent)


def _close(open_rows: list[tuple[int, int]], until: int | None, starts: list[int], owners: list[int]) -> None:
    """Ends the rows that are over by `until` (all of them for None) and gives the time back to the row around."""
    while open_rows and (until is None or open_rows[-1][1] <= until):
        _, end = open_rows.pop()
        while open_rows and open_rows[-1][1] <= end:
            open_rows.pop()
        starts.append(end)
        owners.append(open_rows[-1][0] if open_rows else NOBODY)


def _column(values: list[int]) -> IntColumn:
    return np.asarray(values, dtype=np.int64)
