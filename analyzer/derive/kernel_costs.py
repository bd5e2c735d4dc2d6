"""What each kernel of a profiled pass had to compute and to move, from the operator that launched it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.distinct import numbered
from analyzer.core.graphs import Graph, GraphKey, KernelFacts, Region
from analyzer.core.trace import BoolColumn, EventKind, IntColumn, OpDetail, Trace
from analyzer.derive.attribution import Attribution, Work
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.instructions import instructions_of_ops
from analyzer.derive.costs.launch import launch_of
from analyzer.derive.costs.stages import has_stages, stage_of
from analyzer.derive.costs.table import cost_of
from analyzer.derive.host_work import INDUCTOR_KERNEL

CLIMB_LEVELS: Final = 4
"""How far above a launch its operator may be. `_scaled_dot_product_flash_attention` is one above the
`_flash_attention_forward` that launches, a Triton or cuDNN row is the innermost itself; far above lie whole graphs."""


LOOPED: Final = "triton_red_"
"""How Inductor's Triton kernels are called that go through the rows they reduce in a loop."""


@dataclass(frozen=True, slots=True)
class KernelCosts:
    """One cost beside each row of `Attribution.work`, None where nothing is known of it. Kernels of one operator share
    its cost by their durations, so that they are all as far from a roof as the operator is; but those of which it is
    known what step of it they do have the cost of that step.

    `shares` are those: 1.0 for a kernel that has its cost alone. `flops` and `bytes` are its part of the cost, 0.0
    where that is unknown. Many kernels have one cost, as one object: `number` says which of the `different` ones each
    has, or NOTHING.
    """

    different: tuple[Cost, ...]
    number: IntColumn
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, costs: Sequence[Cost | None], shares: NDArray[np.float64]) -> KernelCosts:
        different = {id(cost): cost for cost in costs if cost is not None}
        numbers = {own: number for number, own in enumerate(different)} | {id(None): NOTHING}
        number = np.fromiter(map(numbers.__getitem__, map(id, costs)), dtype=np.int64, count=len(costs))
        return cls(tuple(different.values()), number, shares)

    @property
    def costs(self) -> tuple[Cost | None, ...]:
        every = (*self.different, None)  # NOTHING is the last
        return tuple(map(every.__getitem__, self.number.tolist()))

    @property
    def is_known(self) -> BoolColumn:
        known: BoolColumn = self.number != NOTHING
        return known

    @property
    def flops(self) -> NDArray[np.float64]:
        return self._part([cost.flops or 0 for cost in self.different])

    @property
    def bytes(self) -> NDArray[np.float64]:
        return self._part([cost.bytes for cost in self.different])

    @property
    def dtype(self) -> tuple[str | None, ...]:
        return tuple(cost.dtype if cost else None for cost in self.costs)

    def cost(self, row: int) -> Cost | None:
        number = int(self.number[row])
        return None if number == NOTHING else self.different[number]

    def _part(self, each: Sequence[int]) -> NDArray[np.float64]:
        part: NDArray[np.float64] = np.asarray([*each, 0], dtype=np.float64)[self.number] * self.shares
        return part


def kernel_costs(attribution: Attribution) -> KernelCosts:
    """The cost of every kernel whose operator has a formula and was recorded with its shapes."""
    return shared_costs(_hits(attribution), attribution.work)


def shared_costs(hits: Hits, work: Work) -> KernelCosts:
    """The costs of kernels that have what was hit alone, or share it by their durations."""
    # Of an operator and what its cost is shared by: all of it, a step that several kernels do, or one kernel alone.
    _, group = numbered(hits.op, hits.sharer)
    known = np.flatnonzero((hits.number != NOTHING) & ~_is_left_over(hits))
    group_ns = np.bincount(group[known], weights=work.own_ns[known], minlength=len(work))[group]
    shares = np.zeros(len(work), dtype=np.float64)
    np.divide(work.own_ns, group_ns, out=shares, where=group_ns > 0)
    number = np.full(len(work), NOTHING, dtype=np.int64)
    number[known] = hits.number[known]
    return KernelCosts(tuple(hit.cost for hit in hits.found), number, np.where(number == NOTHING, 0.0, shares))


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
            filled[row], shares[row] = reference.cost(source), reference.shares[source]
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
                own_row = filled[i]
                # How its tensors lie only the row of the kernel tells.
                near = own_row.near if own_row is not None else None
                filled[i], shares[i] = replace(cost_of_facts(told), near=near), 1.0
        _spread(graph, attribution, own, filled, shares)
    return KernelCosts.of(filled, shares)


def generated_name(row: str) -> str | None:
    """Inductor's name for one of its kernels, from the name of a row; None for any other row.

    Inductor's own setting (`cpp.enable_kernel_profile`) puts the number of the graph before those of C++.
    """
    if INDUCTOR_KERNEL.fullmatch(row) is None:
        return None
    return row if row.startswith(("cpp_", "triton_")) else row.split("_", 2)[2]


def cost_of_facts(facts: KernelFacts) -> Cost:
    is_looped = facts.name.startswith(LOOPED)
    return Cost(
        flops=facts.flops,
        bytes=facts.bytes,
        dtype=facts.dtype,
        instructions=None if facts.ops is None else instructions_of_ops(facts.ops, is_looped=is_looped),
        reads=facts.reads,
        again=facts.again_bytes,
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


LITTLE: Final = 0.01
"""Of an operator's traffic, that no kernel is charged for once its steps move the rest: the numbers of each channel
beside an image are less."""

NOTHING: Final = -1
"""In a column of numbers: nothing is known of the kernel."""
WHOLE: Final = -2
STEP: Final = -1
"""In a column of sharers, which else are rows: all of an operator's cost, or a step of it that several kernels do."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A cost. `is_step` where it is of a part of what an operator must do; `is_alone` where one kernel does that."""

    cost: Cost
    is_step: bool = False
    is_alone: bool = False
    sharer: int = WHOLE


@dataclass(frozen=True, slots=True)
class Hits:
    """One entry a row of `Attribution.work`: the operator row whose cost it is, what the cost is shared by, and which
    of `found` it is, NOTHING where none.
    """

    found: tuple[Hit, ...]
    number: IntColumn
    op: IntColumn
    sharer: IntColumn


def _is_left_over(hits: Hits) -> BoolColumn:
    """The other kernels of operators whose known steps move all that the operator must: they have no cost."""
    nothing = np.zeros(hits.number.size, dtype=np.bool_)
    if not any(hit.is_step for hit in hits.found):
        return nothing
    bytes_of = np.asarray([hit.cost.bytes for hit in hits.found], dtype=np.float64)[hits.number]
    is_step = np.asarray([hit.is_step for hit in hits.found], dtype=np.bool_)[hits.number]
    is_known = hits.number != NOTHING
    _, op = numbered(hits.op)
    moved = np.bincount(op, weights=np.where(is_known & is_step, bytes_of, 0.0))[op]
    is_left_over: BoolColumn = is_known & (hits.sharer == WHOLE) & (bytes_of > 0) & ((1.0 - LITTLE) * bytes_of <= moved)
    return is_left_over


def _hits(attribution: Attribution) -> Hits:
    """What is known of each kernel: asked once for each operator and kernel that differ, some 5 ms a 10,000 rows."""
    work, trace = attribution.work, attribution.trace
    op = work.op.copy()
    number = np.full(len(work), NOTHING, dtype=np.int64)
    sharer = np.full(len(work), WHOLE, dtype=np.int64)
    found: list[Hit] = []
    left = np.flatnonzero(work.has_op & ~trace.are(work.row, EventKind.COPY, EventKind.MEMSET))
    for _ in range(1 if attribution.is_host else CLIMB_LEVELS):
        asked, kernels = op[left], work.row[left]
        columns = (trace.name_id[asked], detail_ids(trace, asked))
        beside = () if attribution.is_host else (trace.name_id[kernels], detail_ids(trace, kernels))
        first, of = numbered(*columns, *beside)
        told = [
            hit_of(attribution, trace.name(op_row), trace.detail(op_row), kernel)
            for op_row, kernel in zip(asked[first].tolist(), kernels[first].tolist(), strict=True)
        ]
        is_found = np.asarray([hit is not None for hit in told], dtype=np.bool_)[of]
        place = np.cumsum([hit is not None for hit in told], dtype=np.int64) - 1 + len(found)
        found += [hit for hit in told if hit is not None]
        hit = left[is_found]
        number[hit] = place[of[is_found]]
        is_alone = np.asarray([one.is_alone for one in found], dtype=np.bool_)[number[hit]]
        shared = np.asarray([one.sharer for one in found], dtype=np.int64)[number[hit]]
        sharer[hit] = np.where(is_alone, work.row[hit], shared)
        left = left[~is_found]
        left = left[attribution.has_parent_op[op[left]]]
        op[left] = attribution.parent_op[op[left]]
        if not left.size:
            break
    return Hits(tuple(found), number, op, sharer)


def detail_ids(trace: Trace, rows: IntColumn) -> IntColumn:
    """What each row says of itself, by number; NOTHING where it does not."""
    found: IntColumn = np.where(trace.has_detail[rows], trace.detail_id[rows], NOTHING)
    return found


def hit_of(attribution: Attribution, op: str, detail: OpDetail | None, kernel: int) -> Hit | None:
    """What an operator and its inputs tell of the row of a kernel that it may have launched, on a CPU of its own."""
    trace = attribution.trace
    name = None if attribution.is_host else trace.name(kernel)
    launch = None if name is None else launch_of(trace.detail(kernel))
    cost = cost_of(op, detail, name, launch)
    if cost is None or detail is None or name is None or not has_stages(op):
        return Hit(cost) if cost is not None else None
    stage = stage_of(op, detail, name, cost, launch)
    return Hit(cost) if stage is None else Hit(stage.cost, not stage.is_beside, not stage.is_shared, STEP)


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
    same = all(costs.cost(r) == costs.cost(first) and costs.shares[r] == costs.shares[first] for r in rows)
    return [first] * count if same else []
