"""What each kernel of a profiled pass had to compute and to move, from the operator that launched it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.graphs import Graph, Region
from analyzer.core.trace import BoolColumn, EventKind
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.table import cost_of
from analyzer.derive.host_work import INDUCTOR_KERNEL

CLIMB_LEVELS: Final = 4
"""How far above a launch its operator may be. `_scaled_dot_product_flash_attention` is one above the
`_flash_attention_forward` that launches, a Triton or cuDNN row is the innermost itself; far above lie whole graphs."""


@dataclass(frozen=True, slots=True)
class KernelCosts:
    """Columns beside `Attribution.work`. Unknown where `is_known` is False. Kernels of one operator share its cost
    by their durations, so that they are all as far from a roof as the operator is.
    """

    flops: NDArray[np.float64]
    bytes: NDArray[np.float64]
    dtype: tuple[str | None, ...]
    is_known: BoolColumn


def kernel_costs(attribution: Attribution) -> KernelCosts:
    """The cost of every kernel whose operator has a formula and was recorded with its shapes."""
    work = attribution.work
    seen: dict[tuple[int, int | None], Cost | None] = {}
    found = [_found(attribution, i, seen) for i in range(len(work))]
    group_ns: dict[int, int] = defaultdict(int)
    for i, hit in enumerate(found):
        if hit is not None:
            group_ns[hit[0]] += int(work.own_ns[i])
    # 1.5 µs a row: the costs themselves are looked up once a name and shape.
    shares = [
        None if hit is None else (hit[1], int(work.own_ns[i]) / group_ns[hit[0]] if group_ns[hit[0]] else 0.0)
        for i, hit in enumerate(found)
    ]
    return KernelCosts(
        flops=np.asarray([s[0].flops * s[1] if s else 0.0 for s in shares], dtype=np.float64),
        bytes=np.asarray([s[0].bytes * s[1] if s else 0.0 for s in shares], dtype=np.float64),
        dtype=tuple(s[0].dtype if s else None for s in shares),
        is_known=np.asarray([s is not None for s in shares], dtype=np.bool_),
    )


def from_reference(
    costs: KernelCosts, attribution: Attribution, reference: KernelCosts, reference_attribution: Attribution
) -> KernelCosts:
    """Fills unknown costs from another configuration's run of the same graphs.

    A replayed CUDA graph, or a C++ wrapper, runs the kernels of the fused graph without their operators. Kernels are
    matched by region, name and order within a step; a name that occurs another number of times there is left alone
    unless all its kernels cost the same.
    """
    known = _by_name(reference_attribution, np.flatnonzero(reference.is_known))
    flops, moved, dtype, is_known = costs.flops.copy(), costs.bytes.copy(), list(costs.dtype), costs.is_known.copy()
    for key, rows in _by_name(attribution, np.flatnonzero(~costs.is_known)).items():
        step, sources = key[2], next((v for k, v in known.items() if (k[0], k[1]) == (key[0], key[1])), None)
        if not sources or step is None:
            continue
        matched = sources if len(sources) == len(rows) else _one_for_all(reference, sources, len(rows))
        for row, source in zip(rows, matched, strict=False):
            flops[row], moved[row] = reference.flops[source], reference.bytes[source]
            dtype[row], is_known[row] = reference.dtype[source], True
    return KernelCosts(flops, moved, tuple(dtype), is_known)


def from_graphs(costs: KernelCosts, attribution: Attribution, graphs: Iterable[Graph]) -> KernelCosts:
    """Fills unknown costs of Inductor's kernels from its own count of their graph's traffic.

    What the graph's other kernels move is taken off, and the rest is spread over the kernels by their time: a C++
    kernel's row says nothing of its arguments, so that they can only be judged together.
    """
    work, trace = attribution.work, attribution.trace
    generated = np.asarray([INDUCTOR_KERNEL.fullmatch(name) is not None for name in trace.names] or [False])
    unknown = ~costs.is_known & work.has_region & generated[trace.name_id[work.row]]
    moved, is_known = costs.bytes.copy(), costs.is_known.copy()
    for graph in graphs:
        number = next((i for i, r in enumerate(attribution.regions) if r.region == graph.key), None)
        if number is None or graph.bytes is None:
            continue
        own = unknown & (work.region == number)
        beside = costs.is_known & work.has_region & (work.region == number)
        rest = graph.bytes * attribution.regions[number].calls - float(costs.bytes[beside].sum())
        total_ns = int(work.own_ns[own].sum())
        if total_ns and rest > 0:
            moved[own] = rest * work.own_ns[own] / total_ns
            is_known[own] = True
    return replace(costs, bytes=moved, is_known=is_known)


def _found(
    attribution: Attribution, index: int, seen: dict[tuple[int, int | None], Cost | None]
) -> tuple[int, Cost] | None:
    """The operator row that a kernel's cost is of, and the cost. `seen` keeps the costs by name and detail."""
    work, trace = attribution.work, attribution.trace
    if not work.has_op[index] or trace.kind[work.row[index]] in (EventKind.COPY, EventKind.MEMSET):
        return None
    row = int(work.op[index])
    for _ in range(1 if attribution.is_host else CLIMB_LEVELS):
        key = (int(trace.name_id[row]), int(trace.detail_id[row]) if trace.has_detail[row] else None)
        if key not in seen:
            seen[key] = cost_of(trace.name(row), trace.detail(row))
        cost = seen[key]
        if cost is not None:
            return row, cost
        if not attribution.has_parent_op[row]:
            return None
        row = int(attribution.parent_op[row])
    return None


def _by_name(attribution: Attribution, rows: NDArray[np.int64]) -> dict[tuple[Region, str, int], list[int]]:
    """Rows of `Work` by region, kernel name and step, in the order of the device."""
    work, trace = attribution.work, attribution.trace
    found: dict[tuple[Region, str, int], list[int]] = defaultdict(list)
    for i in rows[work.has_region[rows]].tolist():
        region = attribution.regions[int(work.region[i])].region
        found[(region, trace.name(int(work.row[i])), int(work.step[i]))].append(i)
    return found


def _one_for_all(costs: KernelCosts, rows: list[int], count: int) -> list[int]:
    """The same source for each of `count` kernels when all of them cost the same; none otherwise."""
    first = rows[0]
    same = all(
        costs.bytes[r] == costs.bytes[first]
        and costs.flops[r] == costs.flops[first]
        and costs.dtype[r] == costs.dtype[first]
        for r in rows
    )
    return [first] * count if same else []
