"""The walk from the end of a window back along what each thing waited for. Sums nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from analyzer.core.critical_path import PathKind, PathSegment
from analyzer.core.trace import EventKind, IntColumn, Trace
from analyzer.derive.collectives import is_collective
from analyzer.derive.nesting import NOBODY
from analyzer.derive.path_device import SHORTEST_LAUNCH_NS, DeviceQueues
from analyzer.derive.path_host import HostTurns, waited_for

_TURNS: Final = 4
"""Steps of a walk for each row that it may pass: more would be a circle, which clocks that disagree might make."""

_LONGEST_NS: Final = 2_000_000
"""Of a launch delay, a gap or a wait's return. A choice: the first launch of a graph of 700 kernels took 1.0 ms on a
B300. Whatever takes longer is held up by something that was not recorded: work of the device that the profiler lost
(64 ms within a replay on an A100, 149 ms before a copy on an MI300), or the profiler itself."""

_HOST, _LAUNCH, _GAP, _SYNC, _UNKNOWN = (
    PathKind.HOST, PathKind.LAUNCH, PathKind.GAP, PathKind.SYNC, PathKind.UNKNOWN,
)  # fmt: skip
"""By name, since asking the class for a member takes as long as half a step (Python 3.11)."""

_DELAYS: Final = (_LAUNCH, _GAP, _SYNC)


@dataclass(frozen=True, slots=True)
class Ground:
    """What is walked on: the window from `start_ns` to `end_ns`, back from `last`, a row of `device`, or else from the
    thread `main`.
    """

    trace: Trace
    device: DeviceQueues
    turns: tuple[HostTurns, ...]
    main: int
    start_ns: int
    end_ns: int
    last: int | None


def walk(ground: Ground) -> tuple[PathSegment, ...]:
    """The segments of the path, latest first, from the window's end to its begin without a hole or an overlap."""
    path = _Path(ground.start_ns, ground.end_ns)
    turns = {own.thread: own for own in ground.turns}
    # Where it was since it last got on: waits that go round in a circle, as clocks that disagree can make them, or
    # files that lie, never do.
    since_ns, seen = path.now_ns, set[_Device | _Host]()
    columns = _columns(ground)
    at: _Device | _Host | None = _Device(ground.last) if ground.last is not None else _Host(ground.main)
    # 10 µs a step, of which there are no more than a few for each row on the path.
    for _ in range(_TURNS * (len(ground.trace) + 1)):
        if path.now_ns <= ground.start_ns or at is None:
            break
        if path.now_ns < since_ns:
            since_ns = path.now_ns
            seen.clear()
        if at in seen:
            break
        seen.add(at)
        at = (
            _from_device(ground, columns, path, at.row)
            if isinstance(at, _Device)
            else _from_host(ground, path, at.thread, turns.get(at.thread))
        )
    path.lead(_UNKNOWN, ground.start_ns)
    return tuple(path.segments)


@dataclass(frozen=True, slots=True)
class _Device:
    row: int


@dataclass(frozen=True, slots=True)
class _Columns:
    """Of `DeviceQueues` what each step asks for, as lists: an item of an array takes ten times as long."""

    row: list[int]
    start_ns: list[int]
    end_ns: list[int]
    launched_ns: list[int]
    previous: list[int]
    has_launch: list[bool]
    may_be_released: list[bool]
    kind: list[PathKind]


def _columns(ground: Ground) -> _Columns:
    device = ground.device
    return _Columns(
        row=device.row.tolist(),
        start_ns=device.start_ns.tolist(),
        end_ns=device.end_ns.tolist(),
        launched_ns=device.launched_ns.tolist(),
        previous=device.previous.tolist(),
        has_launch=device.has_launch.tolist(),
        may_be_released=(device.is_held | device.is_branch | (device.told.released_by != NOBODY)).tolist(),
        kind=_kinds(ground.trace, device.row),
    )


@dataclass(frozen=True, slots=True)
class _Host:
    thread: int


@dataclass(slots=True)
class _Path:
    """The path so far: everything after `now_ns`, never before `start_ns`."""

    start_ns: int
    now_ns: int
    segments: list[PathSegment] = field(default_factory=list)

    def lead(self, kind: PathKind, to_ns: int, row: int | None = None, thread: int | None = None) -> None:
        """Back to this moment through a thing of this kind; nothing where the path is there already."""
        to_ns = max(to_ns, self.start_ns)
        if to_ns < self.now_ns:
            if kind in _DELAYS and self.now_ns - to_ns > _LONGEST_NS:
                kind = _UNKNOWN
            self.segments.append(PathSegment(kind, to_ns, self.now_ns, row, thread))
            self.now_ns = to_ns


def _from_device(ground: Ground, columns: _Columns, path: _Path, row: int) -> _Device | _Host | None:
    device = ground.device
    start, launched, previous = columns.start_ns[row], columns.launched_ns[row], columns.previous[row]
    path.lead(columns.kind[row], start, columns.row[row])
    if not columns.has_launch[row]:
        if previous == NOBODY:
            return None
        is_known = bool(device.is_queued[row]) or start - columns.end_ns[previous] < SHORTEST_LAUNCH_NS
        path.lead(_GAP if is_known else _UNKNOWN, columns.end_ns[previous])
        return _Device(previous)
    held_by = [previous] if previous != NOBODY and columns.end_ns[previous] > launched else []
    other = device.releaser(row) if columns.may_be_released[row] else None
    held_by += [other] if other is not None else []
    if held_by:
        by = max(held_by, key=columns.end_ns.__getitem__)
        path.lead(_GAP, columns.end_ns[by])
        return _Device(by)
    path.lead(_LAUNCH, launched, int(device.launch[row]))
    return _Host(int(device.launch_thread[row]))


def _from_host(ground: Ground, path: _Path, thread: int, turns: HostTurns | None) -> _Device | _Host | None:
    """To the last wait that was one, or to the thread that handed over, whichever is later; else to the begin."""
    if turns is None:
        path.lead(_HOST, path.start_ns, thread=thread)
        return None
    wait = int(np.searchsorted(turns.wait_end_ns, path.now_ns, side="right")) - 1
    change = int(np.searchsorted(turns.handover_ns, path.now_ns, side="right")) - 1
    changed_ns = int(turns.handover_ns[change]) if change >= 0 else path.start_ns
    while wait >= 0 and turns.wait_end_ns[wait] > max(changed_ns, path.start_ns):
        call = int(turns.wait[wait])
        found = waited_for(ground.trace, ground.device, call)
        if found is not None:
            path.lead(_HOST, int(turns.wait_end_ns[wait]), thread=thread)
            path.lead(_SYNC, int(ground.device.end_ns[found]), call)
            return _Device(found)
        wait -= 1
    path.lead(_HOST, changed_ns, thread=thread)
    return _Host(int(turns.handover_to[change])) if change >= 0 else None


def _kinds(trace: Trace, rows: IntColumn) -> list[PathKind]:
    collective = np.asarray([is_collective(name) for name in trace.names] or [False], dtype=np.bool_)
    is_copy = trace.are(rows, EventKind.COPY, EventKind.MEMSET)
    codes = np.where(is_copy, 2, np.where(collective[trace.name_id[rows]], 1, 0))
    kinds = (PathKind.COMPUTE, PathKind.COMMUNICATION, PathKind.COPY)
    return [kinds[code] for code in codes.tolist()]
