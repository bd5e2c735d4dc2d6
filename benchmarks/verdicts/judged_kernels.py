"""What our product says of each recorded kernel, by its own reader, attribution, costs and roofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from analyzer.core.budget import Part
from analyzer.core.device import Device
from analyzer.core.graphs import Direction, Graph, GraphKey
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.confidence import DRAWS
from analyzer.derive.doubt import CLASSES, KernelPoint, perturbed_classes
from analyzer.derive.kernel_costs import KernelCosts, kernel_costs
from analyzer.derive.region_kernels import region_kernels
from analyzer.derive.residency import memory_bytes, missed_rereads
from analyzer.derive.told_costs import Priced, told_costs
from collectors.readers.kineto import read_trace

KERNEL_PARTS: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS)


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """`flops` and `bytes` are None where our costs do not know them; `op` is the operator that launched it.

    `written` is the part of `bytes` that is written, `memory_bytes` what memory is expected to move of them while the
    kernel runs alone. `confidence` is how often its class stays when counts and peaks
    are somewhat wrong, None where nothing is claimed of it; `compute_share` and `memory_share` are what we take it to
    reach of the hardware's own rates. `counts_to` is the part of a budget that it is in, for which shared memory that
    feeds arithmetic is no MEMORY.
    """

    step: int
    name: str
    op: str | None
    ns: int
    part: Part
    counts_to: Part
    flops: float | None
    bytes: float | None
    dtype: str | None
    written: float = 0.0
    memory_bytes: float | None = None
    confidence: float | None = None
    compute_share: float | None = None
    memory_share: float | None = None


def judged_kernels(
    trace: Path, graphs: Sequence[Graph], device: Device, tf32_steps: frozenset[int]
) -> tuple[JudgedKernel, ...]:
    """The kernels of the steps of a trace, in order of the device. `tf32_steps` allow TF32 in float32 products.

    Raises UnreadableFileError.
    """
    attribution = attribute(read_trace(trace))
    costs = told_costs(Priced(attribution, kernel_costs(attribution)), graphs)
    work, events = attribution.work, attribution.trace
    is_kernel = ~np.isin(events.kind[work.row], (EventKind.COPY, EventKind.MEMSET))
    rows = np.flatnonzero(work.has_region & is_kernel).tolist()
    rows.sort(key=lambda i: int(events.start_ns[work.row[i]]))
    points = {allowed: _points(attribution, costs, device, allowed) for allowed in (False, True)}
    return tuple(_judged(attribution, costs, i, points[int(work.step[i]) in tf32_steps][i], device) for i in rows)


def _judged(
    attribution: Attribution, costs: KernelCosts, index: int, point: KernelPoint, device: Device
) -> JudgedKernel:
    work, events = attribution.work, attribution.trace
    cost, share = costs.costs[index], float(costs.shares[index])
    ns = int(work.own_ns[index])
    return JudgedKernel(
        step=int(work.step[index]),
        name=events.name(int(work.row[index])),
        op=events.name(int(work.op[index])) if work.has_op[index] else None,
        ns=ns,
        part=point.part,
        counts_to=point.counts_to,
        flops=cost.flops * share if cost is not None and cost.flops is not None else None,
        bytes=(cost.bytes + missed_rereads(cost, device)) * share if cost is not None else None,
        dtype=cost.dtype if cost is not None else None,
        written=sum(cost.writes) * share if cost is not None else 0.0,
        memory_bytes=None if cost is None else memory_bytes(cost, device, share),
        confidence=_confidence(point),
        compute_share=None if point.compute_ns is None or not ns else point.compute_ns / ns,
        memory_share=None if point.memory_ns is None or not ns else max(point.memory_ns, point.near_ns) / ns,
    )


def _confidence(point: KernelPoint) -> float | None:
    if point.part is Part.UNKNOWN_KERNELS or not point.ns:
        return None
    rng = np.random.default_rng(0)
    # Counters count shared memory to the memory throughput, whatever it feeds.
    classes = perturbed_classes((replace(point, is_fed=False),), rng.standard_normal(DRAWS), rng.standard_normal(DRAWS))
    return float(np.mean(classes[:, CLASSES.index(point.part)] > 0))


def _points(attribution: Attribution, costs: KernelCosts, device: Device, allow_tf32: bool) -> list[KernelPoint]:
    """Each row of `Work` as the product judges it: its own sums over regions, of which each row is made one. Of a row
    that is no kernel nothing is said.
    """
    count = len(attribution.work)
    if not attribution.regions:
        return []
    alone = replace(
        attribution,
        work=replace(
            attribution.work,
            region=np.arange(count, dtype=np.int64),
            has_region=np.ones(count, dtype=np.bool_),
            step=np.zeros(count, dtype=np.int64),
        ),
        regions=tuple(replace(attribution.regions[0], region=_key(i)) for i in range(count)),
        recorded_steps=(0,),
    )
    found = region_kernels(alone, costs, device, allow_tf32)
    nothing = KernelPoint(Part.UNKNOWN_KERNELS, 0, None, None)
    return [one.points[0] if one.points else nothing for one in found]


def _key(number: int) -> GraphKey:
    return GraphKey(f"{number:012x}", Direction.INFERENCE)
