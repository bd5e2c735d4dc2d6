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


KEPT_SHARE: Final = 1 / 3
"""Of the last cache, that a kernel's last writes fill at most when it ends; memory gets them while later kernels run.
Streams that write more than an H200's L2 holds leave 20, 22, 22 and 20 of its 63 MB there, the medians of 26, 24, 29
and 12 of them in four sets of kernels, of which the first was known when this was chosen; of what wrote less than that
nearly nothing reached memory. Most of them read as much as they write, so that what moved last, twice that much, is
what the cache still holds: what reads more than it writes leaves less there (products of 8192³ in bf16, which read nine
times as much, 4 MB of 134; 134 × 2 / 3 × 63 / 1364 = 4.1)."""


def memory_bytes(cost: Cost, device: Device, share: float = 1.0) -> float:
    """What memory is expected to move from a kernel's start in a clean cache to its end: what it must move, what it
    reads again and the cache had not kept, less the writes that the cache still holds. Bytes; `share` is the kernel's
    of the cost. In a chain of kernels memory gets the writes of those before it beside this.
    """
    moved, written = share * (cost.bytes + missed_rereads(cost, device)), share * sum(cost.writes)
    if device.kind == "cpu" or device.l2_bytes is None or moved <= 0.0:
        return moved
    kept = KEPT_SHARE * device.l2_bytes
    return moved - min(written, kept, 2 * kept * written / moved)


def unwritten_bytes(cost: Cost, device: Device, share: float = 1.0) -> float:
    """What a kernel writes and only the cache gets while it runs: all of it where all that it moves fits beside what
    the cache keeps for memory (KEPT_SHARE). Mostly the kernels after it read it there, and write over it. 0.0 for a
    kernel that moves more, on a CPU, and where the size of the cache or its rate, at which they cross, is not known.
    """
    if device.kind == "cpu" or device.l2_bytes is None or not device.l2_bytes_per_s:
        return 0.0
    moved = share * (cost.bytes + missed_rereads(cost, device))
    return share * sum(cost.writes) if moved <= 2 * KEPT_SHARE * device.l2_bytes else 0.0


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
