"""What a cache may hold of a kernel's inputs is what playing the kernels one after another gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from analyzer.derive.attribution import attribute
from analyzer.derive.costs.cost import Cost
from analyzer.derive.kernel_costs import KernelCosts
from analyzer.derive.residency import WHOLE, resident_bytes
from tests.traces import Recording

LAWS = settings(deadline=None, max_examples=150)

sizes = st.lists(st.sampled_from((0, 1, 2, 3, 50)), max_size=3).map(tuple)
costs = st.builds(
    lambda reads, writes: Cost(0, sum(reads) + sum(writes), reads=reads, writes=writes), reads=sizes, writes=sizes
)
shares = st.sampled_from((0.0, 0.25, 0.5, 1.0))


def _played(kernels: list[tuple[Cost | None, float]], cache_bytes: int) -> list[float]:
    written_at: dict[int, float] = {}
    moved, done, found = 0.0, 0.0, []
    for cost, share in kernels:
        if cost is None:
            found.append(0.0)
            continue
        held = [size for size in cost.reads if size in written_at and moved - written_at[size] <= cache_bytes]
        found.append(sum(held) * share)
        moved += cost.bytes * share
        done += share
        if done >= WHOLE:
            written_at |= {size: moved for size in cost.writes if 0 < size <= cache_bytes}
            done = 0.0
    return found


@LAWS
@given(st.data(), st.lists(costs, min_size=1, max_size=4), st.integers(0, 60))
def test_a_cache_holds_what_playing_one_kernel_after_another_leaves_in_it(
    data: st.DataObject, different: list[Cost], cache_bytes: int
) -> None:
    kernels = data.draw(st.lists(st.tuples(st.sampled_from((None, *different)), shares), min_size=1, max_size=12))
    run = Recording()
    with run.step(), run.op("aten::x"):
        for i, _ in enumerate(kernels):
            run.launch(f"kernel {i}", us=2)
    attribution = attribute(run.trace())
    told = KernelCosts.of([cost for cost, _ in kernels], np.asarray([share for _, share in kernels], dtype=np.float64))
    assert resident_bytes(told, attribution, cache_bytes).tolist() == _played(kernels, cache_bytes)
