"""The kernels of each region by the roof they are under."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.budget import Part
from analyzer.core.device import Device
from analyzer.core.distinct import numbered
from analyzer.core.graphs import Region
from analyzer.core.trace import BoolColumn, EventKind, IntColumn
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import launch_of
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.host_work import has_dispatch
from analyzer.derive.kernel_costs import KernelCosts, detail_ids
from analyzer.derive.python_ops import glue_rows
from analyzer.derive.residency import missed_rereads, resident_bytes, unwritten_bytes
from analyzer.derive.roofline import Anomaly, Kernel, RoofPoint, roof_point

PARTS: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS)

WRONG_PEAK: Final = 1.3
"""Times a peak, from which on the peak is wrong and not the burst fast: peaks are measured sustained, and a kernel
after an idle moment runs at a higher clock (a 4096³ product in TF32: 1.08 times what an H200 sustains)."""


@dataclass(frozen=True, slots=True)
class KernelPart:
    """Kernels of one part in a step: the median of the recorded ones, as a single disturbed step says nothing.

    `ns` counts overlaps twice: it is for shares. `floor_ns` is what would be left if what bounds them were free: the
    other resource's time for COMPUTE and MEMORY, the larger of both for LATENCY; None for UNKNOWN_KERNELS.
    """

    part: Part
    ns: float
    floor_ns: float | None


@dataclass(frozen=True, slots=True)
class RegionKernels:
    """One `KernelPart` for each of PARTS, in that order.

    `dispatch_ns` is the part of the region's busy time in a step that is the dispatch of its operators, on a CPU; 0
    elsewhere. `points` are the kernels of all recorded steps, one by one: `of` says which of the `different` ones each
    is.
    """

    region: Region
    parts: tuple[KernelPart, ...]
    dispatch_ns: float
    notes: tuple[str, ...]
    different: tuple[KernelPoint, ...] = ()
    of: IntColumn = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def points(self) -> tuple[KernelPoint, ...]:
        return tuple(map(self.different.__getitem__, self.of.tolist()))

    @property
    def ns(self) -> float:
        return sum(p.ns for p in self.parts)


def region_kernels(
    attribution: Attribution,
    costs: KernelCosts,
    device: Device,
    allow_tf32: bool | None,
    python_ops: frozenset[str] = frozenset(),
) -> tuple[RegionKernels, ...]:
    """For every region of the profiled pass, copies and memsets left out. `python_ops` are the operators of a user's
    that are known to be written in Python: on a CPU what they do between the operators they call is dispatch.
    """
    work, trace = attribution.work, attribution.trace
    is_kernel = ~trace.are(work.row, EventKind.COPY, EventKind.MEMSET)
    resident = resident_bytes(costs, attribution, device.l2_bytes)
    glue = glue_rows(trace, python_ops) if attribution.is_host else frozenset()
    is_glue = np.isin(work.row, list(glue)) if glue else np.zeros(len(work), dtype=np.bool_)
    told = (*_told(attribution, costs, resident), is_glue.astype(np.int64))
    found = []
    for number, region in enumerate(attribution.regions):
        own = np.flatnonzero(work.has_region & (work.region == number) & is_kernel)
        # 30 µs a kernel, of which many are equal: those of short kernels repeat to the nanosecond.
        first, of = numbered(*(column[own] for column in told))
        different = [
            _judge(attribution, costs, (i, float(resident[i])), device, allow_tf32) for i in own[first].tolist()
        ]
        is_dispatch = is_glue[own[first]].tolist()
        different = [_as_dispatch(j) if is_one else j for j, is_one in zip(different, is_dispatch, strict=True)]
        found.append(_region_kernels(region.region, different, _members(of, work.step[own], attribution)))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Members:
    """The kernels of a region: which of the different ones each is, and in which of so many recorded steps, where
    `is_recorded`.
    """

    of: IntColumn
    step: IntColumn
    is_recorded: BoolColumn
    steps: int

    def median(self, each: NDArray[np.float64]) -> float:
        """Of the steps' sums, of a figure of each kernel; 0.0 without a step."""
        # Added one after another, in the order of the kernels.
        sums = np.bincount(self.step, weights=np.where(self.is_recorded, each, 0.0), minlength=self.steps)
        return float(np.median(sums[: self.steps])) if self.steps else 0.0


def _members(of: IntColumn, step: IntColumn, attribution: Attribution) -> _Members:
    recorded = np.asarray(attribution.recorded_steps, dtype=np.int64)
    return _Members(of, np.searchsorted(recorded, step), np.isin(step, recorded), recorded.size)


def _region_kernels(region: Region, different: Sequence[_Judged], members: _Members) -> RegionKernels:
    of = members.of

    def column(figures: Iterable[float]) -> NDArray[np.float64]:
        return np.asarray(list(figures), dtype=np.float64)[of]

    points = tuple(_point(judged) for judged in different)
    part_of = np.asarray([PARTS.index(point.counts_to) for point in points], dtype=np.int64)[of]
    work_ns = column(judged.work_ns for judged in different)
    floor_ns = column(_floor_ns(judged, point.counts_to) for judged, point in zip(different, points, strict=True))
    parts = []
    for number, part in enumerate(PARTS):
        own_ns, own_floor_ns = (members.median(np.where(part_of == number, ns, 0.0)) for ns in (work_ns, floor_ns))
        parts.append(KernelPart(part, own_ns, None if part is Part.UNKNOWN_KERNELS else own_floor_ns))
    counts = np.bincount(of, minlength=len(different)).tolist()
    return RegionKernels(
        region=region,
        parts=tuple(parts),
        dispatch_ns=members.median(column(judged.dispatch_ns for judged in different)),
        notes=_notes(zip((judged.point for judged in different), counts, strict=True)),
        different=points,
        of=of,
    )


def _told(attribution: Attribution, costs: KernelCosts, resident: NDArray[np.float64]) -> tuple[IntColumn, ...]:
    """All that is known of each kernel, in columns: those that are equal in them are judged alike."""
    work, trace = attribution.work, attribution.trace
    return (
        trace.name_id[work.row],
        detail_ids(trace, work.row),
        trace.device[work.row],
        work.own_ns,
        work.step,
        costs.number,
        costs.shares.view(np.int64),
        resident.view(np.int64),
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """One kernel: its time, that without its dispatch, and its place under the roofs. `is_counted` is whether
    hardware counted the instructions of its kind, `is_fed` that of its cost.
    """

    step: int
    is_counted: bool
    is_fed: bool
    is_on_gpu: bool
    own_ns: int
    work_ns: int
    dispatch_ns: int
    point: RoofPoint
    name: str


def _judge(
    attribution: Attribution, costs: KernelCosts, place: tuple[int, float], device: Device, allow_tf32: bool | None
) -> _Judged:
    index, held = place
    work = attribution.work
    name, own_ns = attribution.trace.name(int(work.row[index])), int(work.own_ns[index])
    cost = costs.cost(index)
    kernel = _kernel(name, own_ns, cost, (float(costs.shares[index]), held), device)
    if kernel.instructions is None and not kernel.flops:
        # What is counted needs no other reason to wait.
        kernel = replace(kernel, occupied_share=_occupied_share(attribution, int(work.row[index])))
    dispatch = device.empty_op_ns if attribution.is_host and has_dispatch(name) else None
    dispatch_ns = min(own_ns, round(dispatch or 0.0))
    point = roof_point(kernel, device, allow_tf32)
    is_counted = cost is not None and cost.is_counted
    return _Judged(
        step=int(work.step[index]),
        is_counted=is_counted,
        is_fed=cost is not None and cost.is_fed,
        is_on_gpu=device.kind == "cuda",
        own_ns=own_ns,
        work_ns=own_ns - dispatch_ns,
        dispatch_ns=dispatch_ns,
        point=point,
        name=name,
    )


def _occupied_share(attribution: Attribution, row: int) -> float | None:
    """The share of its device's multiprocessors that a kernel has a block for; None where either number is not told."""
    trace = attribution.trace
    launch = launch_of(trace.detail(row))
    device = next((d for d in trace.facts.devices if d.number == int(trace.device[row])), None)
    if attribution.is_host or launch is None or device is None or not device.multiprocessors:
        return None
    return min(1.0, launch.blocks / device.multiprocessors)


def _as_dispatch(judged: _Judged) -> _Judged:
    """An operator that does nothing of its own but calling others."""
    return replace(judged, work_ns=0, dispatch_ns=judged.own_ns)


def _point(judged: _Judged) -> KernelPoint:
    point = judged.point
    is_over = point.anomaly is Anomaly.ARITHMETIC and (point.compute_ns or 0.0) > WRONG_PEAK * judged.work_ns
    compute_ns, memory_ns = (
        None if share is None else share * judged.own_ns for share in (point.compute_share, point.memory_share)
    )
    is_counted = point.is_rough and judged.is_counted
    return KernelPoint(
        point.part,
        judged.work_ns,
        compute_ns,
        memory_ns,
        point.is_rough,
        is_over,
        is_counted,
        judged.name,
        again_ns=point.again_share * judged.own_ns,
        near_ns=point.near_share * judged.own_ns,
        is_on_gpu=judged.is_on_gpu,
        is_fed=judged.is_fed,
    )


def _kernel(name: str, own_ns: int, cost: Cost | None, part: tuple[float, float], device: Device) -> Kernel:
    """`part` is the kernel's share of the cost, and the bytes that the cache may have held of it."""
    share, held = part
    if cost is None:
        return Kernel(name, own_ns, None, None, None)
    again = missed_rereads(cost, device)
    return Kernel(
        name=name,
        duration_ns=own_ns,
        flops=None if cost.flops is None else cost.flops * share,
        bytes=(cost.bytes + again) * share,
        dtype=cost.dtype,
        instructions=None if cost.instructions is None else cost.instructions * share,
        is_floor=cost.is_floor,
        read_bytes=(sum(cost.reads) + again) * share if cost.writes else None,
        resident_bytes=held,
        crossing_bytes=None if cost.crossings is None else cost.crossings * share,
        near_slots=(cost.near or 0) * share,
        issued_slots=(cost.issued or 0) * share,
        masked_flops=cost.masked_flops * share,
        again_bytes=cost.again * share,
        unwritten_bytes=unwritten_bytes(cost, device, share),
    )


def _floor_ns(judged: _Judged, part: Part) -> float:
    """`part` is what its time is counted to."""
    point = judged.point
    if point.compute_ns is None or point.memory_ns is None:
        # Known to be about as short as an empty kernel, and nothing else: removing it all is the bound.
        return 0.0
    near_ns = point.near_share * judged.own_ns
    # Shared memory that feeds the arithmetic is free with it, and left with it.
    times = (max(point.compute_ns, near_ns if judged.is_fed else 0.0), point.memory_ns)
    if part is Part.LATENCY:
        return min(float(judged.work_ns), max(*times, near_ns))
    # Where shared memory bounds that feeds nothing, the other two are left.
    is_near = part is Part.MEMORY and near_ns > max(times)
    return min(float(judged.work_ns), max(times) if is_near else min(times))


def _notes(points: Iterable[tuple[RoofPoint, int]]) -> tuple[str, ...]:
    """`points` with how many kernels each stands for."""
    over = Counter[Anomaly]()
    for point, count in points:
        if point.anomaly is not None:
            over[point.anomaly] += count
    # Without a verb: counts of several regions are added up in one note.
    return tuple(f"{over[a]} of the kernel rows at over 105 % {a.value}" for a in Anomaly if over[a])
