"""Which of a kernel's inputs may still lie in the last-level cache, because a kernel shortly before wrote them.

A trace does not name buffers: an input is taken for an earlier output when it has exactly its size, and no more than a
cache of other traffic lies between. What this finds is a chance, and gives the lower end of a kernel's traffic.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from analyzer.derive.attribution import Attribution
from analyzer.derive.kernel_costs import KernelCosts

WHOLE: Final = 0.999
"""Of an operator whose kernels share its cost: its output is there once all of them ran. Shares add up to 1 but for
rounding."""


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
    # 1 µs a row.
    for i in np.lexsort((work.row, trace.start_ns[work.row])).tolist():
        cost, share = costs.costs[i], float(costs.shares[i])
        if cost is None:
            continue
        held = sum(size for size in cost.reads if moved - written_at.get(size, -np.inf) <= cache_bytes)
        found[i] = held * share
        moved += cost.bytes * share
        done += share
        if done >= WHOLE:
            written_at.update((size, moved) for size in cost.writes if 0 < size <= cache_bytes)
            done = 0.0
    return found
