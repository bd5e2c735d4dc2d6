"""What a trial's steps need of the device's memory, from snapshots of the allocator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from collectors import memory
from collectors.memory import UNKNOWN, Footprint, Growth, Pool, TrialMemory, footprint, pools_of
from collectors.memory_cpu import held_bytes
from tests.workloads import a_stepper, a_workload

TREES, OTHER = (0, 1), (0, 2)
MIB = 2**20


def segment(pool: tuple[int, int], total: int, allocated: int, device: int = 0) -> dict[str, Any]:
    return {"device": device, "segment_pool_id": pool, "total_size": total, "allocated_size": allocated, "blocks": []}


def test_only_private_pools_of_the_device_are_counted_and_their_segments_summed() -> None:
    found = pools_of(
        [
            segment((0, 0), 999, 999),
            segment(TREES, 20, 5),
            segment(TREES, 2, 1),
            segment(OTHER, 7, 7),
            segment(OTHER, 100, 100, device=1),
            {"device": 0, "total_size": 50, "allocated_size": 50},  # a torch that does not say the pool
        ],
        device=0,
    )
    assert found == {TREES: Pool(22, 6), OTHER: Pool(7, 7)}


def test_a_trial_without_cuda_graphs_has_no_pool_and_owns_none_of_what_lies_in_them() -> None:
    held = {TREES: Pool(40 * MIB, 8 * MIB)}
    assert footprint(held, held, 100 * MIB, has_cuda_graphs=False) == Footprint(92 * MIB, 0)


def test_a_pool_that_was_made_or_grew_in_the_trial_is_its_own() -> None:
    made = footprint({}, {TREES: Pool(40 * MIB, 8 * MIB)}, 100 * MIB, has_cuda_graphs=True)
    assert made == Footprint(92 * MIB, 40 * MIB)
    before = {TREES: Pool(10 * MIB, MIB), OTHER: Pool(30 * MIB, 5 * MIB)}
    after = {TREES: Pool(40 * MIB, 8 * MIB), OTHER: Pool(30 * MIB, 5 * MIB)}
    assert footprint(before, after, 100 * MIB, has_cuda_graphs=True) == Footprint(87 * MIB, 40 * MIB)


def test_graphs_that_were_recorded_before_may_lie_in_any_pool() -> None:
    held = {TREES: Pool(40 * MIB, 8 * MIB), OTHER: Pool(10 * MIB, 2 * MIB)}
    assert footprint(held, held, 100 * MIB, has_cuda_graphs=True) == Footprint(90 * MIB, 50 * MIB)


sizes = st.integers(0, 2**40)
pools = st.dictionaries(
    st.sampled_from((TREES, OTHER, (0, 3))), st.tuples(sizes, sizes).map(lambda s: Pool(max(s), min(s)))
)


@given(before=pools, after=pools, peak=sizes, has_cuda_graphs=st.booleans())
def test_a_footprint_is_never_negative_and_never_more_than_what_there_is(
    before: dict[Any, Pool], after: dict[Any, Pool], peak: int, has_cuda_graphs: bool
) -> None:
    found = footprint(before, after, peak, has_cuda_graphs=has_cuda_graphs)
    assert found.peak_bytes is not None
    assert found.pool_bytes is not None
    assert 0 <= found.peak_bytes <= peak
    assert 0 <= found.pool_bytes <= sum(pool.total_bytes for pool in after.values())


def test_a_device_whose_allocator_says_nothing_is_unknown_and_not_run() -> None:
    stepper = a_stepper(replace(a_workload(), device="xpu"), lambda *_: pytest.fail("it was run"))
    assert TrialMemory("xpu").of_steps(stepper, has_cuda_graphs=True) == UNKNOWN


def test_on_a_cpu_the_peak_is_that_of_a_step_and_there_are_no_pools() -> None:
    work = a_workload()
    found = TrialMemory("cpu").of_steps(a_stepper(work), has_cuda_graphs=False)
    assert found.pool_bytes is None
    assert found.peak_bytes is not None
    assert found.peak_bytes > held_bytes(a_stepper(work)) > 0


class FakeCuda:
    """Stands for the allocator: a snapshot a call, and the peak since the last reset."""

    def __init__(self, snapshots: list[Any]) -> None:
        self._snapshots: Iterator[Any] = iter(snapshots)
        self.is_reset = False

    def memory_snapshot(self) -> Any:
        found = next(self._snapshots)
        if isinstance(found, Exception):
            raise found
        return found

    def reset_peak_memory_stats(self) -> None:
        self.is_reset = True

    def max_memory_allocated(self) -> int:
        assert self.is_reset
        return 100 * MIB

    def current_device(self) -> int:
        return 0


class Steps:
    """Stands for a stepper on a GPU."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.workload = SimpleNamespace(device="cuda")
        self.state = SimpleNamespace(kept_bytes=7 * MIB)

    def prepare(self) -> None:
        self.order.append("prepare")

    def timed(self) -> int:
        self.order.append("step")
        return 1


def measured(monkeypatch: pytest.MonkeyPatch, snapshots: list[Any]) -> tuple[Footprint, Steps]:
    cuda = FakeCuda(snapshots)
    for name in ("memory_snapshot", "reset_peak_memory_stats", "max_memory_allocated", "current_device"):
        monkeypatch.setattr(torch.cuda, name, getattr(cuda, name))
    steps = Steps()
    found = TrialMemory("cuda").of_steps(steps, has_cuda_graphs=True, kept_bytes=3 * MIB)  # type: ignore[arg-type]
    return found, steps


def test_the_peak_is_of_the_trials_own_steps_without_what_the_recorder_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    after = [segment(TREES, 40 * MIB, 8 * MIB), segment((0, 0), 500 * MIB, 60 * MIB)]
    found, steps = measured(monkeypatch, [[], after])
    assert found == Footprint((100 - 7 - 3 - 8) * MIB, 40 * MIB)
    assert steps.order == ["prepare", *["step"] * memory.PEAK_STEPS]


@pytest.mark.parametrize("snapshots", [[RuntimeError("cudaMallocAsync")], [[], RuntimeError("cudaMallocAsync")]])
def test_an_allocator_that_does_not_tell_leaves_it_unknown(
    monkeypatch: pytest.MonkeyPatch, snapshots: list[Any]
) -> None:
    assert measured(monkeypatch, snapshots)[0] == UNKNOWN


def test_what_something_compiled_keeps_is_what_stays_allocated_outside_the_pools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = [segment(TREES, 40 * MIB, 8 * MIB)]
    cuda, allocated = FakeCuda([[], pool, pool, RuntimeError("cudaMallocAsync")]), [100 * MIB]
    for name in ("memory_snapshot", "current_device"):
        monkeypatch.setattr(torch.cuda, name, getattr(cuda, name))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda: allocated[0])
    growth = Growth("cuda")
    allocated[0] = 350 * MIB
    assert growth.bytes() == (350 - 8 - 100) * MIB
    allocated[0] = 90 * MIB
    assert growth.bytes() == 0
    assert growth.bytes() == 0  # an allocator that does not tell
    assert Growth("cpu").bytes() == 0
