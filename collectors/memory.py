"""What the steps of one trial need of the device's memory, in a process where other candidates hold some too.

Reads torch's caching allocator and changes nothing but its peak counters; on a CPU, what a profiled step allocates.
Where the allocator does not tell (`backend:cudaMallocAsync`), nothing is known.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from collectors.memory_cpu import step_peak_bytes
from collectors.step import Stepper

PoolId = tuple[int, int]

DEFAULT_POOL: Final[PoolId] = (0, 0)
"""The pool that all tensors outside a CUDA graph come from (`segment_pool_id` of `torch.cuda.memory_snapshot`)."""

PEAK_STEPS: Final = 2
"""Steps of which the peak is taken. The first may still hold what the step before it returned."""


@dataclass(frozen=True, slots=True)
class Pool:
    """One private pool: what it took of the device, and what of that is tensors now."""

    total_bytes: int
    allocated_bytes: int


Pools = Mapping[PoolId, Pool]


@dataclass(frozen=True, slots=True)
class Footprint:
    """`peak_bytes` is the most that is allocated outside the pools of CUDA graphs, `pool_bytes` what those of the trial
    hold. None: unknown; a CPU has no such pools.
    """

    peak_bytes: int | None = None
    pool_bytes: int | None = None


UNKNOWN: Final = Footprint()


class TrialMemory:
    """To be made before the first step of a trial: what is new in the pools afterwards is the trial's."""

    def __init__(self, device: str) -> None:
        self._before = _pools(device)

    def of_steps(self, stepper: Stepper, *, has_cuda_graphs: bool, kept_bytes: int = 0) -> Footprint:
        """The footprint of a few steps of a warmed-up trial. `has_cuda_graphs`: some graph of it was to be one.
        `kept_bytes` are tensors on the device that lie beside the model and are not the trial's: what the recorder
        keeps to judge results by, and what other candidates keep.
        """
        if stepper.workload.device == "cpu":
            return Footprint(step_peak_bytes(stepper))
        if self._before is None:
            return UNKNOWN
        stepper.prepare()
        torch.cuda.reset_peak_memory_stats()
        for _ in range(PEAK_STEPS):
            stepper.timed()
        peak_bytes = torch.cuda.max_memory_allocated() - kept_bytes - stepper.state.kept_bytes
        after = _pools(stepper.workload.device)
        if after is None:
            return UNKNOWN
        return footprint(self._before, after, peak_bytes, has_cuda_graphs=has_cuda_graphs)


class Growth:
    """To be made before something is compiled: what its tensors, as frozen weights, take of the device from then on. Of
    several compiled right after one another each is asked for in turn: a look collects all garbage, and one is enough
    between two.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._before = _held_bytes(device)

    def bytes(self) -> int:
        """Since it was made or last asked, outside the pools of CUDA graphs, which a footprint has apart; 0 where it is
        not known, as on a CPU, whose peak is of what a step allocates.
        """
        before, self._before = self._before, _held_bytes(self._device)
        return 0 if before is None or self._before is None else max(self._before - before, 0)


def _held_bytes(device: str) -> int | None:
    """Tensors outside the pools of CUDA graphs, once those are gone that only a cycle holds; None: not known."""
    if device != "cuda":
        return None
    gc.collect()
    pools = _pools(device)
    if pools is None:
        return None
    return int(torch.cuda.memory_allocated()) - sum(pool.allocated_bytes for pool in pools.values())


def footprint(before: Pools, after: Pools, peak_bytes: int, *, has_cuda_graphs: bool) -> Footprint:
    """What a trial needs, of the pools before its first step and after its last. The two add up to its footprint.

    Tensors in any private pool are taken off the peak: those of other candidates' graphs are not the trial's, and those
    of its own lie in the pool that `pool_bytes` counts whole. All CUDA graphs that Inductor makes share one pool
    (`CUDAGraphTreeManager`), so that is more than the trial alone needs where an earlier candidate needed more. It is 0
    for a trial without CUDA graphs.
    """
    own = _own(before, after) if has_cuda_graphs else frozenset[PoolId]()
    in_pools = sum(pool.allocated_bytes for pool in after.values())
    return Footprint(
        peak_bytes=max(peak_bytes - in_pools, 0),
        pool_bytes=sum(pool.total_bytes for key, pool in after.items() if key in own),
    )


def _own(before: Pools, after: Pools) -> frozenset[PoolId]:
    """The pools that grew; all where none did: its graphs were recorded before, and it is not known in which."""
    grown = {key for key, pool in after.items() if key not in before or pool.total_bytes > before[key].total_bytes}
    return frozenset(grown or after)


def pooled_bytes(device: str) -> int | None:
    """What the pools of all CUDA graphs of this process hold now; None where it is not known."""
    pools = _pools(device)
    return None if pools is None else sum(pool.total_bytes for pool in pools.values())


def pools_of(segments: Iterable[Mapping[str, Any]], device: int) -> dict[PoolId, Pool]:
    """The private pools of one device, from the segments of a memory snapshot."""
    found: dict[PoolId, Pool] = {}
    for segment in segments:
        first, second = segment.get("segment_pool_id", DEFAULT_POOL)
        key = (int(first), int(second))
        if key == DEFAULT_POOL or segment["device"] != device:
            continue
        known = found.get(key, Pool(0, 0))
        found[key] = Pool(
            known.total_bytes + int(segment["total_size"]), known.allocated_bytes + int(segment["allocated_size"])
        )
    return found


def _pools(device: str) -> dict[PoolId, Pool] | None:
    """The private pools now; None where the device has none to tell of."""
    if device != "cuda":
        return None
    try:
        # Without arguments: `include_traces` is not in every torch that is supported.
        return pools_of(torch.cuda.memory_snapshot(), torch.cuda.current_device())  # type: ignore[no-untyped-call]
    except (RuntimeError, KeyError, TypeError):  # cudaMallocAsync has no snapshot
        return None
