"""A stretch of rows as compact columns whose numbers point into tables, and what has no place in them, counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace import DEVICE_KINDS, BoolColumn, EventKind, IntColumn
from collectors.readers.arguments import FORMS, Arguments, Told, check, form_number, told
from collectors.readers.events import NO_LINK, Scalar
from collectors.readers.exact import EXACT_US, INT64_MAX, nanosecond_texts, nanoseconds, nanoseconds_of_doubles
from collectors.readers.rows import Rows
from collectors.readers.scalars import ABSENT, doubles, links, number, plain_numbers, whole_numbers
from collectors.readers.tables import NO_ID, Tables

_T = TypeVar("_T")
_HAS_DETAIL: Final = np.isin(np.arange(len(EventKind)), (EventKind.CPU_OP, *DEVICE_KINDS, EventKind.WAIT))
_IS_ON_DEVICE: Final = np.isin(np.arange(len(EventKind)), (*DEVICE_KINDS, EventKind.DEVICE_RANGE, EventKind.WAIT))
"""By kind."""

Counts = dict[str, int]

COLUMNS: Final = {
    "name": np.int32,
    "kind": np.int8,
    "start": np.int64,
    "duration": np.int64,
    "thread": np.int32,
    "device": np.int64,
    "stream": np.int64,
    "correlation": np.int64,
    "external": np.int64,
    "detail": np.int32,
}


@dataclass(slots=True)
class Part:
    """The rows of one stretch: `columns` by name, whose numbers point into `tables`; counts of what else there was."""

    columns: dict[str, NDArray[np.signedinteger]]
    tables: Tables
    left_out: Counts = field(default_factory=dict)
    mended: Counts = field(default_factory=dict)
    unread_device_rows: int = 0


class _Said(NamedTuple):
    """What the rows of one form say of themselves, and which of the stretch's they are."""

    at: IntColumn
    told: Told


def part_of(rows: Rows, tables: Tables, left_out: Counter[str]) -> Part:
    """The part that these rows make, and what was left out with what was before. New words are added to `tables`.

    Raises one of FAILURES where what a row says of itself is not as it should be; no word has been added by then.
    """
    mended = Counter[str]()
    rows, vocabulary = _without_the_whole(rows, tables, left_out)
    start, duration, keep = _times(rows, left_out, mended)
    if not keep.all():
        check(_chosen(rows.args, ~keep))
        rows, vocabulary, start, duration = rows.kept(keep), vocabulary[keep], start[keep], duration[keep]
    said = _said(rows.args, vocabulary, tables)
    name = tables.names.of(rows.name)
    kind = tables.kinds(vocabulary, name)
    columns: dict[str, NDArray[np.signedinteger]] = {
        "name": name,
        "kind": kind,
        "start": start,
        "duration": duration,
        "thread": _threads(rows, ~_IS_ON_DEVICE[kind], tables),
        **_links(said, kind.size, mended),
        **_places(said, kind, rows),
        "detail": _details(said, kind, tables),
    }
    return Part(
        columns={name: columns[name].astype(dtype, copy=False) for name, dtype in COLUMNS.items()},
        tables=tables,
        left_out={what: n for what, n in left_out.items() if n},
        mended={what: n for what, n in mended.items() if n},
        unread_device_rows=_unread(vocabulary, tables),
    )


def _without_the_whole(rows: Rows, tables: Tables, left_out: Counter[str]) -> tuple[Rows, NDArray[np.int32]]:
    """Without the profiler's own bars over the whole recording; and the number of each row's vocabulary."""
    vocabulary = tables.categories.of(rows.cat)
    is_whole = _are(vocabulary, [v.is_whole_recording for v in tables.categories.vocabularies])
    if is_whole is None:
        return rows, vocabulary
    check(_chosen(rows.args, is_whole))
    left_out["bars over the whole recording"] += int(is_whole.sum())
    return rows.kept(~is_whole), vocabulary[~is_whole]


def _said(args: Arguments, vocabulary: NDArray[np.int32], tables: Tables) -> list[_Said]:
    forms = np.asarray([form_number(v.kinds) for v in tables.categories.vocabularies], dtype=np.int8)[vocabulary]
    found = []
    for number_here, form in enumerate(FORMS):
        is_of = forms == number_here
        if is_of.any():
            found.append(_Said(np.flatnonzero(is_of), told(form, _chosen(args, is_of))))
    return found


def _unread(vocabulary: NDArray[np.int32], tables: Tables) -> int:
    """Rows of devices whose words are not known."""
    is_unread = _are(vocabulary, [v.is_unread_device for v in tables.categories.vocabularies])
    return 0 if is_unread is None else int(is_unread.sum())


def _are(vocabulary: NDArray[np.int32], claims: list[bool]) -> BoolColumn | None:
    """Which rows have a vocabulary of which this is claimed; None where no row has, as in most stretches."""
    if not any(claims):
        return None
    found: BoolColumn = np.asarray(claims, dtype=np.bool_)[vocabulary]
    return found if found.any() else None


NO_START: Final = "rows whose start is missing or does not fit 64 bits"
NO_DURATION: Final = "rows without a duration"
ODD_DURATION: Final = "rows whose duration is no number"
NO_END: Final = "rows whose end does not fit 64 bits"
UNTIMED: Final = (NO_START, NO_DURATION, ODD_DURATION, NO_END)
"""Why rows are left out that may be work."""


def _times(rows: Rows, left_out: Counter[str], mended: Counter[str]) -> tuple[IntColumn, IntColumn, BoolColumn]:
    """Start and duration of each row, and which of them have both."""
    start, has_start = nanosecond_texts(rows.ts)
    duration, has_duration = _durations(rows.dur, left_out, has_start)
    left_out[NO_START] += int((~has_start).sum())
    keep = has_start & has_duration & _ends_in_time(start, duration, left_out)
    backward = duration < 0
    if backward.any():
        # A start rounded up and an end rounded down (HTA#317).
        mended["negative durations were read as 0"] += int((backward & keep).sum())
        duration = np.where(backward, 0, duration)
    return start, duration, keep


def _durations(values: Sequence[Scalar], left_out: Counter[str], has_start: BoolColumn) -> tuple[IntColumn, BoolColumn]:
    microseconds = doubles(values)
    if microseconds is not None and np.abs(microseconds).max(initial=0) < EXACT_US:
        return nanoseconds_of_doubles(microseconds), np.ones(len(values), dtype=np.bool_)
    exact = [nanoseconds(str(v).encode()) if v is not None else None for v in values]
    known = np.asarray([v is not None for v in exact], dtype=np.bool_)
    is_absent = np.asarray([v is None for v in values], dtype=np.bool_)
    left_out[NO_DURATION] += int((is_absent & has_start).sum())
    left_out[ODD_DURATION] += int((~known & ~is_absent & has_start).sum())
    return np.asarray([v or 0 for v in exact], dtype=np.int64), known


def _ends_in_time(start: IntColumn, duration: IntColumn, left_out: Counter[str]) -> BoolColumn:
    """Rows whose end fits 64 bits too: sums of hostile times must not wrap round."""
    fits = duration <= INT64_MAX - np.maximum(start, 0)
    left_out[NO_END] += int((~fits).sum())
    return fits


def _threads(rows: Rows, is_host: BoolColumn, tables: Tables) -> NDArray[np.int32]:
    thread = np.full(is_host.size, NO_ID, dtype=np.int32)
    pid, tid = whole_numbers(rows.pid), whole_numbers(rows.tid)
    if pid is None or tid is None:
        thread[is_host] = tables.threads.of(_chosen(zip(rows.pid, rows.tid, strict=True), is_host))
        return thread
    pid, tid = pid[is_host], tid[is_host]
    if pid.size:
        # A thread's rows come one after another. Each run is asked once, as a row's tuple and its hash take 0.2 µs.
        begins = np.flatnonzero(np.diff(pid, prepend=~pid[0]) | np.diff(tid, prepend=~tid[0]))
        runs = tables.threads.of(list(zip(pid[begins].tolist(), tid[begins].tolist(), strict=True)))
        thread[is_host] = np.repeat(runs, np.diff(begins, append=pid.size))
    return thread


def _links(said: list[_Said], size: int, mended: Counter[str]) -> dict[str, IntColumn]:
    correlation, external = (np.full(size, ABSENT, dtype=np.int64) for _ in range(2))
    for at, what in said:
        correlation[at] = links(what.correlation, "correlation ids", mended)
        external[at] = _externals(what, mended)
    return {"correlation": correlation, "external": external}


def _externals(what: Told, mended: Counter[str]) -> IntColumn:
    new, old = links(what.external_id, "external ids", mended), what.old_external_id
    if old.count(NO_LINK) == len(old):
        return new
    return np.where(new != ABSENT, new, links(old, "external ids", mended))


def _places(said: list[_Said], kind: NDArray[np.int8], rows: Rows) -> dict[str, IntColumn]:
    """The device and stream of the rows that are on one."""
    device = np.zeros(kind.size, dtype=np.int64)
    stream = np.full(kind.size, ABSENT, dtype=np.int64)
    for at, what in said:
        is_on = _IS_ON_DEVICE[kind[at]]
        if is_on.any():
            where = at[is_on]
            device[where] = _placed(_chosen(what.device, is_on), where, rows.pid, unknown=0)
            stream[where] = _placed(_chosen(what.stream, is_on), where, rows.tid, unknown=ABSENT)
    return {"device": device, "stream": stream}


def _placed(values: Sequence[Scalar], where: IntColumn, instead: Sequence[Scalar], *, unknown: int) -> IntColumn:
    """What each row says, or what stands `instead` of that in it; `unknown` where neither is a number."""
    plain = plain_numbers(values)
    if plain is not None:
        return plain
    pairs = zip(values, (instead[row] for row in where.tolist()), strict=True)
    return np.asarray([next((n for v in pair if (n := number(v)) is not None), unknown) for pair in pairs], np.int64)


def _details(said: list[_Said], kind: NDArray[np.int8], tables: Tables) -> NDArray[np.int32]:
    detail = np.full(kind.size, NO_ID, dtype=np.int32)
    for at, what in said:
        if what.details:
            has_one = _HAS_DETAIL[kind[at]]
            detail[at[has_one]] = tables.details.of(_chosen(what.details, has_one))
    return detail


def _chosen(values: Iterable[_T], is_chosen: BoolColumn) -> list[_T]:
    return list(compress(values, is_chosen.tolist()))
