"""Puts the parts of a file together as the columns of a `Trace`, in an order that the file's own leaves no mark on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import DEVICE_KINDS, BoolColumn, IntColumn
from collectors.readers.columns import COLUMNS, Part
from collectors.readers.details import DetailText
from collectors.readers.events import Scalar
from collectors.readers.exact import INT64_MAX, integer
from collectors.readers.scalars import ABSENT
from collectors.readers.tables import NO_ID, Tables, ThreadKey

_Text = TypeVar("_Text", str, DetailText)

_TIE_BREAKERS: Final = (
    "external", "detail", "name", "correlation", "stream", "device", "thread", "kind", "duration", "start",
)  # fmt: skip
"""Rows of one start and duration come in an order of their own, so that shuffling a file changes nothing."""


FAR_NS: Final = 3600 * 10**9
"""An hour: no trace is that long."""


@dataclass(slots=True)
class Gathered:
    """The parts so far, with their tables merged into one. Private to the reader."""

    tables: Tables = field(default_factory=Tables)
    columns: dict[str, list[NDArray[np.signedinteger]]] = field(default_factory=lambda: {c: [] for c in COLUMNS})
    left_out: Counter[str] = field(default_factory=Counter)
    mended: Counter[str] = field(default_factory=Counter)
    first_byte: dict[str, int] = field(default_factory=dict)
    unread_device_rows: int = 0
    rows: int = 0
    lost_bytes: int = 0

    def add(self, parts: Iterable[Part]) -> None:
        """Takes in parts of one table: this one's own, or another's whose words are then looked up here."""
        numbers: dict[str, NDArray[np.int32]] = {}
        for part in parts:
            if part.tables is not self.tables and not numbers:
                numbers = self._numbers(part.tables)
            self._add(part, numbers)

    def _numbers(self, other: Tables) -> dict[str, NDArray[np.int32]]:
        """For each number in another's tables, the number here."""
        return {
            "name": self.tables.names.of(tuple(other.names)),
            "thread": self.tables.threads.of(tuple(other.threads)),
            "detail": self.tables.details.of(other.details.told()),
        }

    def _add(self, part: Part, numbers: dict[str, NDArray[np.int32]]) -> None:
        for column, values in part.columns.items():
            own = numbers.get(column)
            self.columns[column].append(values if own is None else _through(own, values))
        self.left_out.update(part.left_out)
        self.mended.update(part.mended)
        self.unread_device_rows += part.unread_device_rows
        self.rows += int(part.columns["start"].size)


@dataclass(frozen=True, slots=True)
class Table:
    """Sorted columns, 64 bits wide and without a missing value's mark where there is a mask, and their tables."""

    column: dict[str, IntColumn]
    mask: dict[str, BoolColumn]
    names: tuple[str, ...]
    details: tuple[DetailText, ...]
    first_ns: int


def assemble(gathered: Gathered) -> Table:
    """The table of all parts; it empties `gathered` as it goes, so that only one column is there twice."""
    tables = gathered.tables
    names, name_rank = _ranked(tuple(tables.names))
    details, detail_rank = _ranked(tables.details.told())
    ranks: dict[str, NDArray[np.signedinteger]] = {
        "name": name_rank,
        "detail": detail_rank,
        "thread": _thread_numbers(tuple(tables.threads)),
    }
    compact = {name: _concatenated(gathered, name) for name in COLUMNS}
    for name, rank in ranks.items():
        compact[name] = _through(rank, compact[name])
    _drop_unplaced(compact, gathered)
    start = compact["start"]
    if start.size and int((start + compact["duration"]).max()) - int(start.min()) > INT64_MAX:
        # Stamps near both ends of 64 bits: no difference of theirs fits. The few that are off are someone's garbage.
        _clip(start, compact["duration"], gathered)
    order = _order(compact)
    column, mask = {}, {}
    for name in COLUMNS:
        values = compact.pop(name)[order]
        missing = NO_ID if name in ("detail", "thread") else ABSENT
        if name in ("detail", "thread", "stream", "correlation", "external"):
            mask[name] = values != missing
            values = np.where(mask[name], values, 0)
        column[name] = values.astype(np.int64)
    first_ns = int(column["start"][0]) if order.size else 0
    column["start"] -= first_ns
    return Table(column, mask, names, details, first_ns)


def _drop_unplaced(compact: dict[str, NDArray[np.signedinteger]], gathered: Gathered) -> None:
    """Rows of time 0 and no length among stamps of today were never timed (kineto#109): the span would be 50 years."""
    start = compact["start"]
    never = (start == 0) & (compact["duration"] == 0)
    if never.any() and not never.all() and int(start[~never].min()) > FAR_NS:
        gathered.left_out["rows of time 0 and no duration, which were never timed,"] += int(never.sum())
        for name, values in compact.items():
            compact[name] = values[~never]


def _clip(start: NDArray[np.signedinteger], duration: NDArray[np.signedinteger], gathered: Gathered) -> None:
    middle = int(np.median(start.astype(np.float64)))
    off = np.abs(start.astype(np.float64) - middle) > INT64_MAX / 4
    start[off], duration[off] = middle, 0
    gathered.mended["starts centuries away from the others were moved to the middle and last nothing"] += int(off.sum())


def _through(ids: NDArray[np.signedinteger], values: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """`ids[values]`, with NO_ID kept."""
    if not ids.size:
        return values
    return np.where(values == NO_ID, NO_ID, ids[values]).astype(ids.dtype, copy=False)


def _concatenated(gathered: Gathered, name: str) -> NDArray[np.signedinteger]:
    pieces = gathered.columns.pop(name)
    return np.concatenate(pieces) if pieces else np.zeros(0, dtype=COLUMNS[name])


def _order(compact: dict[str, NDArray[np.signedinteger]]) -> IntColumn:
    """By start, then the longer first, then by `_TIE_BREAKERS`. Only rows of equal start are compared any further."""
    start = compact["start"]
    order = np.argsort(start, kind="stable")
    same = np.flatnonzero(np.diff(start[order]) == 0)
    if same.size:
        tied = np.zeros(order.size, dtype=np.bool_)
        tied[same], tied[same + 1] = True, True
        rows = order[tied]
        keys = [-compact[k][rows] if k == "duration" else compact[k][rows] for k in _TIE_BREAKERS]
        order[tied] = rows[np.lexsort(keys)]
    return order.astype(np.int64, copy=False)


def _ranked(texts: tuple[_Text, ...]) -> tuple[tuple[_Text, ...], NDArray[np.int32]]:
    """The texts in their own order, and for each of them its place there."""
    order = sorted(range(len(texts)), key=texts.__getitem__)
    rank = np.empty(len(texts), dtype=np.int32)
    rank[order] = np.arange(len(texts), dtype=np.int32)
    return tuple(texts[i] for i in order), rank


def _thread_numbers(threads: tuple[ThreadKey, ...]) -> NDArray[np.int64]:
    """For each id the file's own thread number where it names one thread alone; numbers above them for the rest."""
    keys = sorted(threads, key=lambda key: (str(key[0]), str(key[1])))
    numbers: dict[ThreadKey, int] = {}
    taken: set[int] = set()
    for key in keys:
        number = _number(key[1])
        # Not NO_ID, and far enough below the largest that numbers above it are left.
        if number is not None and number not in taken and 0 <= number < INT64_MAX // 2:
            numbers[key] = number
            taken.add(number)
    free = max(taken, default=-1) + 1
    for key in keys:
        if key not in numbers:
            numbers[key] = free
            free += 1
    return np.asarray([numbers[key] for key in threads], dtype=np.int64)


def _number(value: Scalar) -> int | None:
    return integer(str(value).encode("utf-8", "replace")) if isinstance(value, int | str) else None


def device_rows(table: Table) -> IntColumn:
    """The device number of each row that a device worked on."""
    return table.column["device"][np.isin(table.column["kind"], DEVICE_KINDS)]
