"""Records the items twice: under torch.profiler as our product sees them, and under `ncu` as the device counts them."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import Final

from analyzer.core.errors import UserProgramError
from benchmarks.verdicts import ncu, traced
from benchmarks.verdicts.ncu import Counting
from benchmarks.verdicts.processes import module_command, run
from benchmarks.verdicts.recorded import CounterRecording, KernelCounters, Machine, Traced
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write
from benchmarks.verdicts.workplace import last_lines, measure_machine, working_folder, zip_traces

FILE: Final = "counters.json.gz"
LOG: Final = "counters.log"
TRACES: Final = "counters.traces.zip"
TRACED_SHARE: Final = 0.45
"""Of the budget, at most, for the profiled process: it compiles, ncu then finds everything compiled."""

PROBE_ITEMS: Final = 4
UNKNOWN_L2_BYTES: Final = 50_000_000
"""Taken where the device was not measured: an H100 has 50 MB, an H200 as much by its data sheet."""


def record_counters(out: Path, device: str, watch: Stopwatch, only: tuple[str, ...]) -> Path:
    """Record into `out`, and leave there what has been measured whenever it ends. `only` are beginnings of names."""
    with working_folder(out / LOG) as work:
        _record(out, work, device, watch, only)
    return out / FILE


def _record(out: Path, work: Path, device: str, watch: Stopwatch, only: tuple[str, ...]) -> None:
    machine = measure_machine(work, device, watch)
    arguments = ["--device", device, "--out", str(work), "--budget-s", f"{watch.budget_s * TRACED_SHARE:.0f}"]
    arguments += ["--only", *only] if only else []
    cache = work / "inductor"
    limit_s = min(watch.left_s, watch.budget_s * TRACED_SHARE + 45.0)
    run(module_command("traced", *arguments), work / "traced.log", limit_s, TORCHINDUCTOR_CACHE_DIR=str(cache))
    recorded = _traced(work)
    ran = sum(item.step is not None for item in recorded.items)
    watch.say(f"{ran} of {len(recorded.items)} items under torch.profiler")
    zip_traces(work, [b.trace for b in recorded.batches], out / TRACES)
    keep = _Keeper(out, machine, recorded, ncu.version() if device == "cuda" else None)
    keep.write((), ("no ncu here: nothing was counted",) if keep.ncu is None else ())
    if keep.ncu is not None:
        _count(keep, work, device, watch)
        with zipfile.ZipFile(out / TRACES, "a", zipfile.ZIP_DEFLATED) as archive:
            for csv in sorted(work.glob("*.csv")):
                archive.write(csv, f"ncu/{csv.name}")


def _traced(work: Path) -> Traced:
    """What the profiled process wrote. Raises UserProgramError, with its last words, where it wrote nothing."""
    if not (work / traced.FILE).is_file():
        raise UserProgramError(f"the profiled process recorded nothing: {last_lines(work / 'traced.log')}")
    return read(work / traced.FILE, Traced)


class _Keeper:
    """Writes the recording as it grows."""

    def __init__(self, out: Path, machine: Machine, recorded: Traced, version: str | None) -> None:
        self._out = out
        self._machine = machine
        self.traced = recorded
        self.ncu = version

    def write(self, counters: tuple[KernelCounters, ...], notes: tuple[str, ...]) -> None:
        write(CounterRecording(self._machine, self.traced, counters, self.ncu, notes), self._out / FILE)

    def items(self, *, is_cold: bool) -> tuple[str, ...]:
        """Those whose working set is larger than the last-level cache, or is not.

        They are spread, so that a run which ends early has some of all.
        """
        limit = self._machine.device.l2_bytes or UNKNOWN_L2_BYTES
        ran = [i for i in self.traced.items if i.step is not None and i.working_set_bytes is not None]
        names = [i.name for i in ran if ((i.working_set_bytes or 0) > limit) == is_cold]
        return tuple(names[0::3] + names[1::3] + names[2::3])


def _count(keep: _Keeper, work: Path, device: str, watch: Stopwatch) -> None:
    path = shutil.which("ncu")
    warm, cold = keep.items(is_cold=False), keep.items(is_cold=True)
    watch.say(f"{keep.ncu}: {len(warm)} items with warm caches, {len(cold)} with flushed ones")
    probe = Counting("warm0", warm[:PROBE_ITEMS] or cold[:PROBE_ITEMS], not warm, device, work, work / "inductor")
    way, counted = ncu.first_that_counts(path or "ncu", probe, watch)
    if way is None:
        keep.write((), (f"ncu counted nothing: {last_lines(work / 'ncu.log')} {last_lines(work / 'warm0.csv')}",))
        return
    keep.write(counted, ("ended early",))
    chunks = [Counting("cold1", tuple(n for n in cold if n not in probe.items), True, device, work, work / "inductor")]
    chunks += [
        Counting("warm1", tuple(n for n in warm if n not in probe.items), False, device, work, work / "inductor")
    ]
    left = sum(len(c.items) for c in chunks)
    for chunk in chunks:
        if not chunk.items or watch.is_over:
            continue
        # Its part of what is left: the other run must have its own.
        limit_s = max(watch.left_s - ncu.START_S, 1.0) * len(chunk.items) / max(left, 1)
        left -= len(chunk.items)
        counted += ncu.count(way, chunk, limit_s)
        watch.say(f"{chunk.name}: {len(counted)} kernels counted so far")
        keep.write(counted, () if not left else ("ended early",))
