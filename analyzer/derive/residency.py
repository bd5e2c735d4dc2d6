"""Which of a kernel's inputs may still lie in the last-level cache, because a kernel shortly before wrote them.

A trace does not name buffers: an input is taken for an earlier output when it has exactly its size, and no more than a
cache of other traffic lies between. What this finds is a chance, and gives the lower end of a kernel's traffic.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.core.device import Device
from analyzer.derive.attribution import Attribution
from analyzer.derive.costs.cost import Cost
from analyzer.derive.kernel_costs import KernelCosts

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
    written_at: dict[int, float] = {}
    moved, done = 0.0, 0.0
    order = np.lexsort((work.row, trace.start_ns[work.row]))
    order = order[costs.is_known[order]]
    held_bytes: list[float] = []
    # 0.4 µs a row.
    for i, share in zip(order.tolist(), costs.shares[order].tolist(), strict=True):
        cost = costs.costs[i]
        assert cost is not None
        held: float = 0
        for size in cost.reads:
            if size in written_at and moved - written_at[size] <= cache_bytes:
                held += size
        held_bytes.append(held * share)
        moved += cost.bytes * share
        done += share
        if done >= WHOLE:
            for size in cost.writes:
                if 0 < size <= cache_bytes:
                    written_at[size] = moved
            done = 0.0
    found[order] = held_bytes
    return found
