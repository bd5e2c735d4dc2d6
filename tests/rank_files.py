"""Ranks for tests: recordings of one program on several devices, and a worker that dies where it is told to."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from analyzer.core.ranks import LostRank
from analyzer.core.trace import Trace
from analyzer.workers import Outcome, RankTask, summarize_file
from tests.traces import Recording

COLLECTIVE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def a_rank(
    own_us: float, wait_us: float, *, steps: int = 4, base_ns: int = 1_700_000_000_000_000_000, host_us: float = 0.0
) -> Recording:
    """Steps of a kernel of `own_us`, after `host_us` of host, and a collective that takes 10 µs and `wait_us` more."""
    run = Recording(base_ns=base_ns)
    for _ in range(steps):
        with run.step():
            run.host(host_us)
            run.launch("gemm", us=own_us)
            with run.range("nccl:all_reduce"):
                run.launch(COLLECTIVE, us=10 + wait_us)
            run.synchronize()
    return run


def traces_of(*own_us: float, offsets_ns: tuple[int, ...] = ()) -> tuple[Trace, ...]:
    """Ranks whose own kernels take so long: in their collectives each waits for the slowest."""
    slowest = max(own_us)
    offsets = offsets_ns or (0,) * len(own_us)
    return tuple(
        a_rank(own, slowest - own, base_ns=1_700_000_000_000_000_000 + offset).trace()
        for own, offset in zip(own_us, offsets, strict=True)
    )


@dataclass(frozen=True)
class DiesOnce:
    """Summarises as ever, but the worker that first meets one of `places` is killed; `flag` remembers that it was."""

    flag: Path
    places: tuple[int, ...]

    def __call__(self, task: RankTask) -> Outcome:
        if task.place in self.places:
            mark = self.flag / str(task.place)
            if not mark.exists():
                mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        return summarize_file(task)


def tells_its_mask(task: RankTask) -> Outcome:
    """Says whether Ctrl-C reaches the process it runs in."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    return LostRank(task.name, "deaf" if signal.SIGINT in blocked else "hears")
