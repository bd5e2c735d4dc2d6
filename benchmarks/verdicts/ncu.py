"""Starts Nsight Compute over a list of items, with the fewest metrics that tell the truth we ask for."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.verdicts.ncu_csv import METRICS, TENSOR, read_counters
from benchmarks.verdicts.processes import module_command, run
from benchmarks.verdicts.recorded import KernelCounters
from benchmarks.verdicts.stopwatch import Stopwatch

_QUERY_LIMIT_S: Final = 40.0
START_S: Final = 12.0
"""Starting Python under ncu, importing torch and making the context: left to a run beyond what its items may take. A
guess; where it is too low the whole recording takes some seconds more than it was given."""

PATIENCE_S: Final = 45.0
"""How far a run may go beyond its time before it is stopped: stopped, it loses what it has not printed."""


@dataclass(frozen=True, slots=True)
class Ncu:
    """One way to call it. Older and newer releases know other options, so the first that counts something is kept."""

    path: str
    metrics: tuple[str, ...]
    has_ranges: bool
    has_base_units: bool

    def command(self, log: Path, is_cold: bool, program: Sequence[str]) -> list[str]:
        options = ["--profile-from-start", "off", "--replay-mode", "kernel", "--clock-control", "none"]
        options += ["--cache-control", "all" if is_cold else "none", "--target-processes", "application-only"]
        options += ["--nvtx"] if self.has_ranges else []
        options += ["--print-units", "base"] if self.has_base_units else []
        options += ["--metrics", ",".join(self.metrics), "--csv", "--page", "raw", "--log-file", str(log)]
        return [self.path, *options, *program]


def version(path: str | None = None) -> str | None:
    """The last line `ncu --version` prints; None where there is no ncu, or it does not run."""
    found = path or shutil.which("ncu")
    if found is None:
        return None
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=_QUERY_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return lines[-1].strip() if done.returncode == 0 and lines else None


def ways(path: str) -> tuple[Ncu, ...]:
    """How it may be called, the fullest first."""
    full = (*METRICS, *_tensor_metric(path))
    return (
        Ncu(path, full, has_ranges=True, has_base_units=True),
        Ncu(path, METRICS, has_ranges=True, has_base_units=False),
        Ncu(path, METRICS, has_ranges=False, has_base_units=False),
    )


def _tensor_metric(path: str) -> tuple[str, ...]:
    """The name that this chip has for the use of its matrix units; nothing where the query does not say."""
    try:
        done = subprocess.run([path, "--query-metrics"], capture_output=True, text=True, timeout=_QUERY_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    known = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    return next(((name,) for name in TENSOR if name.split(".")[0] in known), ())


@dataclass(frozen=True, slots=True)
class Counting:
    """A run of ncu over some items. `out` gets its CSV and its log; `cache` is Inductor's, filled before."""

    name: str
    items: tuple[str, ...]
    is_cold: bool
    device: str
    out: Path
    cache: Path


def count(way: Ncu, counting: Counting, limit_s: float) -> tuple[KernelCounters, ...]:
    """What was counted; nothing where ncu could not. The program stops by itself before the limit, so that ncu can
    print: it prints at the end.
    """
    names, csv = counting.out / f"{counting.name}.names", counting.out / f"{counting.name}.csv"
    names.parent.mkdir(parents=True, exist_ok=True)
    names.write_text("\n".join(counting.items))
    csv.unlink(missing_ok=True)
    program = module_command(
        "counted",
        "--device",
        counting.device,
        "--names",
        str(names),
        "--budget-s",
        f"{max(limit_s - START_S, 1.0):.0f}",
    )
    run(
        way.command(csv, counting.is_cold, program),
        counting.out / "ncu.log",
        limit_s + PATIENCE_S,
        TORCHINDUCTOR_CACHE_DIR=str(counting.cache),
        # What Inductor compiles is in its cache; a pool of compilers would only be watched by ncu.
        TORCHINDUCTOR_COMPILE_THREADS="1",
    )
    if not csv.is_file():
        return ()
    return read_counters(csv.read_text(errors="replace"), run=counting.name, is_cold=counting.is_cold)


def first_that_counts(
    path: str, counting: Counting, watch: Stopwatch, limit_s: float
) -> tuple[Ncu | None, tuple[KernelCounters, ...]]:
    """The first way that counts anything, and what it counted. One that is not known to this release fails at once."""
    for way in ways(path):
        if watch.is_over:
            break
        counted = count(way, counting, min(limit_s, watch.left_s))
        watch.say(f"ncu, {len(way.metrics)} metrics, ranges {way.has_ranges}: {len(counted)} kernels")
        if any(c.sm_percent is not None and c.memory_percent is not None for c in counted):
            return way, counted
    return None, ()
