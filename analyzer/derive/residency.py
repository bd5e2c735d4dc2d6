"""Which of a kernel's inputs may still lie in the last-level cache, because a kernel shortly before wrote them.

A trace does not name buffers: an input is taken for an earlier output when it has exactly its size, and no more than a
cache of other traffic lies between. What this finds is a chance, and gives the lower end of a kernel's traffic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.device import Device
from analyzer.core.distinct import numbered
from analyzer.core.trace import IntColumn
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.cost import Cost
from analyzer.derive.kernel_costs import NOTHING, KernelCosts

WHOLE: Final = 0.999
"""Of an operator whose kernels share its cost: its output is there once all of them ran. Shares add up to 1 but for
rounding."""


REUSED_SHARE: Final = 0.5
"""Of the last cache, that holds what is read again and again: since the A100 each of its two halves keeps its own copy
of what the multiprocessors on its side read (NVIDIA A100 Tensor Core GPU Architecture, "A100 L2 cache")."""


def missed_rereads(cost: Cost, device: Device) -> float:
    """Bytes that a kernel reads from memory again, as the cache held only a part of what lay between; 0.0 where the
    size of the cache is not known, and on a CPU, whose libraries cut their work in other ways.
    """
    if device.kind == "cpu" or device.l2_bytes is None or not cost.reread_span:
        return 0.0
    return cost.rereads * max(0.0, 1.0 - REUSED_SHARE * device.l2_bytes / cost.reread_span)


def resident_bytes(costs: KernelCosts, attribution: Attribution, cache_bytes: int | None) -> NDArray[np.float64]:
    """For each row of `Attribution.work`, the bytes of its traffic that the cache may hold already; 0.0 where unknown.

    An output counts as held until the kernels after it moved as much as the cache holds. Kernels of unknown cost are
    taken to evict nothing. `cache_bytes` None: nothing is known to be held.
    """
    work, trace = attribution.work, attribution.trace
    found = np.zeros(len(work), dtype=np.float64)
    if cache_bytes is None:
        return found
    order = np.lexsort((work.row, trace.start_ns[work.row]))
    order = order[costs.is_known[order]]
    shares = costs.shares[order]
    moved = np.cumsum(costs.bytes[order])
    done = np.flatnonzero(_are_done(shares))
    number = costs.number[order]
    fit = [[size for size in cost.writes if 0 < size <= cache_bytes] for cost in costs.different]
    written = _Sizes.of(fit, number[done])
    read = _Sizes.of([[size for size in cost.reads if 0 < size <= cache_bytes] for cost in costs.different], number)
    last = _last_before(read, replace(written, place=done[written.place]), order.size)
    # A kernel reads what was written before it: what it moves itself lies behind that.
    since = np.append(0.0, moved)[read.place] - moved[last]
    held = (last != NOTHING) & (since <= cache_bytes)
    found[order] = np.bincount(read.place[held], weights=read.size[held], minlength=order.size) * shares
    return found


def _are_done(shares: NDArray[np.float64]) -> list[bool]:
    """Behind which kernels an operator's output is there: one after another, as its kernels follow each other."""
    done, found = 0.0, []
    # 0.1 µs a kernel.
    for share in shares.tolist():
        done += share
        found.append(done >= WHOLE)
        if done >= WHOLE:
            done = 0.0
    return found


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Sizes in bytes of what kernels read or write, one entry a tensor: the kernel's place, in order, and the size."""

    place: IntColumn
    size: IntColumn

    @classmethod
    def of(cls, sizes: Sequence[Sequence[int]], number: IntColumn) -> _Sizes:
        """Of kernels with these numbers; `sizes` are those of each number."""
        lengths = np.asarray([len(own) for own in sizes], dtype=np.int64)
        flat = np.asarray([size for own in sizes for size in own], dtype=np.int64)
        counts = lengths[number]
        begins = (np.cumsum(lengths) - lengths)[number] - (np.cumsum(counts) - counts)
        return cls(
            np.repeat(np.arange(number.size), counts), flat[np.repeat(begins, counts) + np.arange(int(counts.sum()))]
        )


def _last_before(read: _Sizes, written: _Sizes, kernels: int) -> IntColumn:
    """For each read the last kernel before its own that wrote something of its size; NOTHING where none did."""
    _, size = numbered(np.concatenate((written.size, read.size)))
    wrote = np.sort(size[: written.size.size] * kernels + written.place)
    wanted = size[written.size.size :]
    last = np.searchsorted(wrote, wanted * kernels + read.place) - 1
    is_same = last >= 0
    is_same[is_same] = wrote[last[is_same]] // kernels == wanted[is_same]
    return np.where(is_same, wrote[last] % max(kernels, 1), NOTHING) if wrote.size else np.full_like(wanted, NOTHING)
