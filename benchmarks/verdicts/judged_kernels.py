"""What our product says of each recorded kernel, by its own reader, attribution, costs and roofs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from analyzer.core.budget import Part
from analyzer.core.device import Device
from analyzer.core.graphs import Direction, Graph, GraphKey
from analyzer.core.trace import EventKind
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.kernel_costs import KernelCosts, from_graphs, kernel_costs
from analyzer.derive.region_kernels import region_kernels
from collectors.readers.kineto import read_trace


@dataclass(frozen=True, slots=True)
class JudgedKernel:
    """`flops` and `bytes` are None where our costs do not know them; `op` is the operator that launched it."""

    step: int
    name: str
    op: str | None
    ns: int
    part: Part
    flops: float | None
    bytes: float | None
    dtype: str | None


def judged_kernels(
    trace: Path, graphs: Sequence[Graph], device: Device, tf32_steps: frozenset[int]
) -> tuple[JudgedKernel, ...]:
    """The kernels of the steps of a trace, in order of the device. `tf32_steps` allow TF32 in float32 products.

    Raises UnreadableFileError.
    """
    attribution = attribute(read_trace(trace))
    costs = from_graphs(kernel_costs(attribution), attribution, graphs)
    work, events = attribution.work, attribution.trace
    is_kernel = ~np.isin(events.kind[work.row], (EventKind.COPY, EventKind.MEMSET))
    rows = np.flatnonzero(work.has_region & is_kernel).tolist()
    rows.sort(key=lambda i: int(events.start_ns[work.row[i]]))
    parts = {allowed: _parts(attribution, costs, device, allowed) for allowed in (False, True)}
    return tuple(
        JudgedKernel(
            step=int(work.step[i]),
            name=events.name(int(work.row[i])),
            op=events.name(int(work.op[i])) if work.has_op[i] else None,
            ns=int(work.own_ns[i]),
            part=parts[int(work.step[i]) in tf32_steps][i],
            flops=cost.flops * costs.shares[i] if cost is not None and cost.flops is not None else None,
            bytes=cost.bytes * costs.shares[i] if cost is not None else None,
            dtype=cost.dtype if cost is not None else None,
        )
        for i in rows
        for cost in (costs.costs[i],)
    )


def _parts(attribution: Attribution, costs: KernelCosts, device: Device, allow_tf32: bool) -> list[Part]:
    """The part of each row of `Work`: the product's own sums over regions, of which each row is made one."""
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
    return [max(one.parts, key=lambda part: part.ns).part for one in found]


def _key(number: int) -> GraphKey:
    return GraphKey(f"{number:012x}", Direction.INFERENCE)
