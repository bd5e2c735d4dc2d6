"""What a recording of counters already holds, so that a later session adds only the rest of its set."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from analyzer.core.errors import UnreadableFileError, UsageError
from benchmarks.verdicts.recorded import CounterRecording, ItemSet, KernelCounters, Machine, Traced
from benchmarks.verdicts.store import read

_SESSION: Final = re.compile(r"\d+$")
"""Which session a run of `ncu` was of, at the end of its name."""


def kept(file: Path, traces: Path, items: ItemSet, device: str) -> CounterRecording | None:
    """What is in `file`; None where there is no such file.

    Raises UsageError where it is of another set or kind of device, and UnreadableFileError where a trace is missing.
    """
    if not file.is_file():
        return None
    found = read(file, CounterRecording)
    if found.items is not items:
        raise UsageError(
            f"{file.parent} holds the {found.items} set", hint=f"give --set {found.items}, or another folder"
        )
    if found.machine.device.kind != device:
        raise UsageError(f"{file.parent} was recorded on {found.machine.device.kind}", hint="give another folder")
    try:
        with zipfile.ZipFile(traces) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFileError(f"{traces}: not an archive of traces", hint="give another folder") from error
    if absent := [batch.trace for batch in found.traced.batches if batch.trace not in names]:
        raise UnreadableFileError(f"{traces} lacks {', '.join(absent)}", hint="give another folder")
    return found


def done(found: CounterRecording) -> frozenset[str]:
    """The items with both a trace and counters."""
    return frozenset(c.item for c in found.counters if c.item is not None)


def check_same(found: CounterRecording, machine: Machine, ncu: str | None) -> None:
    """Raises UsageError where this session's device or releases are others: its kernels would not be these."""
    before, now = found.machine, machine
    told = ((before.device.name, now.device.name), (before.versions.torch, now.versions.torch), (found.ncu, ncu))
    if others := [f"{new or 'no ncu'} and not {old or 'no ncu'}" for old, new in told if old != new]:
        raise UsageError(f"this session has {', '.join(others)}", hint="give another folder to --into")


def session_of(counters: Sequence[KernelCounters]) -> int:
    """The number of the session that comes after those of these counters."""
    numbers = [int(n[0]) for c in counters if (n := _SESSION.search(c.run)) is not None]
    return max(numbers, default=-1) + 1


def joined(found: CounterRecording, traced: Traced, counters: Sequence[KernelCounters]) -> CounterRecording:
    """With another session's, whose batches are numbered after those of `found`. What was done before stands; of any
    other item the later session tells."""
    own = done(found)
    later = {i.name: i for i in traced.items if i.name not in own}
    items = (*(i for i in found.traced.items if i.name not in later), *later.values())
    return replace(
        found,
        traced=Traced(items, (*found.traced.batches, *traced.batches)),
        counters=(*found.counters, *counters),
    )
