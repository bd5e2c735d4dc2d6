"""The rows of a recording as events of a Chrome trace: what was recorded, and how each row of work was counted.

Perfetto leaves out a row that overlaps another of its track without lying inside it (google/perfetto#1656, #4280), as
kernels of one stream do. So the rows of a stream stand on as many tracks as its lanes have levels; rows of the host
stay on their thread, where such overlaps are a fraction of a microsecond of the recorder's own clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.budget import Part
from analyzer.core.trace import DEVICE_KINDS, Collective, EventKind, IntColumn, OpDetail, Trace
from analyzer.core.trace_facts import Vendor
from analyzer.reporting.plain_text import plain
from dashboard.timeline.chrome import args_text, micros, process, text, thread
from dashboard.timeline.lane import LaneKind
from dashboard.timeline.timeline import Group, Timeline

GRAPH_WORD: Final = "Graphbound: graph"
PART_WORD: Final = "Graphbound: counted as"
COUNTED_WORD: Final = "Graphbound: counted ns"
"""The time that the row owns alone. Over all rows, with what the gaps are counted as, they are the window's budget."""

HOST: Final = 2
DEVICES: Final = 10
"""Numbers of processes after the side's first: the host's, and that of the first device."""

_CHUNK: Final = 8_192
_LARGEST_TID: Final = 2**31
"""Perfetto keeps a thread's number in 32 bits."""
_NOT_WORK: Final = -1
_PARTS: Final = tuple(part.value for part in Part)
_ON_DEVICE: Final = (*DEVICE_KINDS, EventKind.DEVICE_RANGE)
_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)
_CATEGORIES: Final[dict[EventKind, str]] = {
    EventKind.OTHER: "other",
    EventKind.CPU_OP: "cpu_op",
    EventKind.KERNEL: "kernel",
    EventKind.COPY: "gpu_memcpy",
    EventKind.MEMSET: "gpu_memset",
    EventKind.RANGE: "user_annotation",
    EventKind.DEVICE_RANGE: "gpu_user_annotation",
    EventKind.PYTHON: "python_function",
    EventKind.WAIT: "cuda_sync",
}
_RUNTIMES: Final[dict[Vendor, str]] = {Vendor.XPU: "xpu_runtime", Vendor.MTIA: "mtia_runtime"}


@dataclass(frozen=True, slots=True)
class Placed:
    """One side in a file: its processes are `first_pid` and up, and `shift_ns` is added to its times."""

    name: str
    timeline: Timeline
    first_pid: int
    shift_ns: int


def row_lines(side: Placed) -> Iterator[str]:
    """The names of its tracks, every row of its trace, and an arrow from each launch to the first row it started."""
    places = _places(side)
    yield from _names(side, places)
    yield from _rows(side, places)
    yield from _arrows(side, places)


def category(kind: EventKind, vendor: Vendor) -> str:
    return _RUNTIMES.get(vendor, "cuda_runtime") if kind in _CALLS else _CATEGORIES[kind]


@dataclass(frozen=True, slots=True)
class _Places:
    """The process and thread of every row of the trace."""

    pid: IntColumn
    tid: IntColumn


def _places(side: Placed) -> _Places:
    trace = side.timeline.recording.trace
    on_device = np.isin(trace.kind, _ON_DEVICE)
    devices = np.unique(trace.device[on_device]) if on_device.any() else np.zeros(0, dtype=np.int64)
    device = np.searchsorted(devices, trace.device)
    tid = np.where(trace.thread < _LARGEST_TID, trace.thread, trace.thread % _LARGEST_TID)
    return _Places(
        np.where(on_device, side.first_pid + DEVICES + device, side.first_pid + HOST),
        np.where(on_device, side.timeline.lane_of_row.astype(np.int64) + 1, tid),
    )


def _names(side: Placed, places: _Places) -> Iterator[str]:
    trace = side.timeline.recording.trace
    for group in side.timeline.groups:
        if group.kind not in (LaneKind.HOST, LaneKind.STREAM):
            continue
        row = int(side.timeline.lanes[group.first].row[0])
        pid = int(places.pid[row])
        is_host = group.kind is LaneKind.HOST
        name = "host" if is_host else f"device {int(trace.device[row])}"
        yield from process(pid, f"{plain(side.name)}: {name}", pid)
        if is_host:
            yield from thread((pid, int(places.tid[row])), group.label, group.first)
        else:
            yield from _levels(group, pid)


def _levels(group: Group, pid: int) -> Iterator[str]:
    for level in range(group.count):
        beside = f", beside it ({level})" if level else ""
        yield from thread((pid, group.first + level + 1), f"{plain(group.label)}{beside}", group.first + level)


def _rows(side: Placed, places: _Places) -> Iterator[str]:
    """A chunk at a time, so that no more of a million lines is ever there. With gaps, arrows and packing 14 µs a row:
    2.8 s and 2 MB of memory for 200,000.
    """
    trace = side.timeline.recording.trace
    names = [text(name) for name in trace.names]
    vendor = trace.facts.vendor
    categories = {int(kind): text(category(kind, vendor)) for kind in EventKind}
    told = _args(side.timeline)
    for first in range(0, len(trace), _CHUNK):
        part = slice(first, first + _CHUNK)
        columns = zip(
            trace.kind[part].tolist(),
            trace.name_id[part].tolist(),
            places.pid[part].tolist(),
            places.tid[part].tolist(),
            (trace.start_ns[part] + side.shift_ns).tolist(),
            trace.duration_ns[part].tolist(),
            told.of(part),
            strict=True,
        )
        for kind, name, pid, tid, start, length, args in columns:
            yield (
                f'{{"ph":"X","cat":{categories[kind]},"name":{names[name]},"pid":{pid},"tid":{tid},'
                f'"ts":{start // 1000}.{start % 1000:03d},"dur":{length // 1000}.{length % 1000:03d},'
                f'"args":{{{args}}}}}'
            )


@dataclass(frozen=True, slots=True)
class _Args:
    """What rows say of themselves: `details` as text by `detail_id`, `work` the number of a row of work, or _NOT_WORK
    for one that is none.
    """

    timeline: Timeline
    details: list[str]
    work: NDArray[np.int32]
    labels: list[str]

    def of(self, part: slice) -> list[str]:
        trace = self.timeline.recording.trace
        pieces: list[list[str]] = [[] for _ in range(len(trace.kind[part]))]
        self._links(trace, part, pieces)
        for at, detail in _known(trace.has_detail[part], trace.detail_id[part]):
            pieces[at].append(self.details[detail])
        on_device = np.isin(trace.kind[part], _ON_DEVICE)
        for at, device in _known(on_device, trace.device[part]):
            pieces[at].append(f'"device":{device}')
        for at, stream in _known(on_device & trace.has_stream[part], trace.stream[part]):
            pieces[at].append(f'"stream":{stream}')
        self._counted(part, pieces)
        # A detail that says nothing is an empty piece.
        return [",".join(filter(None, own)) for own in pieces]

    def _links(self, trace: Trace, part: slice, pieces: list[list[str]]) -> None:
        for at, number in _known(trace.has_correlation[part], trace.correlation[part]):
            pieces[at].append(f'"correlation":{number}')
        if trace.external_id is not None and trace.has_external_id is not None:
            for at, number in _known(trace.has_external_id[part], trace.external_id[part]):
                pieces[at].append(f'"External id":{number}')

    def _counted(self, part: slice, pieces: list[list[str]]) -> None:
        budget = self.timeline.recording.budget
        if budget is None:
            return
        own = self.work[part]
        for at in np.flatnonzero(own != _NOT_WORK).tolist():
            number = int(own[at])
            pieces[at].append(
                f'"{GRAPH_WORD}":{self.labels[int(budget.region_of[number])]},'
                f'"{PART_WORD}":"{_PARTS[int(budget.part_of[number])]}",'
                f'"{COUNTED_WORD}":{int(budget.window.exposed_ns[number])}'
            )


def _args(timeline: Timeline) -> _Args:
    recording = timeline.recording
    work = np.full(len(recording.trace), _NOT_WORK, dtype=np.int32)
    work[recording.attribution.work.row] = np.arange(len(recording.attribution.work), dtype=np.int32)
    labels = [text(plain(label)) for label in timeline.region_labels]
    return _Args(timeline, [args_text(detail_args(one)) for one in recording.trace.details], work, labels)


def _known(mask: NDArray[np.bool_], values: IntColumn) -> Iterator[tuple[int, int]]:
    rows = np.flatnonzero(mask)
    return zip(rows.tolist(), values[rows].tolist(), strict=True)


def detail_args(detail: OpDetail) -> dict[str, Any]:
    """As torch.profiler names them; what is not known is left out."""
    lists = detail.lists or ((),) * len(detail.shapes)
    shapes = [own or shape for shape, own in zip(detail.shapes, lists, strict=False)]
    told: dict[str, Any] = {
        "Input Dims": shapes,
        "Input Strides": detail.strides,
        "Input type": detail.dtypes,
        "Concrete Inputs": detail.values,
        "kernel_file": detail.kernel_file,
        "kernel_hash": detail.kernel_hash,
        "grid": detail.grid,
        "block": detail.block,
        "bytes": detail.bytes,
        "graph id": detail.graph,
        "graph node id": detail.graph_node,
    }
    known = {name: value for name, value in told.items() if value is not None and value != () and value != []}
    return known | (_collective(detail.collective) if detail.collective is not None else {})


def _collective(one: Collective) -> dict[str, Any]:
    told = {
        "Collective name": one.name,
        "dtype": one.dtype,
        "In msg nelems": one.elements_in,
        "Out msg nelems": one.elements_out,
        "Process Group Name": one.group,
        "Group size": one.group_size,
        "Process Group Ranks": one.ranks,
        "Rank": one.rank,
    }
    return {name: value for name, value in told.items() if value is not None}


def _arrows(side: Placed, places: _Places) -> Iterator[str]:
    trace, work = side.timeline.recording.trace, side.timeline.recording.attribution.work
    if side.timeline.recording.attribution.is_host:
        return
    linked = np.flatnonzero(work.has_launch)
    by_start = linked[np.argsort(trace.start_ns[work.row[linked]], kind="stable")]
    launches, first = np.unique(work.launch[by_start], return_index=True)
    for launch, row in zip(launches.tolist(), work.row[by_start[first]].tolist(), strict=True):
        # Numbers of its own for each side: two files count their launches alike.
        number = side.first_pid * 2**32 + launch
        for phase, at in (('"s"', launch), ('"f","bp":"e"', row)):
            start = micros(int(trace.start_ns[at]) + side.shift_ns)
            place = f'"pid":{int(places.pid[at])},"tid":{int(places.tid[at])},"ts":{start}'
            yield f'{{"ph":{phase},"id":{number},"cat":"ac2g","name":"ac2g",{place}}}'
