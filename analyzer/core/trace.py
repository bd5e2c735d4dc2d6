"""What was recorded: columns of events, nothing derived."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.trace_facts import TraceFacts

IntColumn = NDArray[np.int64]
BoolColumn = NDArray[np.bool_]


RANGE_PREFIX: Final = "graphbound::"
"""What our recorder puts before the name of its own ranges: a call of a graph lies inside one of this and its key."""

PREPARE_RANGE: Final = f"{RANGE_PREFIX}prepare"
"""Around what the recorder does between steps, putting inputs back: ours, and no part of any step."""

ADDED_CATEGORY: Final = "Trace"
"""The category of rows that an export of ours adds to a recording: verdicts and gaps. It is kineto's own for its bar
over the whole recording, so that every reader of its files takes them for no event of the program.
"""


class EventKind(IntEnum):
    """What a row is, whatever word the dialect has for it."""

    OTHER = 0
    CPU_OP = 1
    """An operator on the host: `aten::mm`, or the row of a Triton kernel's Python call."""
    LAUNCH = 2
    """A runtime or driver call that starts device work: a kernel, a graph, a copy, a memset."""
    RUNTIME = 3
    """Any other runtime or driver call."""
    KERNEL = 4
    COPY = 5
    """A copy done by the device."""
    MEMSET = 6
    RANGE = 7
    """A range the program named: `record_function`, `ProfilerStep#N`, our own region ranges."""
    DEVICE_RANGE = 8
    """The shadow of a range on a device stream (`gpu_user_annotation`)."""
    SYNC = 9
    """The host waits: cudaDeviceSynchronize, cudaStreamSynchronize, cudaEventSynchronize."""
    PYTHON = 10
    WAIT = 11
    """What the device's own recorder says of a wait (`cuda_sync`): which stream, or the host, waits for what. No work,
    and no time of a thread beside that of the call that waits.
    """


@dataclass(frozen=True, slots=True)
class Collective:
    """What a collective's row says of the message. `ranks` is None where the file has cut the list short, too."""

    name: str
    dtype: str | None = None
    elements_in: int | None = None
    elements_out: int | None = None
    group: str | None = None
    group_size: int | None = None
    ranks: tuple[int, ...] | None = None
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class EventWait:
    """The event that a wait is for: `stream` is where it was recorded, `record` the correlation id of the call that
    recorded it. None where the recorder lost track of that call.
    """

    stream: int | None = None
    record: int | None = None


DEVICE_KINDS = (EventKind.KERNEL, EventKind.COPY, EventKind.MEMSET)


@dataclass(frozen=True, slots=True)
class OpDetail:
    """What an operator or kernel row says of itself. Empty and None where the trace does not.

    `shapes`, `strides` and `dtypes` run over the inputs; a non-tensor input has an empty shape and its type as
    text (`Scalar`, `ScalarList`). `values` are the concrete non-tensor inputs as text. `lists` are the shapes inside
    each tensor list, empty for any other input; a trace does not say what type its tensors have.
    """

    shapes: tuple[tuple[int, ...], ...] = ()
    strides: tuple[tuple[int, ...], ...] = ()
    dtypes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    kernel_file: str | None = None
    kernel_hash: str | None = None
    grid: tuple[int, ...] | None = None
    bytes: int | None = None
    lists: tuple[tuple[tuple[int, ...], ...], ...] = ()
    block: tuple[int, ...] | None = None
    graph: int | None = None
    """The device graph that a kernel was replayed from, where its recorder says it."""
    graph_node: int | None = None
    collective: Collective | None = None
    wait: EventWait | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """`n` events as columns of length `n`, sorted by start.

    Times are integer nanoseconds from the first event; `base_ns` is that event's time on the recorder's clock.
    `thread` is the host thread of a host row; `device` and `stream` belong to device rows. A value whose `has_`
    mask is False was not in the file. `detail_id` indexes `details` where `has_detail`.
    """

    names: tuple[str, ...]
    name_id: IntColumn
    kind: IntColumn
    start_ns: IntColumn
    duration_ns: IntColumn
    thread: IntColumn
    device: IntColumn
    stream: IntColumn
    has_stream: BoolColumn
    correlation: IntColumn
    has_correlation: BoolColumn
    detail_id: IntColumn
    has_detail: BoolColumn
    details: tuple[OpDetail, ...]
    base_ns: int
    device_name: str | None
    notes: tuple[str, ...] = ()
    """What the reader mended or left out, a sentence each, with the number of rows."""
    external_id: IntColumn | None = None
    """A second link between operators and what they started; None in a trace that was not read from a file."""
    has_external_id: BoolColumn | None = None
    facts: TraceFacts = field(default_factory=TraceFacts)

    def __len__(self) -> int:
        return int(self.name_id.size)

    @property
    def end_ns(self) -> IntColumn:
        return self.start_ns + self.duration_ns

    def name(self, row: int) -> str:
        return self.names[int(self.name_id[row])]

    def detail(self, row: int) -> OpDetail | None:
        return self.details[int(self.detail_id[row])] if self.has_detail[row] else None

    def rows(self, *kinds: EventKind) -> IntColumn:
        """The indices of the rows of these kinds, in order of start."""
        return np.flatnonzero(_are(self.kind, kinds)).astype(np.int64, copy=False)

    def are(self, rows: IntColumn, *kinds: EventKind) -> BoolColumn:
        """Which of these rows are of one of these kinds: a tenth of the time of `np.isin`."""
        return _are(self.kind[rows], kinds)

    def named(self, is_wanted: Callable[[str], object], *kinds: EventKind) -> IntColumn:
        """The rows of these kinds whose name is wanted, in order of start. It is asked once of each name."""
        rows = self.rows(*kinds)
        flags = np.fromiter((bool(is_wanted(name)) for name in self.names), dtype=np.bool_, count=len(self.names))
        return rows[flags[self.name_id[rows]]]

    def ends(self, rows: IntColumn) -> IntColumn:
        """`end_ns` of these rows alone."""
        return self.start_ns[rows] + self.duration_ns[rows]


def _are(column: IntColumn, kinds: tuple[EventKind, ...]) -> BoolColumn:
    found = np.zeros(column.size, dtype=np.bool_)
    for kind in kinds:
        found |= column == kind.value
    return found
