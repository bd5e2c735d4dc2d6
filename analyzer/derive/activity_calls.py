"""Host work of a step that no kernel needs: driver memory, guards, recording CUDA graphs, waiting for input."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Final, TypeVar

import numpy as np

from analyzer.core.activity import AllocatorCalls, EntryCost, EntryKind, GraphReplays, InputWait
from analyzer.core.graphs import Region
from analyzer.core.intervals import union
from analyzer.core.trace import EventKind, IntColumn
from analyzer.derive.activity_saving import Replay, Stretches
from analyzer.derive.activity_scene import Scene, covered_ns

FREEING: Final = re.compile(r"(?:cuda|hip)Free(?:Host)?(?:_v\d+)?(?:_ptsz)?")
"""Calls that wait for the device before they give memory back (CUDA programming guide, implicit synchronisation)."""

ALLOCATING: Final = re.compile(
    r"(?:cuda|hip)(?:Malloc(?:3D|Array|Async|FromPoolAsync|Host|Managed|Pitch)?|HostAlloc|HostMalloc|HostRegister"
    r"|Free(?:Array|Async|Host)?|HostFree|HostUnregister|MemPoolTrimTo)(?:_v\d+)?(?:_ptsz)?"
    r"|cuMem(?:Alloc|AllocAsync|AllocHost|AllocManaged|Create|Map|SetAccess|Unmap|Release|Free|FreeAsync|FreeHost"
    r"|HostAlloc|PoolTrimTo)(?:_v\d+)?(?:_ptsz)?"
)
"""Calls that take memory from the driver or give it back. A caching allocator makes none in a steady step."""

_CAPTURE: Final = re.compile(r"(?:cuda|hip|cu)StreamBeginCapture\w*")
_INSTANTIATE: Final = re.compile(r"(?:cuda|hip|cu)Graph(?:Instantiate\w*|ExecUpdate\w*)")
_END_CAPTURE: Final = re.compile(r"(?:cuda|hip|cu)StreamEndCapture\w*")
_REPLAY: Final = re.compile(r"(?:cuda|hip|cu)GraphLaunch\w*")
_LOADER: Final = re.compile(r"enumerate\(DataLoader\)#(?P<loader>\w+)\.__next__")

_Key = TypeVar("_Key", bound=Hashable)


def allocations(scene: Scene, holds: Stretches, replay: Replay) -> tuple[tuple[AllocatorCalls, ...], int]:
    """Calls to the driver's allocator by call and region, longest first; and what all of them cost together."""
    trace = scene.trace
    rows = scene.inside(trace.named(ALLOCATING.fullmatch, EventKind.RUNTIME))
    found = []
    for (call, region), own in _grouped(scene, rows, trace.name).items():
        found.append(
            AllocatorCalls(
                call=call,
                region=region,
                count=own.size / scene.steps,
                host_ns=scene.a_step(scene.host_scale * int(trace.duration_ns[own].sum())),
                cost_ns=_calls_cost(scene, holds, replay, own),
            )
        )
    ordered = sorted(found, key=lambda a: (-a.host_ns, a.call, str(a.region)))
    return tuple(ordered), _calls_cost(scene, holds, replay, rows)


def _calls_cost(scene: Scene, holds: Stretches, replay: Replay, rows: IntColumn) -> int:
    """What these calls cost: those that wait for the device as waits, the others as work of the host."""
    dropped = frozenset(np.flatnonzero(np.isin(holds.row, rows)).tolist())
    others = _stretches(scene, rows[~np.isin(rows, holds.row)])
    return scene.a_step(replay.saved_ns(dropped, others))


def entries(scene: Scene, replay: Replay) -> tuple[tuple[EntryCost, ...], int]:
    """What entering compiled code took, by kind and region, longest first; and what all of it costs together."""
    trace = scene.trace
    found = []
    everything = []
    for kind in EntryKind:
        rows = scene.inside(trace.named(kind.value.__eq__, EventKind.CPU_OP, EventKind.RANGE))
        everything.append(rows)
        for (_, region), own in _grouped(scene, rows, trace.name).items():
            profiled = int(trace.duration_ns[own].sum())
            found.append(
                EntryCost(
                    kind=kind,
                    region=region,
                    count=own.size / scene.steps,
                    profiled_ns=scene.a_step(profiled),
                    host_ns=scene.a_step(scene.host_scale * profiled),
                    cost_ns=_cost(scene, replay, _stretches(scene, own)),
                )
            )
    ordered = sorted(found, key=lambda e: (-e.host_ns, e.kind.value, str(e.region)))
    return tuple(ordered), _cost(scene, replay, _stretches(scene, np.sort(np.concatenate(everything))))


def inputs(scene: Scene, replay: Replay) -> tuple[InputWait, ...]:
    """Waiting for the next batch of a torch DataLoader, by loader and region, longest first."""
    trace = scene.trace
    rows = scene.inside(trace.named(_LOADER.fullmatch, EventKind.CPU_OP, EventKind.RANGE))
    found = []
    for (loader, region), own in _grouped(scene, rows, lambda row: _loader(trace.name(row))).items():
        stretches = _stretches(scene, own)
        whole = int((stretches.end_ns - stretches.start_ns).sum())
        busy = int(covered_ns(scene.busy, stretches.start_ns, stretches.end_ns).sum())
        idle = None if scene.attribution.is_host else scene.a_step(scene.host_scale * (whole - busy))
        found.append(
            InputWait(
                loader=loader,
                region=region,
                count=own.size / scene.steps,
                host_ns=scene.a_step(scene.host_scale * whole),
                idle_ns=idle,
                cost_ns=_cost(scene, replay, stretches),
            )
        )
    return tuple(sorted(found, key=lambda i: (-i.host_ns, i.loader, str(i.region))))


def graph_replays(scene: Scene, replay: Replay) -> GraphReplays | None:
    """CUDA graphs launched and recorded in the steps; None where there was neither."""
    trace = scene.trace
    launched = scene.inside(trace.named(_REPLAY.fullmatch, EventKind.LAUNCH, EventKind.RUNTIME))
    begun = scene.inside(trace.named(_CAPTURE.fullmatch, EventKind.RUNTIME))
    if not launched.size and not begun.size:
        return None
    captured = _captures(scene, begun)
    whole = int((captured.end_ns - captured.start_ns).sum())
    regions = scene.regions_of(begun)
    return GraphReplays(
        launches=launched.size / scene.steps,
        captures=begun.size / scene.steps,
        capture_ns=scene.a_step(scene.host_scale * whole),
        cost_ns=_cost(scene, replay, captured),
        region=max(sorted(set(regions), key=str), key=regions.count) if regions else None,
        maker="HIP" if trace.name(int((begun if begun.size else launched)[0])).startswith("hip") else "CUDA",
    )


def _captures(scene: Scene, begun: IntColumn) -> Stretches:
    """Each capture from its begin to the end of what made it a graph that can run: of its thread, before the next."""
    trace = scene.trace
    done = trace.named(_INSTANTIATE.fullmatch, EventKind.RUNTIME)
    ended = trace.named(_END_CAPTURE.fullmatch, EventKind.RUNTIME)
    ends = []
    for i, row in enumerate(begun.tolist()):
        start, thread = int(trace.start_ns[row]), int(trace.thread[row])
        later = [r for r in begun[i + 1 :].tolist() if trace.thread[r] == thread]
        limit = int(trace.start_ns[later[0]]) if later else int(trace.end_ns.max())
        end = int(trace.ends(row))
        for rows in (done, ended):
            own = rows[(trace.thread[rows] == thread) & (trace.start_ns[rows] > start) & (trace.start_ns[rows] < limit)]
            end = max(end, int(trace.ends(own[0]))) if own.size else end
        ends.append(end)
    return Stretches(begun, trace.start_ns[begun], np.asarray(ends, dtype=np.int64))


def _cost(scene: Scene, replay: Replay, work: Stretches) -> int:
    """What a step would be shorter by without this work of the host. On a CPU nothing runs beside it."""
    if scene.attribution.is_host:
        return scene.a_step(scene.host_scale * union(work.start_ns, work.end_ns).length_ns)
    return scene.a_step(replay.saved_ns(work=work))


def _grouped(scene: Scene, rows: IntColumn, key: Callable[[int], _Key]) -> dict[tuple[_Key, Region], IntColumn]:
    groups: dict[tuple[_Key, Region], list[int]] = defaultdict(list)
    for row, region in zip(rows.tolist(), scene.regions_of(rows), strict=True):
        groups[key(row), region].append(row)
    return {where: np.asarray(own, dtype=np.int64) for where, own in groups.items()}


def _stretches(scene: Scene, rows: IntColumn) -> Stretches:
    return Stretches(rows, scene.trace.start_ns[rows], scene.trace.ends(rows))


def _loader(name: str) -> str:
    found = _LOADER.fullmatch(name)
    return found["loader"] if found else name
