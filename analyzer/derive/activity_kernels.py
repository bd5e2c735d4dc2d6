"""The kernels of a step by size, and the pointwise operators that ran one after another without being fused."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import Final, NamedTuple

import numpy as np

from analyzer.core.activity import KernelSizes, PointwiseChain
from analyzer.core.device import Device
from analyzer.core.distinct import distinct
from analyzer.core.graphs import GapKey, Region
from analyzer.core.trace import EventKind, IntColumn, OpDetail
from analyzer.derive.activity_scene import Scene

SMALL_KERNELS: Final = 3.0
"""A kernel within this many durations of an empty one spends a third of its time or more on starting and ending."""

SHORTEST_CHAIN: Final = 3
"""Operators. A choice: two in a row are also what a residual and its activation leave behind."""

_POINTWISE_NAMES: Final = (
    "abs|acos|add|addcdiv|addcmul|asin|atan|atan2|bitwise_and|bitwise_not|bitwise_or|bitwise_xor|ceil|celu|clamp|clamp_max"
    "|clamp_min|cos|cosh|div|elu|eq|erf|erfc|erfinv|exp|exp2|expm1|floor|floor_divide|fmod|frac|ge|gelu|gt|hardsigmoid"
    "|hardswish|hardtanh|isinf|isnan|le|leaky_relu|lerp|log|log10|log1p|log2|logical_and|logical_not|logical_or"
    "|logical_xor|lt|masked_fill|maximum|minimum|mish|mul|nan_to_num|ne|neg|pow|reciprocal|relu|relu6|remainder|round|rsqrt"
    "|rsub|selu|sigmoid|sign|silu|sin|sinh|softplus|sqrt|square|sub|tan|tanh|threshold|trunc|where|__and__|__or__|__xor__"
    "|(?:threshold|gelu|silu|tanh|sigmoid|elu|hardswish|hardtanh|hardsigmoid|leaky_relu|softplus)_backward"
)
NO_PIECE: Final = -1
"""In a column of sizes: of no pointwise operator, or of one without a known size."""

POINTWISE: Final = re.compile(rf"aten::(?:{_POINTWISE_NAMES})_?")
"""Operators whose every element of the result depends on one element of each input."""


def kernel_sizes(scene: Scene, small_ns: int | None) -> tuple[KernelSizes, ...]:
    """The kernels of each region of a step that has some, in order of a step. Empty on a CPU."""
    if scene.attribution.is_host:
        return ()
    work, trace = scene.attribution.work, scene.trace
    is_kernel = work.has_region & (trace.kind[work.row] == EventKind.KERNEL)
    is_kernel &= scene.is_recorded(trace.start_ns[work.launch])
    found = []
    for number, region in enumerate(scene.attribution.regions):
        own = np.flatnonzero(is_kernel & (work.region == number))
        if not own.size:
            continue
        lengths = work.own_ns[own]
        small = lengths[lengths <= small_ns] if small_ns is not None else None
        found.append(
            KernelSizes(
                region=region.region,
                count=own.size / scene.steps,
                device_ns=scene.a_step(int(lengths.sum())),
                launches=distinct(work.launch[own]).size / scene.steps,
                small_count=small.size / scene.steps if small is not None else None,
                small_ns=scene.a_step(int(small.sum())) if small is not None else None,
            )
        )
    return tuple(found)


def small_kernel_ns(device: Device | None) -> int | None:
    """Up to which duration a kernel is small on this device; None where an empty one was not measured."""
    empty = device.empty_kernel_ns if device is not None else None
    return round(SMALL_KERNELS * empty) if empty is not None else None


class _Piece(NamedTuple):
    """One kernel of a pointwise operator."""

    op: str
    elements: int
    ns: int


def chains(scene: Scene) -> tuple[PointwiseChain, ...]:
    """The chains of pointwise operators in the eager gaps of a step, longest in time first.

    The shapes come from the operators' rows: without recorded shapes there is no chain. Equal chains of one region are
    one row with a count.
    """
    work, trace = scene.attribution.work, scene.trace
    found: dict[tuple[Region, tuple[str, ...], int], list[tuple[int, int]]] = defaultdict(list)
    recorded = scene.is_recorded(trace.start_ns[work.launch])
    for number, region in enumerate(scene.attribution.regions):
        if not isinstance(region.region, GapKey):
            continue
        own = np.flatnonzero(work.has_region & recorded & (work.region == number))
        order = np.lexsort((work.row[own], trace.start_ns[work.launch[own]], work.step[own]))
        for chain in _runs(scene, own[order]):
            key = (region.region, tuple(piece.op for piece in chain), chain[0].elements)
            found[key].append((sum(piece.ns for piece in chain), max(piece.ns for piece in chain)))
    # On a CPU the operators' own time is the host's, which the profiler stretches.
    scale = scene.host_scale if scene.attribution.is_host else 1.0
    rows = [
        PointwiseChain(
            region=region,
            ops=ops,
            elements=elements,
            count=len(times) / scene.steps,
            device_ns=scene.a_step(scale * sum(whole for whole, _ in times)),
            longest_ns=scene.a_step(scale * sum(longest for _, longest in times)),
        )
        for (region, ops, elements), times in found.items()
    ]
    return tuple(sorted(rows, key=lambda c: (-c.device_ns, c.ops, c.elements, str(c.region))))


def _runs(scene: Scene, members: IntColumn) -> list[list[_Piece]]:
    """Maximal runs of pointwise operators of one size, within one step and one launching thread."""
    work, trace = scene.attribution.work, scene.trace
    elements = _elements(scene, members)
    name_id = trace.name_id[work.op[members]]
    step, thread = work.step[members], trace.thread[work.launch[members]]
    is_piece = elements != NO_PIECE
    goes_on = is_piece[1:] & (np.diff(elements) == 0) & (np.diff(step) == 0) & (np.diff(thread) == 0)
    run = np.cumsum(np.concatenate(([True], ~goes_on))) if members.size else members
    is_long = is_piece & (np.bincount(run)[run] >= SHORTEST_CHAIN)
    runs: dict[int, list[_Piece]] = defaultdict(list)
    columns = (run, elements, name_id, work.own_ns[members])
    # 0.5 µs a kernel of a chain.
    for number, size, name, ns in zip(*(column[is_long].tolist() for column in columns), strict=True):
        runs[number].append(_Piece(trace.names[name], size, ns))
    return list(runs.values())


def _elements(scene: Scene, members: IntColumn) -> IntColumn:
    """The size of what each kernel's operator makes, NO_PIECE where that is not known or not pointwise."""
    work, trace = scene.attribution.work, scene.trace
    found = np.full(members.size, NO_PIECE, dtype=np.int64)
    is_copy = trace.are(work.row[members], EventKind.COPY, EventKind.MEMSET)
    is_pointwise = np.asarray([POINTWISE.fullmatch(name) is not None for name in trace.names] or [False])
    op = work.op[members]
    own = np.flatnonzero(work.has_op[members] & ~is_copy & trace.has_detail[op] & is_pointwise[trace.name_id[op]])
    details, of = np.unique(trace.detail_id[op[own]], return_inverse=True)
    sizes = [_largest_input(trace.details[number]) for number in details.tolist()]
    found[own] = np.asarray(sizes, dtype=np.int64)[of]
    return found


def _largest_input(detail: OpDetail) -> int:
    """Broadcasting makes the result at least as large as the largest input; equal largest inputs are one chain."""
    sizes = [math.prod(s) for s, dtype in zip(detail.shapes, detail.dtypes, strict=False) if s and dtype != "Scalar"]
    return max(sizes, default=NO_PIECE)
