"""What each kernel of a profiled pass had to compute and to move, from the operator that launched it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.graphs import Graph, GraphKey, KernelFacts, Region
from analyzer.core.trace import BoolColumn, EventKind
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import instructions_of_ops
from analyzer.derive.costs.stages import Stage, has_stages, stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.host_work import INDUCTOR_KERNEL

CLIMB_LEVELS: Final = 4
"""How far above a launch its operator may be. `_scaled_dot_product_flash_attention` is one above the
`_flash_attention_forward` that launches, a Triton or cuDNN row is the innermost itself; far above lie whole graphs."""


@dataclass(frozen=True, slots=True)
class KernelCosts:
    """One cost beside each row of `Attribution.work`, None where nothing is known of it. Kernels of one operator share
    its cost by their durations, so that they are all as far from a roof as the operator is; but those of which it is
    known what step of it they do have the cost of that step.

    `shares` are those: 1.0 for a kernel that has its cost alone. `flops` and `bytes` are its part of the cost, 0.0
    where that is unknown.
    """

    costs: tuple[Cost | None, ...]
    shares: NDArray[np.float64]
    flops: NDArray[np.float64]
    bytes: NDArray[np.float64]
    dtype: tuple[str | None, ...]
    is_known: BoolColumn

    @classmethod
    def of(cls, costs: Sequence[Cost | None], shares: NDArray[np.float64]) -> KernelCosts:
        return cls(
            costs=tuple(costs),
            shares=shares,
            flops=np.asarray([(cost.flops or 0) if cost else 0 for cost in costs], dtype=np.float64) * shares,
            bytes=np.asarray([cost.bytes if cost else 0 for cost in costs], dtype=np.float64) * shares,
            dtype=tuple(cost.dtype if cost else None for cost in costs),
            is_known=np.asarray([cost is not None for cost in costs], dtype=np.bool_),
        )


def kernel_costs(attribution: Attribution) -> KernelCosts:
    """The cost of every kernel whose operator has a formula and was recorded with its shapes."""
    work = attribution.work
    seen: dict[_Asked, _Told] = {}
    found = _left_over([_found(attribution, i, seen) for i in range(len(work))])
    group_ns: dict[_Group, int] = defaultdict(int)
    for i, hit in enumerate(found):
        if hit is not None:
            group_ns[hit.group] += int(work.own_ns[i])
    # Some µs a row: the costs themselves are looked up once a name and shape.
    shares = [
        int(work.own_ns[i]) / group_ns[hit.group] if hit is not None and group_ns[hit.group] else 0.0
        for i, hit in enumerate(found)
    ]
    return KernelCosts.of([hit.cost if hit else None for hit in found], np.asarray(shares, dtype=np.float64))


def from_reference(
    costs: KernelCosts, attribution: Attribution, reference: KernelCosts, reference_attribution: Attribution
) -> KernelCosts:
    """Fills unknown costs from another configuration's run of the same graphs.

    A replayed CUDA graph, or a C++ wrapper, runs the kernels of the fused graph without their operators. Kernels are
    matched by region, name and order within a step; a name that occurs another number of times there is left alone
    unless all its kernels cost the same.
    """
    known: dict[tuple[Region, str], list[int]] = {}
    for (region, name, _), rows in _by_name(reference_attribution, np.flatnonzero(reference.is_known)).items():
        known.setdefault((region, name), rows)  # the first step stands for all
    filled, shares = list(costs.costs), costs.shares.copy()
    for (region, name, _), rows in _by_name(attribution, np.flatnonzero(~costs.is_known)).items():
        sources = known.get((region, name), [])
        matched = sources if len(sources) == len(rows) else _one_for_all(reference, sources, len(rows))
        for row, source in zip(rows, matched, strict=False):
            filled[row], shares[row] = reference.costs[source], reference.shares[source]
    return KernelCosts.of(filled, shares)


def from_graphs(costs: KernelCosts, attribution: Attribution, graphs: Iterable[Graph]) -> KernelCosts:
    """Puts what Inductor knew of its own kernels before what their arguments tell, kernel by kernel by its name.

    Where it told of a whole graph alone, the traffic of the graph's other kernels is taken off, and the rest is spread
    over the unknown ones by their time: a C++ kernel's row says nothing of its arguments, so that they can only be
    judged together.
    """
    rows: dict[GraphKey, list[int]] = defaultdict(list)
    work = attribution.work
    for i in np.flatnonzero(work.has_region).tolist():
        region = attribution.regions[int(work.region[i])].region
        if isinstance(region, GraphKey):
            rows[region].append(i)
    filled, shares = list(costs.costs), costs.shares.copy()
    for graph in graphs:
        own = rows.get(graph.key, [])
        facts = {kernel.name: kernel for kernel in graph.kernels}
        for i in own:
            told = facts.get(generated_name(attribution.trace.name(int(work.row[i]))) or "")
            if told is not None:
                filled[i], shares[i] = cost_of_facts(told), 1.0
        _spread(graph, attribution, own, filled, shares)
    return KernelCosts.of(filled, shares)


def generated_name(row: str) -> str | None:
    """Inductor's name for one of its kernels, from the name of a row; None for any other row.

    The C++ ones are recorded with the number of their graph before it.
    """
    if INDUCTOR_KERNEL.fullmatch(row) is None:
        return None
    return row if row.startswith(("cpp_", "triton_")) else row.split("_", 2)[2]


def cost_of_facts(facts: KernelFacts) -> Cost:
    return Cost(
        flops=facts.flops,
        bytes=facts.bytes,
        dtype=facts.dtype,
        instructions=None if facts.ops is None else instructions_of_ops(facts.ops),
        reads=facts.reads,
        writes=facts.writes,
    )


def _spread(
    graph: Graph, attribution: Attribution, own: list[int], filled: list[Cost | None], shares: NDArray[np.float64]
) -> None:
    """Puts what is left of a graph's own traffic into `filled`, over its generated kernels that are unknown."""
    work = attribution.work
    calls = next((r.calls for r in attribution.regions if r.region == graph.key), 0)
    unknown = [
        i for i in own if filled[i] is None and generated_name(attribution.trace.name(int(work.row[i]))) is not None
    ]
    total_ns = int(work.own_ns[unknown].sum())
    if graph.bytes is None or not total_ns:
        return
    rest = graph.bytes * calls - sum(cost.bytes * float(shares[i]) for i in own if (cost := filled[i]) is not None)
    if rest > 0:
        for i in unknown:
            filled[i], shares[i] = Cost(0, round(rest)), int(work.own_ns[i]) / total_ns


_Asked = tuple[int, int | None, int | None]
"""The name and detail of an operator, and the name of the kernel, on a device where it has one of its own."""

_Told = tuple[Cost | None, Stage | None]
_Group = tuple[int, int | None]
"""The operator row whose cost is shared, and what by: None for all of it, ALL for a step that several kernels do, or
the row of the kernel that does a step alone.
"""

ALL: Final = -1


@dataclass(frozen=True, slots=True)
class _Hit:
    """A kernel's cost, and what it is shared with. `is_step` where the kernel does a part of what its operator must."""

    group: _Group
    cost: Cost
    is_step: bool = False


def _left_over(found: list[_Hit | None]) -> list[_Hit | None]:
    """Without costs for the other kernels of operators whose known steps move all that the operator must."""
    moved: dict[int, int] = defaultdict(int)
    for hit in found:
        if hit is not None and hit.is_step:
            moved[hit.group[0]] += hit.cost.bytes
    return [
        None if hit and hit.group[1] is None and 0 < hit.cost.bytes <= moved.get(hit.group[0], 0) else hit
        for hit in found
    ]


def _found(attribution: Attribution, index: int, seen: dict[_Asked, _Told]) -> _Hit | None:
    """What is known of a kernel. `seen` keeps the costs by what they are asked for."""
    work, trace = attribution.work, attribution.trace
    kernel = int(work.row[index])
    if not work.has_op[index] or trace.kind[kernel] in (EventKind.COPY, EventKind.MEMSET):
        return None
    row = int(work.op[index])
    for _ in range(1 if attribution.is_host else CLIMB_LEVELS):
        key = (
            int(trace.name_id[row]),
            int(trace.detail_id[row]) if trace.has_detail[row] else None,
            None if attribution.is_host else int(trace.name_id[kernel]),
        )
        if key not in seen:
            seen[key] = _told(attribution, row, None if attribution.is_host else trace.name(kernel))
        cost, stage = seen[key]
        if stage is not None:
            return _Hit((row, ALL if stage.is_shared else kernel), stage.cost, is_step=not stage.is_beside)
        if cost is not None:
            return _Hit((row, None), cost)
        if not attribution.has_parent_op[row]:
            return None
        row = int(attribution.parent_op[row])
    return None


def _told(attribution: Attribution, row: int, kernel: str | None) -> _Told:
    name, detail = attribution.trace.name(row), attribution.trace.detail(row)
    cost = cost_of(name, detail, kernel)
    if cost is None or detail is None or kernel is None or not has_stages(name):
        return cost, None
    return cost, stage_of(name, detail, kernel, cost)


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
    if not rows:
        return []
    first = rows[0]
    same = all(costs.costs[r] == costs.costs[first] and costs.shares[r] == costs.shares[first] for r in rows)
    return [first] * count if same else []
