"""Kernels against the roofs of their device: by name and graph, an average step of each recording. Draws nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device
from analyzer.core.distinct import numbered
from analyzer.core.graphs import Graph, GraphKey, under_plan
from analyzer.core.trace import BoolColumn, EventKind, IntColumn
from analyzer.derive.costs.cost import Cost
from analyzer.derive.doubt import KernelPoint
from analyzer.derive.kernel_costs import KernelCosts
from analyzer.derive.reached_rates import OPERATIONS_A_MULTIPLY_ADD
from analyzer.derive.region_kernels import region_kernels
from analyzer.derive.residency import missed_rereads, resident_bytes
from analyzer.derive.roofline import Anomaly, Kernel, matrix_dtype, roof_point
from analyzer.derive.told_costs import Priced, told_costs
from analyzer.derive.window import COLLECTIVES
from dashboard.timeline.recording import GRAPH_KINDS, GraphNames, Recording, name_graphs

_BOUNDS: Final = (*((part, False) for part in Part), (Part.MEMORY, True))
"""What may bound a kernel, and whether that is shared memory or the first cache."""

MOST_UNKNOWN_NAMES: Final = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """All kernels of one name in one graph whose traffic is known. `calls` and `ns` are those of a step, or of the
    whole recording; `flops` and `bytes` those of an average call.

    `flops` is None where no arithmetic is counted, as of a copy; `is_rough` where they are instructions counted by
    kind, to a factor of two. `unit` is the peak they run against, None where that is not known (float32 or TF32).
    `part` is what bounds most of its time, as counters have it, `is_on_chip` where that is shared memory or the first
    cache. `series` numbers the graphs, None outside of any.
    """

    name: str
    graph: GraphKey
    graph_label: str
    series: int | None
    calls: float
    ns: float
    flops: float | None
    bytes: float
    is_rough: bool
    is_floor: bool
    unit: str | None
    part: Part
    is_on_chip: bool
    memory_share: float | None
    compute_share: float | None
    anomaly: Anomaly | None

    @property
    def intensity(self) -> float | None:
        """Operations a byte."""
        return None if self.flops is None else self.flops / self.bytes

    @property
    def flops_per_s(self) -> float | None:
        return None if self.flops is None else self.flops * self.calls / self.ns * 1e9

    @property
    def bytes_per_s(self) -> float:
        return self.bytes * self.calls / self.ns * 1e9


@dataclass(frozen=True, slots=True)
class NamedTime:
    name: str
    ns: float


@dataclass(frozen=True, slots=True)
class RoofSide:
    """One recording. `steps` 0: none is marked, and times are of all of it, else of an average step.

    `kernel_ns` is the time of all kernels, one by one; that of `marks`, the longest first, and `unknown_ns` add up to
    it. `unknown` are the longest of those. Copies, collectives and kernels outside of the steps stand beside it.
    """

    name: str
    steps: int
    is_host: bool
    marks: tuple[Mark, ...]
    kernel_ns: float
    unknown_ns: float
    unknown_calls: float
    unknown: tuple[NamedTime, ...]
    collective_ns: float
    copy_ns: float
    outside_ns: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """`sides` are the recordings that show work of a device, from top to bottom."""

    device: Device
    sides: tuple[RoofSide, ...]
    names: GraphNames


def roofline(
    sides: Sequence[tuple[str, Recording]],
    device: Device,
    graphs: Sequence[Graph] = (),
    labels: Mapping[GraphKey, str] | None = None,
) -> Roofline:
    """`graphs` are what Inductor told of its kernels. Where several recordings are of one model, the first lends its
    costs to the others, which are under its plan and whose replayed kernels have no operators.
    """
    recordings = [recording for _, recording in sides]
    names = name_graphs(recordings, labels or {})
    found = []
    for name, recording in sides:
        if recording.budget is None:
            continue
        costs, first = recording.costs, recordings[0]
        if graphs and recording is first:
            costs = told_costs(_priced(recording), graphs)
        elif graphs:
            costs = told_costs(_priced(recording), under_plan(graphs), _priced(first))
        found.append(_side(_Laid(name, recording, costs, device, names), is_told=bool(graphs)))
    return Roofline(device, tuple(found), names)


@dataclass(frozen=True, slots=True)
class _Laid:
    name: str
    recording: Recording
    costs: KernelCosts
    device: Device
    names: GraphNames


def _priced(recording: Recording) -> Priced:
    return Priced(recording.attribution, recording.costs)


def _side(laid: _Laid, *, is_told: bool) -> RoofSide:
    """`is_told`: the costs are better than those that the recording was judged with."""
    attribution, budget = laid.recording.attribution, laid.recording.budget
    assert budget is not None
    work, trace = attribution.work, attribution.trace
    steps = len(attribution.recorded_steps)
    inside = np.isin(work.step, attribution.recorded_steps) if steps else np.ones(len(work), dtype=np.bool_)
    is_copy = np.isin(trace.kind[work.row], (EventKind.COPY, EventKind.MEMSET))
    is_collective = ~is_copy & (budget.window.rank_of == COLLECTIVES)
    is_kernel = ~is_copy & ~is_collective & (work.own_ns > 0)
    has_bytes = laid.costs.is_known & (laid.costs.bytes > 0)
    many = max(steps, 1)

    def sum_ns(rows: BoolColumn) -> float:
        return int(work.own_ns[rows].sum()) / many

    own = inside & is_kernel
    bound_of = _bounds(laid, is_told=is_told)
    unknown = np.flatnonzero(own & ~has_bytes)
    return RoofSide(
        name=laid.name,
        steps=steps,
        is_host=attribution.is_host,
        marks=_marks(laid, np.flatnonzero(own & has_bytes), bound_of, many),
        kernel_ns=sum_ns(own),
        unknown_ns=sum_ns(own & ~has_bytes),
        unknown_calls=unknown.size / many,
        unknown=_longest(trace.name_id[work.row[unknown]], work.own_ns[unknown] / many, trace.names),
        collective_ns=sum_ns(inside & is_collective),
        copy_ns=sum_ns(inside & is_copy),
        outside_ns=sum_ns(~inside & is_kernel),
    )


def _bounds(laid: _Laid, *, is_told: bool) -> IntColumn:
    """The place in _BOUNDS of what bounds each row: by the costs that Inductor told, as the report's own verdicts were
    made, where it told any.
    """
    attribution, budget = laid.recording.attribution, laid.recording.budget
    assert budget is not None
    nobody = _BOUNDS.index((Part.UNKNOWN_KERNELS, False))
    found: IntColumn = np.asarray([*map(_bound, budget.points), nobody], dtype=np.int64)[budget.point_of]
    if not is_told:
        return found
    work = attribution.work
    is_kernel = ~np.isin(attribution.trace.kind[work.row], (EventKind.COPY, EventKind.MEMSET))
    for number, kernels in enumerate(region_kernels(attribution, laid.costs, laid.device, None)):
        rows = np.flatnonzero(work.has_region & (work.region == number) & is_kernel)
        found[rows] = [_bound(point) for point in kernels.points]
    return found


def _bound(point: KernelPoint) -> int:
    return _BOUNDS.index((point.part, point.is_on_chip))


def _longest(name_id: IntColumn, ns: NDArray[np.float64], names: Sequence[str]) -> tuple[NamedTime, ...]:
    sums = np.bincount(name_id, weights=ns, minlength=1)
    order = np.argsort(-sums, kind="stable")[:MOST_UNKNOWN_NAMES]
    return tuple(NamedTime(names[i], float(sums[i])) for i in order.tolist() if sums[i] > 0)


def _marks(laid: _Laid, rows: IntColumn, bound_of: IntColumn, many: int) -> tuple[Mark, ...]:
    """The rows by name and region; `many` is what their sums are divided by."""
    budget = laid.recording.budget
    assert budget is not None
    if not rows.size:
        return ()
    work, trace = laid.recording.attribution.work, laid.recording.attribution.trace
    first, of = numbered(trace.name_id[work.row[rows]], budget.region_of[rows])
    sums = _Sums(laid, rows, of, int(first.size))
    bounds = np.zeros((first.size, len(_BOUNDS)), dtype=np.int64)
    np.add.at(bounds, (of, bound_of[rows]), work.own_ns[rows])
    bound = bounds.argmax(axis=1)
    marks = []
    for number, row in enumerate(rows[first].tolist()):
        kernel = sums.kernel(number, trace.name(int(work.row[row])))
        region = laid.recording.regions[int(budget.region_of[row])]
        place = (region.key, laid.names.label(region))
        series = laid.names.number(region.key) if region.kind in GRAPH_KINDS else None
        calls = float(sums.calls[number])
        seen = _Seen(*place, series, calls / many, sums.ns(number) * calls / many, *_BOUNDS[int(bound[number])])
        marks.append(_mark(kernel, laid.device, seen))
    return tuple(sorted(marks, key=lambda mark: (-mark.ns, mark.name, str(mark.graph))))


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a mark is beside its average kernel."""

    graph: GraphKey
    graph_label: str
    series: int | None
    calls: float
    ns: float
    part: Part
    is_on_chip: bool


def _mark(kernel: Kernel, device: Device, seen: _Seen) -> Mark:
    assert kernel.bytes is not None
    unit = matrix_dtype(kernel, device, None) if kernel.flops else VECTOR
    flops, is_rough = kernel.flops or None, False
    if kernel.flops == 0 and kernel.instructions:
        flops, is_rough = kernel.instructions * OPERATIONS_A_MULTIPLY_ADD, True
    # Where the rate outside the matrix units was not measured, that of float32 products stands for it, as in
    # `derive.roofline`.
    peak = device.peak(unit) or (device.peak("float32") if unit == VECTOR else None)
    bandwidth, seconds = device.memory_bytes_per_s, kernel.duration_ns / 1e9
    return Mark(
        name=kernel.name,
        graph=seen.graph,
        graph_label=seen.graph_label,
        series=seen.series,
        calls=seen.calls,
        ns=seen.ns,
        flops=flops,
        bytes=kernel.bytes,
        is_rough=is_rough,
        is_floor=kernel.is_floor,
        unit=unit if flops is not None else None,
        part=seen.part,
        is_on_chip=seen.is_on_chip,
        memory_share=kernel.bytes / seconds / bandwidth if bandwidth else None,
        compute_share=flops / seconds / peak if flops is not None and peak else None,
        anomaly=roof_point(kernel, device, None).anomaly,
    )


class _Sums:
    """Averages over the calls of each group of rows; `of` numbers the group of each row."""

    def __init__(self, laid: _Laid, rows: IntColumn, of: IntColumn, groups: int) -> None:
        work = laid.recording.attribution.work
        self._of, self._groups = of, groups
        numbers: dict[int, int] = {}
        different: list[Cost] = []
        at = np.empty(rows.size, dtype=np.int64)
        # Kernels of one operator share one cost: 0.2 µs a row to find that out.
        for i, row in enumerate(rows.tolist()):
            cost = laid.costs.cost(row)
            assert cost is not None
            number = numbers.setdefault(id(cost), len(numbers))
            if number == len(different):
                different.append(cost)
            at[i] = number
        share = laid.costs.shares[rows]
        held = resident_bytes(laid.costs, laid.recording.attribution, laid.device.l2_bytes)[rows]

        def mean(values: Sequence[float | None], weight: NDArray[np.float64] = share) -> NDArray[np.float64]:
            """NaN for a group of which a value is not known."""
            column = np.asarray([np.nan if value is None else value for value in values], dtype=np.float64)[at]
            return self._mean(column * weight)

        again = [missed_rereads(cost, laid.device) for cost in different]
        self.calls: NDArray[np.float64] = np.bincount(of, minlength=groups).astype(np.float64)
        self._ns = self._mean(work.own_ns[rows].astype(np.float64))
        self._flops = mean([cost.flops for cost in different])
        self._bytes = mean([cost.bytes + more for cost, more in zip(different, again, strict=True)])
        self._read = mean([sum(c.reads) + more if c.writes else None for c, more in zip(different, again, strict=True)])
        self._instructions = mean([cost.instructions for cost in different])
        self._crossing = mean([cost.crossings for cost in different])
        self._masked = mean([cost.masked_flops for cost in different])
        self._held = self._mean(held)
        self._is_floor = np.bincount(
            of, weights=np.asarray([cost.is_floor for cost in different])[at], minlength=groups
        )
        # Of several types, that of the longest call.
        order = np.lexsort((-work.own_ns[rows], of))
        opens = np.concatenate(([True], of[order][1:] != of[order][:-1]))
        self._dtype = [different[number].dtype for number in at[order][opens].tolist()]

    def kernel(self, number: int, name: str) -> Kernel:
        """The average call of a group."""
        return Kernel(
            name=name,
            duration_ns=max(1, round(float(self._ns[number]))),
            flops=_known(self._flops[number]),
            bytes=float(self._bytes[number]),
            dtype=self._dtype[number],
            instructions=_known(self._instructions[number]),
            is_floor=bool(self._is_floor[number]),
            read_bytes=_known(self._read[number]),
            resident_bytes=float(self._held[number]),
            crossing_bytes=_known(self._crossing[number]),
            masked_flops=float(self._masked[number]),
        )

    def ns(self, number: int) -> float:
        return float(self._ns[number])

    def _mean(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        counts = np.maximum(np.bincount(self._of, minlength=self._groups), 1)
        found: NDArray[np.float64] = np.bincount(self._of, weights=column, minlength=self._groups) / counts
        return found


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
