"""How the kernels of a region would be classed if their counts or the measured peaks were somewhat wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.budget import Part
from analyzer.derive.roofline import LATENCY_SHARE, SATURATED_SHARE, SHORT_KERNEL_NS
from analyzer.derive.shared_memory import is_turned

CLASSES: Final = (Part.COMPUTE, Part.MEMORY, Part.LATENCY, Part.UNKNOWN_KERNELS)

ARITHMETIC_ERROR: Final = 0.15
"""One standard deviation of a kernel's arithmetic time, as a share. Over 22 products, convolutions and attentions on an
H200 it was 0.99 to 1.07 of what counters say (middle half); the peaks of other devices are known less well."""

ROUGH_ERROR: Final = 1.0
"""The same where instructions are counted by kind (costs.instructions): over 15 of Inductor's kernels on an H200 the
logarithm of what was counted over what the counters say has a deviation of 0.75, a factor of two."""

COUNTED_ERROR: Final = 0.6
"""The same for kernels whose kind was held against counters (`Cost.is_counted`): within 5 % for those they were taken
from; over 94 others of the same templates, which nobody had looked at, the root mean square of the logarithm of ours
over the counters' is 0.46."""

TRAFFIC_ERROR: Final = 0.30
"""The same of its memory time: over 94 kernels of an H200 of over 10 µs that we took to be under the memory roof, and
had not looked at before, that root mean square is 0.26. Over those that the formulas know it is 0.14 and 0.28."""

SHORT_TRAFFIC_ERROR: Final = 0.75
"""The same of a kernel of up to SHORT_KERNEL_NS on a GPU: it moves less than a cache holds, finds a part of it there,
and fills and drains the device for a good part of its time. Ours is 1.2 to 1.7 times what counters say, in the median,
in each of four sets of kernels of an H200 that we took to be under the memory roof (10, 8, 31 and 21 of them; the root
mean square of the logarithm is 0.51, 0.58, 0.49 and 0.75)."""

NEAR_ERROR: Final = 0.07
"""The same of what the load/store units are asked for by a product in tiles, beside the error of its arithmetic: over
12, 18 and 48 such kernels for Hopper in three sets of an H200's, the root mean square of the logarithm of ours over the
counters', both by the matrix units' time, is 0.02, 0.07 and 0.06; of 19 outside those units, by the issue slots' time,
0.07."""

TURNED_ERROR: Final = 0.25
"""The same where the kernel turns its operands in shared memory first (`shared_memory.is_turned`): a choice. Ours is
0.99 to 1.15 times what counters say, and there were five of them."""

MOST_KERNELS: Final = 128
"""Where there are more, as many stand for all, each for an equal part of their time: 400 draws then take 2 ms."""

UNSEEN_DEVIATION: Final = 0.0
"""Deviations of the traffic's error from which on a kernel of over 10 µs that waits is one that a cache near the
multiprocessors or shared memory bounds: half of all draws. A trace does not show what crosses there, and of 81 such
kernels on an H200 41 turned out to be bound by it, or by instructions beside what we count."""

FILLED_NS: Final = 5_000
UNSEEN_SHORT_DEVIATION: Final = 1.0
"""The same of a kernel of 5 to 10 µs on a GPU: one in six of all draws. Of 22 on an H200 that we took to wait the
counters, whichever of two near figures is theirs, say something else of four. Below 5 µs none was counted."""

ALL_AGAIN: Final = 2.0
"""Deviations of the traffic's error at which all of `KernelPoint.again_ns` is taken for moved, from nothing at 0: in
half of all draws a near cache has kept it. A sum over 40,000 edges of a graph, out of and into tables of 512 KB on an
EPYC with caches of 512 KB a core, took 1.1 ms with edges in random order and 0.74 ms in order while its core was left
alone, and 10.6 and 1.8 ms beside other programs: the same instructions, and the same buffers touched."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class KernelPoint:
    """One kernel: its class, its time, and what arithmetic and traffic alone would take at the hardware's own rates
    (`RoofPoint.compute_share`, `memory_share`; None where unknown).

    `again_ns` is what the traffic may take beside `memory_ns`, all of it or nothing: how much of what is read through
    an index a near cache has kept, a trace does not show. `is_rough`: its instructions were counted by kind, to a
    factor of two; `is_counted`: for kernels of its kind, by the hardware, which is nearer. `is_over`: it computed
    faster than the measured peak allows, so that the peak is wrong, or the count. `is_on_gpu`: a long kernel that is
    far from both roofs waits there; on a CPU `roof_point` says no such thing. `near_ns` is the time of the first cache
    and shared memory, beside `memory_ns`: where it is near that of the arithmetic, either may be called the nearer.
    `is_fed`: it feeds the arithmetic, and takes half the time with half of that (`mm_8192_half_k` of the interventions:
    0.51), while none of it is saved by moving fewer bytes.
    """

    part: Part
    ns: int
    compute_ns: float | None
    memory_ns: float | None
    is_rough: bool = False
    is_over: bool = False
    is_counted: bool = False
    name: str = ""
    again_ns: float = 0.0
    is_on_gpu: bool = False
    near_ns: float = 0.0
    is_fed: bool = False

    @property
    def is_on_chip(self) -> bool:
        """Whether shared memory or the first cache makes it MEMORY."""
        return self.part is Part.MEMORY and self.near_ns > (self.memory_ns or 0.0)

    @property
    def counts_to(self) -> Part:
        """The part of a budget that its time is in: `part`, which says as counters do what is busiest, but where that
        is shared memory that feeds its arithmetic.
        """
        return Part.COMPUTE if self.is_fed and self.is_on_chip else self.part


def perturbed_classes(kernels: Sequence[KernelPoint], arithmetic: Floats, traffic: Floats) -> Floats:
    """Nanoseconds by draw and part of a budget (CLASSES), for errors of so many standard deviations in each draw.

    An error hits all kernels of a draw alike, as a wrong peak or a wrong way of counting would; it is the worst case.
    Kernels without times keep their class.
    """
    rows = np.asarray(
        [
            (
                CLASSES.index(k.counts_to),
                k.ns,
                k.compute_ns or 0.0,
                k.memory_ns or 0.0,
                _arithmetic_error(k),
                k.again_ns,
                _traffic_error(k),
                k.is_on_gpu,
                k.near_ns,
                TURNED_ERROR if k.near_ns and is_turned(k.name) else NEAR_ERROR,
                k.is_fed,
            )
            for k in kernels
        ],
        dtype=np.float64,
    ).reshape(-1, 11)
    known = np.asarray([k.compute_ns is not None and k.memory_ns is not None for k in kernels], dtype=np.bool_)
    is_movable = known & (rows[:, 0] != CLASSES.index(Part.UNKNOWN_KERNELS)) & (rows[:, 1] > 0)
    fixed, movable = rows[~is_movable], rows[is_movable]
    found = np.tile([fixed[fixed[:, 0] == number, 1].sum() for number in range(len(CLASSES))], (arithmetic.size, 1))
    (code, ns, compute, memory, error, again, spread, on_gpu, near, near_error, fed), weight_ns = _standing_for(movable)
    far_now = memory * _factor(traffic, spread) + again * np.clip(traffic[:, None] / ALL_AGAIN, 0.0, 1.0)
    # Both are counted from the same tiles.
    near_now = near * _factor(arithmetic, error) * _factor(traffic, near_error)
    compute_now = np.maximum(compute * _factor(arithmetic, error), near_now * fed)
    memory_now = np.maximum(far_now, near_now * (1.0 - fed))
    may_wait = (ns <= SHORT_KERNEL_NS) | (code == CLASSES.index(Part.LATENCY)) | (on_gpu > 0)
    moved = _classes(ns, compute_now, memory_now, may_wait)
    # A rough count does not beat a full bandwidth (see `roof_point`).
    is_full = (error > ARITHMETIC_ERROR) & (far_now >= SATURATED_SHARE * ns)
    is_unseen = traffic[:, None] > _unseen_deviation(code, ns, on_gpu)
    moved = np.where(is_full | is_unseen, CLASSES.index(Part.MEMORY), moved)
    for number in range(len(CLASSES)):
        found[:, number] += (moved == number) @ weight_ns
    return found


def _arithmetic_error(kernel: KernelPoint) -> float:
    if kernel.is_counted:
        return COUNTED_ERROR
    return ROUGH_ERROR if kernel.is_rough else ARITHMETIC_ERROR


def _traffic_error(kernel: KernelPoint) -> float:
    return SHORT_TRAFFIC_ERROR if kernel.is_on_gpu and kernel.ns <= SHORT_KERNEL_NS else TRAFFIC_ERROR


def _unseen_deviation(code: Floats, ns: Floats, on_gpu: Floats) -> Floats:
    """Of each kernel the deviations of the traffic's error from which on something unseen bounds it; inf: never."""
    is_filled = (ns > FILLED_NS) & (on_gpu > 0)
    waiting = np.where(ns > SHORT_KERNEL_NS, UNSEEN_DEVIATION, np.where(is_filled, UNSEEN_SHORT_DEVIATION, np.inf))
    found: Floats = np.where(code == CLASSES.index(Part.LATENCY), waiting, np.inf)
    return found


def _standing_for(rows: Floats) -> tuple[Floats, Floats]:
    """Columns of at most MOST_KERNELS of these kernels, and the time that each stands for."""
    # Neighbours are alike, and the order does not depend on that of the trace, which equal starts leave open.
    share = np.maximum(rows[:, 2], rows[:, 3]) / rows[:, 1]
    order = np.lexsort((*(rows[:, column] for column in range(rows.shape[1] - 1, 0, -1)), share, rows[:, 0]))
    rows = rows[order]
    if len(rows) <= MOST_KERNELS:
        return rows.T, rows[:, 1]
    reach = np.cumsum(rows[:, 1])
    middles = (np.arange(MOST_KERNELS) + 0.5) * reach[-1] / MOST_KERNELS
    return rows[np.searchsorted(reach, middles)].T, np.full(MOST_KERNELS, reach[-1] / MOST_KERNELS)


def _factor(deviations: Floats, error: Floats) -> Floats:
    factor: Floats = np.exp(deviations[:, None] * np.log1p(error))
    return factor


def _classes(ns: Floats, compute: Floats, memory: Floats, may_wait: NDArray[np.bool_]) -> Floats:
    """The classes that `roofline.roof_point` would give, as far as it may change its mind (see there)."""
    nearer = np.where(compute > memory, CLASSES.index(Part.COMPUTE), CLASSES.index(Part.MEMORY))
    is_far = np.maximum(compute, memory) < LATENCY_SHARE * ns
    classes: Floats = np.where(is_far & may_wait, CLASSES.index(Part.LATENCY), nearer)
    return classes
