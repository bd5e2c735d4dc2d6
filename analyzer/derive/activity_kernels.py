"""The kernels of a step by size, and the pointwise operators that ran one after another without being fused."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Final

import numpy as np

from analyzer.core.activity import KernelSizes, PointwiseChain
from analyzer.core.device import Device
from analyzer.core.graphs import GapKey, Region
from analyzer.core.trace import EventKind
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
                launches=np.unique(work.launch[own]).size / scene.steps,
                small_count=small.size / scene.steps if small is not None else None,
                small_ns=scene.a_step(int(small.sum())) if small is not None else None,
            )
        )
    return tuple(found)


def small_kernel_ns(device: Device | None) -> int | None:
    """Up to which duration a kernel is small on this device; None where an empty one was not measured."""
    empty = device.empty_kernel_ns if device is not None else None
    return round(SMALL_KERNELS * empty) if empty is not None else None


@dataclass(frozen=True, slots=True)
class _Piece:
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
        for chain in _runs(scene, own[order].tolist()):
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


def _runs(scene: Scene, members: list[int]) -> list[list[_Piece]]:
    """Maximal runs of pointwise operators of one size, within one step and one launching thread."""
    work, trace = scene.attribution.work, scene.trace
    runs: list[list[_Piece]] = []
    run: list[_Piece] = []
    at: tuple[int, int] | None = None
    for i in members:
        piece = _piece(scene, i)
        here = (int(work.step[i]), int(trace.thread[work.launch[i]]))
        if piece is None or not run or here != at or piece.elements != run[0].elements:
            runs.append(run)
            run = []
        if piece is not None:
            run.append(piece)
        at = here
    return [own for own in (*runs, run) if len(own) >= SHORTEST_CHAIN]


def _piece(scene: Scene, index: int) -> _Piece | None:
    work, trace = scene.attribution.work, scene.trace
    if not work.has_op[index] or trace.kind[work.row[index]] in (EventKind.COPY, EventKind.MEMSET):
        return None
    op = int(work.op[index])
    detail = trace.detail(op)
    if POINTWISE.fullmatch(trace.name(op)) is None or detail is None:
        return None
    sizes = [math.prod(s) for s, dtype in zip(detail.shapes, detail.dtypes, strict=False) if s and dtype != "Scalar"]
    # Broadcasting makes the result at least as large as the largest input; equal largest inputs are one chain.
    return _Piece(trace.name(op), max(sizes), int(work.own_ns[index])) if sizes else None
