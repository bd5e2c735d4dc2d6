"""Whether other programs kept this machine's cores busy while something was timed. Linux only; elsewhere not known."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final

import torch

from analyzer.core.timing import Crowd

_STAT: Final = Path("/proc/stat")
_BUSY: Final = (0, 1, 2, 5, 6, 7)
"""user, nice, system, irq, softirq, steal of a cpu line (man 5 proc_stat); guest time lies in user and nice."""


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds: of the clock, in which this process's cores were busy, and in which this process ran."""

    clock_s: float
    busy_s: float
    own_s: float


def read_crowd() -> Reading | None:
    """Taken before and after; None where the system does not say."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    try:
        text = _STAT.read_text()
    except OSError:
        return None
    own = os.times()
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    return Reading(perf_counter(), busy_ticks(text, os.sched_getaffinity(0)) * tick_s, own.user + own.system)


def crowd_between(start: Reading | None, end: Reading | None, device: str) -> Crowd | None:
    """What other programs took. On a GPU one thread launches; on a CPU all of torch's threads work."""
    if start is None or end is None or end.clock_s <= start.clock_s:
        return None
    cores = len(os.sched_getaffinity(0))
    others = (end.busy_s - start.busy_s - (end.own_s - start.own_s)) / (end.clock_s - start.clock_s)
    threads = torch.get_num_threads() if device == "cpu" else 1
    return Crowd(other_cores=min(max(others, 0.0), float(cores)), cores=cores, threads=min(threads, cores))


def busy_ticks(stat: str, cores: Iterable[int]) -> int:
    """The ticks in which these cores were not idle, out of the text of /proc/stat."""
    wanted = {f"cpu{core}" for core in cores}
    rows = [line.split() for line in stat.splitlines()]
    return sum(
        int(row[1 + field]) for row in rows if row and row[0] in wanted for field in _BUSY if 1 + field < len(row)
    )
