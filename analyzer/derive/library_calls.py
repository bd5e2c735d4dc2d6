"""Which kernels the calls of libraries in a compiled graph started, by the order in which its code calls what.

A replayed CUDA graph and a C++ wrapper leave no operator around a kernel of cuBLAS, cuDNN or flash attention, but
Inductor's own kernels have names, and these lie between them. What is not certain is left alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Final, assert_never

import numpy as np

from analyzer.core.graphs import CallOrder, Graph, GraphKey, LibraryCall
from analyzer.core.trace import EventKind, OpDetail
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.stages import has_stages
from analyzer.derive.costs.tensors import DTYPES
from analyzer.derive.host_work import OPERATOR, is_work
from analyzer.derive.kernel_costs import NOTHING, WHOLE, Hit, Hits, KernelCosts, generated_name, hit_of, shared_costs
from analyzer.derive.kernel_families import family

MOST_KERNELS: Final = 8
"""Of one call of a library. Flash attention's backward has three, cuDNN's convolutions up to four with the changes of
layout around them."""

_PRODUCTS, _ATTENTION, _CONVOLUTIONS = "matrix products", "attention", "convolutions"

_SPLIT: Final = re.compile(r"splitKreduce|split_k_(?:kernel|reduce)|PostGSU", re.IGNORECASE)
"""What adds up the parts of a product that is split along its inner dimension (cuBLAS, CUTLASS, Tensile)."""

_LAYOUT: Final = re.compile(r"nchwToNhwc|nhwcToNchw|nhwcAddPadding|winograd", re.IGNORECASE)
"""cuDNN's changes of layout around a convolution."""


class _Kind(Enum):
    PRODUCT = r"aten::(?:mm|bmm|addmm|baddbmm|_addmm_activation|linear|_int_mm|_scaled_mm(?:_v2)?|_grouped_mm|mv|addmv)"
    ATTENTION = r"aten::_\w*attention\w*"
    CONVOLUTION = r"aten::\w*(?:convolution|conv_depthwise)\w*"
    OTHER = r".*"


_Segments = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Called:
    """A call of a library, and the rows of `Attribution.work` that are its kernels (on a CPU, that are itself)."""

    call: LibraryCall
    rows: tuple[int, ...]


def from_calls(costs: KernelCosts, attribution: Attribution, graphs: Collection[Graph]) -> KernelCosts:
    """Fills unknown costs of libraries' kernels from what Inductor noted of their calls. Kernels of one call share its
    cost as those of an operator do.
    """
    if all(graph.calls is None for graph in graphs):
        return costs
    work, trace = attribution.work, attribution.trace
    number, op = (np.full(len(work), value, dtype=np.int64) for value in (NOTHING, 0))
    sharer = np.full(len(work), WHOLE, dtype=np.int64)
    different: dict[tuple[LibraryCall, int, OpDetail | None], int] = {}
    found: list[Hit] = []
    for group, one in enumerate(called(attribution, graphs)):
        # What a kernel needs is asked once for each call and kernel that differ, not once a kernel.
        for row in one.rows:
            kernel = int(work.row[row])
            key = (one.call, int(trace.name_id[kernel]), trace.detail(kernel))
            if key not in different:
                hit = hit_of(attribution, one.call.op, detail_of(one.call), kernel)
                different[key] = NOTHING if hit is None else len(found)
                found += [hit] if hit is not None else []
            number[row], op[row] = different[key], group
            if number[row] != NOTHING:
                hit = found[number[row]]
                sharer[row] = kernel if hit.is_alone else hit.sharer
    told = shared_costs(Hits(tuple(found), number, op, sharer), work)
    fills = ~costs.is_known & told.is_known
    filled = tuple(told.cost(i) if fills[i] else cost for i, cost in enumerate(costs.costs))
    return KernelCosts.of(filled, np.where(fills, told.shares, costs.shares))


_CPP_NAMES: Final = {name: cpp for cpp, name, _ in reversed(DTYPES)}


def detail_of(call: LibraryCall) -> OpDetail | None:
    """What the operator's row would have told; None where its inputs are not known."""
    if not call.shapes:
        return None
    dtypes = tuple(_CPP_NAMES.get(dtype, dtype) for dtype in call.dtypes)
    return OpDetail(shapes=call.shapes, strides=call.strides, dtypes=dtypes, values=call.values)


def called(attribution: Attribution, graphs: Iterable[Graph]) -> Iterator[Called]:
    """The calls whose kernels are certain, of every step of these graphs."""
    orders = {graph.key: graph.calls for graph in graphs if graph.calls is not None}
    rows: dict[tuple[GraphKey, int], list[int]] = defaultdict(list)
    work, trace = attribution.work, attribution.trace
    is_kernel = work.has_region & ~trace.are(work.row, EventKind.COPY, EventKind.MEMSET)
    for i in np.flatnonzero(is_kernel).tolist():
        region = attribution.regions[int(work.region[i])].region
        if isinstance(region, GraphKey) and region in orders:
            rows[region, int(work.step[i])].append(i)
    for (key, _), own in rows.items():
        yield from (
            _on_host(attribution, orders[key], own)
            if attribution.is_host
            else _on_device(attribution, orders[key], own)
        )


def _on_host(attribution: Attribution, order: CallOrder, rows: list[int]) -> Iterator[Called]:
    """A CPU's rows have the names of what is called: all of these, as often as the graph is called, or none."""
    expected = [entry for entry in order.called() if isinstance(entry, str) or _has_row(entry)]
    names = [entry if isinstance(entry, str) else entry.op for entry in expected]
    known = set(names)
    own = [i for i in rows if _called_name(attribution, i) in known and not _is_inside(attribution, i, known)]
    times = len(own) // len(names) if names else 0
    if [_called_name(attribution, i) for i in own] != names * times:
        return
    for i, entry in zip(own, expected * times, strict=True):
        if isinstance(entry, LibraryCall):
            yield Called(entry, (i,))


def _has_row(call: LibraryCall) -> bool:
    return OPERATOR.fullmatch(call.op) is not None and is_work(call.op)


def _called_name(attribution: Attribution, row: int) -> str:
    name = attribution.trace.name(int(attribution.work.row[row]))
    return generated_name(name) or name


def _is_inside(attribution: Attribution, row: int, names: set[str]) -> bool:
    """Whether an operator of these names is what called this one."""
    op = int(attribution.work.row[row])
    while attribution.has_parent_op[op]:
        op = int(attribution.parent_op[op])
        if attribution.trace.name(op) in names:
            return True
    return False


def _on_device(attribution: Attribution, order: CallOrder, rows: list[int]) -> Iterator[Called]:
    """Between the same two of Inductor's kernels lie the same calls' kernels, as long as all of these are there."""
    work, trace = attribution.work, attribution.trace
    devices = work.row[rows]
    if np.unique(trace.device[devices]).size > 1 or np.unique(trace.stream[devices]).size > 1:
        return
    names = [trace.name(int(row)) for row in devices]
    entries = [_as_traced(entry) for entry in order.called()]
    marks = [entry for entry in entries if isinstance(entry, str)]
    met = [i for i, name in enumerate(names) if generated_name(name) is not None]
    times = len(met) // len(marks) if marks else 1
    if [generated_name(names[i]) for i in met] != marks * times:
        return
    gaps = _between([i for i, entry in enumerate(entries * times) if isinstance(entry, str)], len(entries) * times)
    for (first, last), (begin, end) in zip(gaps, _between(met, len(names)), strict=True):
        calls = [entry for entry in (entries * times)[first:last] if isinstance(entry, LibraryCall)]
        is_bounded = first > 0 and last < len(entries) * times
        place = begin
        for call, length in zip(calls, split(calls, names[begin:end], is_bounded=is_bounded), strict=False):
            yield Called(call, tuple(rows[place : place + length]))
            place += length


def _as_traced(entry: str | LibraryCall) -> str | LibraryCall:
    """A kernel whose row has its name, or a call: of a kernel that was generated by others, nothing more is known."""
    return entry if isinstance(entry, LibraryCall) or generated_name(entry) is not None else LibraryCall(entry)


def _between(marks: list[int], end: int) -> list[tuple[int, int]]:
    """The stretches before, between and after the marks."""
    return [(before + 1, after) for before, after in pairwise((-1, *marks, end))]


def split(calls: Sequence[LibraryCall], kernels: Sequence[str], *, is_bounded: bool) -> _Segments:
    """How many of the kernels each of the calls started, in order; () where there is not exactly one way to tell.

    `is_bounded` where kernels of Inductor's are on both sides: elsewhere copies of the graph's inputs may be among
    them.
    """
    ends: dict[int, _Segments | None] = {0: ()}
    is_alone = is_bounded and len(calls) == 1
    for call in calls:
        reached: dict[int, _Segments | None] = {}
        for begin, lengths in ends.items():
            for end in range(begin + 1, len(kernels) + 1 if is_alone else min(begin + MOST_KERNELS, len(kernels)) + 1):
                if _fits(call.op, kernels[begin:end], is_alone=is_alone):
                    is_first = end not in reached and lengths is not None
                    reached[end] = (*(lengths or ()), end - begin) if is_first else None
        ends = reached
    return ends.get(len(kernels)) or ()


def _fits(op: str, kernels: Sequence[str], *, is_alone: bool) -> bool:
    """Whether these can be the kernels of one call of an operator, `is_alone` between two of Inductor's kernels."""
    families = [family(name) for name in kernels]
    match kind := next(kind for kind in _Kind if re.fullmatch(kind.value, op)):
        case _Kind.PRODUCT:
            is_split = [_SPLIT.search(name) is not None for name in kernels]
            return families[0] == _PRODUCTS and not is_split[0] and all(is_split[1:])
        case _Kind.ATTENTION:
            return all(one == _ATTENTION for one in families)
        case _Kind.CONVOLUTION:
            is_main = [one in (_CONVOLUTIONS, _PRODUCTS) for one in families]
            is_beside = [_LAYOUT.search(name) is not None for name in kernels]
            return any(is_main) and all(main or beside for main, beside in zip(is_main, is_beside, strict=True))
        case _Kind.OTHER:
            if is_alone:
                return len(kernels) == 1 or has_stages(op)
            return len(kernels) == 1 and families[0] not in (_PRODUCTS, _ATTENTION, _CONVOLUTIONS)
        case _:
            assert_never(kind)
