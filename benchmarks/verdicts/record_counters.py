"""Records the items twice: under torch.profiler as our product sees them, and under `ncu` as the device counts them."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analyzer.core.errors import UserProgramError
from benchmarks.verdicts import ncu
from benchmarks.verdicts.counted_before import check_same, done, joined, kept, session_of
from benchmarks.verdicts.ncu import Counting
from benchmarks.verdicts.processes import module_command, run
from benchmarks.verdicts.recorded import TRACED_FILE, CounterRecording, ItemSet, KernelCounters, Traced
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write
from benchmarks.verdicts.workplace import last_lines, measure_machine, working_folder, zip_traces

FILE: Final = "counters.json.gz"
LOG: Final = "counters.log"
TRACES: Final = "counters.traces.zip"
TRACED_SHARE: Final = 0.45
"""Of the budget, at most, for the profiled process: it compiles, ncu then finds everything compiled."""

ADDED: Final = "judged by the first session's measurement of the device, to which more was added on"

UNKNOWN_L2_BYTES: Final = 50_000_000
"""Taken where the device was not measured: an H100 has 50 MB, an H200 as much by its data sheet."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which items to record: those of a set, or those of them whose names begin with one of `only`."""

    items: ItemSet = ItemSet.FIRST
    only: tuple[str, ...] = ()

    @property
    def arguments(self) -> list[str]:
        """For `traced`."""
        return ["--set", str(self.items), *(["--only", *self.only] if self.only else [])]


def record_counters(out: Path, device: str, watch: Stopwatch, wanted: Wanted, *, resumes: bool = False) -> Path:
    """Record into `out`, and leave there what has been measured whenever it ends.

    With `resumes` the items that were traced and counted there before stay, and only the rest is run. Raises UsageError
    where those are of another set, device or release, and UnreadableFileError.
    """
    before = kept(out / FILE, out / TRACES, wanted.items, device) if resumes else None
    if before is not None:
        watch.say(f"{len(done(before))} items were counted before")
    with working_folder(out / LOG) as work:
        _record(out, work, device, watch, wanted, before)
    return out / FILE


def _record(
    out: Path, work: Path, device: str, watch: Stopwatch, wanted: Wanted, before: CounterRecording | None
) -> None:
    machine, version = measure_machine(work, device, watch), ncu.version() if device == "cuda" else None
    if before is not None:
        check_same(before, machine, version)
    base = before or CounterRecording(machine, Traced((), ()), (), version, items=wanted.items)
    (work / "done.names").write_text("\n".join(sorted(done(base))))
    arguments = ["--device", device, "--out", str(work), "--budget-s", f"{watch.budget_s * TRACED_SHARE:.0f}"]
    arguments += [*wanted.arguments, "--without", str(work / "done.names")]
    arguments += ["--first-batch", str(len(base.traced.batches))]
    cache = work / "inductor"
    limit_s = min(watch.left_s, watch.budget_s * TRACED_SHARE + 45.0)
    run(module_command("traced", *arguments), work / "traced.log", limit_s, TORCHINDUCTOR_CACHE_DIR=str(cache))
    recorded = _traced(work)
    ran = sum(item.step is not None for item in recorded.items)
    watch.say(f"{ran} of {len(recorded.items)} items under torch.profiler")
    keep = _Keeper(out, base, recorded, None if before is None else machine.date)
    zip_traces(work, [*keep.traces, *_tables(out / TRACES, before)], out / TRACES)
    keep.write((), ("no ncu here: nothing was counted",) if keep.ncu is None else ())
    if keep.ncu is not None:
        _count(keep, work, device, watch)
        with zipfile.ZipFile(out / TRACES, "a", zipfile.ZIP_DEFLATED) as archive:
            for csv in sorted(work.glob("*.csv")):
                archive.write(csv, f"ncu/{csv.name}")


def _tables(archive: Path, before: CounterRecording | None) -> list[str]:
    """What `ncu` printed in earlier sessions."""
    if before is None:
        return []
    with zipfile.ZipFile(archive) as found:
        return [name for name in found.namelist() if name.startswith("ncu/")]


def _traced(work: Path) -> Traced:
    """What the profiled process wrote. Raises UserProgramError, with its last words, where it wrote nothing."""
    if not (work / TRACED_FILE).is_file():
        raise UserProgramError(f"the profiled process recorded nothing: {last_lines(work / 'traced.log')}")
    return read(work / TRACED_FILE, Traced)


class _Keeper:
    """Writes the recording as it grows: `base` is what was there before `traced`, `later` the date of this session
    where something was.
    """

    def __init__(self, out: Path, base: CounterRecording, traced: Traced, later: str | None = None) -> None:
        self._out = out
        self._base = base
        self._later = later
        self.traced = traced
        self.ncu = base.ncu
        self.session = session_of(base.counters)

    @property
    def traces(self) -> list[str]:
        return [batch.trace for batch in joined(self._base, self.traced, ()).traced.batches]

    def write(self, counters: tuple[KernelCounters, ...], notes: tuple[str, ...]) -> None:
        added = () if self._later is None else (f"{ADDED} {self._later}",)
        earlier = tuple(note for note in self._base.notes if note.startswith(ADDED))
        found = joined(self._base, self.traced, counters)
        write(replace(found, notes=tuple(dict.fromkeys((*earlier, *added, *notes)))), self._out / FILE)

    def items(self, *, is_cold: bool) -> tuple[str, ...]:
        """Those whose working set is larger than the last-level cache, or is not.

        They are spread, so that a run which ends early has some of all.
        """
        limit = self._base.machine.device.l2_bytes or UNKNOWN_L2_BYTES
        ran = [i for i in self.traced.items if i.step is not None and i.working_set_bytes is not None]
        names = [i.name for i in ran if ((i.working_set_bytes or 0) > limit) == is_cold]
        return tuple(names[0::3] + names[1::3] + names[2::3])


def _count(keep: _Keeper, work: Path, device: str, watch: Stopwatch) -> None:
    """Two runs of `ncu`: the items with warm caches, which also show how it may be called, and those with flushed ones.

    No probe of a few items before them: starting it once more takes as long as thirty kernels.
    """
    path = shutil.which("ncu")
    warm, cold = keep.items(is_cold=False), keep.items(is_cold=True)
    watch.say(f"{keep.ncu}: {len(warm)} items with warm caches, {len(cold)} with flushed ones")
    names = [(names, is_cold) for names, is_cold in ((warm, False), (cold, True)) if names]
    runs = [
        Counting(f"{'cold' if c else 'warm'}{keep.session}", n, c, device, work, work / "inductor") for n, c in names
    ]
    if not runs:
        keep.write((), ("no item ran: nothing was counted",))
        return
    way, counted = ncu.first_that_counts(path or "ncu", runs[0], watch, _part_s(runs, watch))
    if way is None:
        log, csv = work / "ncu.log", work / f"{runs[0].name}.csv"
        keep.write((), (f"ncu counted nothing: {last_lines(log)} {last_lines(csv)}",))
        return
    for number, one in enumerate(runs[1:], start=1):
        watch.say(f"{len(counted)} kernels counted so far")
        keep.write(counted, ("ended early",))
        if not watch.is_over:
            counted += ncu.count(way, one, _part_s(runs[number:], watch))
    watch.say(f"{len(counted)} kernels counted")
    asked, seen = {*warm, *cold}, {c.item for c in counted}
    is_whole = not way.has_ranges or asked <= seen
    notes = () if is_whole else (f"{len(asked & seen)} of {len(asked)} items were counted: the time was over",)
    keep.write(counted, notes)


def _part_s(runs: Sequence[Counting], watch: Stopwatch) -> float:
    """What the first of `runs` may take: by its items its part of the time that starting them all leaves."""
    share = len(runs[0].items) / sum(len(one.items) for one in runs)
    return ncu.START_S + max(watch.left_s - len(runs) * ncu.START_S, 1.0) * share
