"""What the recordings of counters and interventions share: a folder to work in, the device, the archive of traces."""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from analyzer.core.device import Device, Source, Versions
from benchmarks.verdicts.processes import module_command, run
from benchmarks.verdicts.recorded import Machine
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, today

DEVICE_LIMIT_S: Final = 120.0
LOG_CHARACTERS: Final = 200_000
LAST_CHARACTERS: Final = 600


@contextlib.contextmanager
def working_folder(log: Path) -> Iterator[Path]:
    """A folder for compile caches and single traces, gone afterwards; its logs are kept in one file, `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="verdicts-", ignore_cleanup_errors=True) as folder:
        work = Path(folder)
        try:
            yield work
        finally:
            texts = (f"== {p.name}\n{_end(p, LOG_CHARACTERS)}\n" for p in sorted(work.glob("*.log")))
            log.write_text("".join(texts), encoding="utf-8")


def measure_machine(work: Path, device: str, watch: Stopwatch, **extra: str) -> Machine:
    """The device, measured in a process of its own with `extra` in its environment. Where that fails nothing of it is
    known, and a note says so: what is recorded can be judged later with another's measurement.
    """
    file = work / "machine.json.gz"
    arguments = ("--device", device, "--out", str(file))
    limit_s = min(DEVICE_LIMIT_S, watch.left_s)
    run(module_command("measuring", *arguments), work / "measuring.log", limit_s, **extra)
    if not file.is_file():
        reason = last_lines(work / "measuring.log")
        watch.say(f"the device was not measured: {reason}")
        unknown = Device(kind=device, name="not measured", source=Source.MEASURED, notes=(reason,))
        return Machine(unknown, Versions(graphbound="unknown", python="unknown", torch="unknown"), today())
    machine = read(file, Machine)
    watch.say(f"{machine.device.name}, torch {machine.versions.torch}")
    return machine


def zip_traces(work: Path, names: Sequence[str], target: Path) -> None:
    """The traces in one file, each already compressed; one that is not in `work` is kept from the file as it was."""
    partial = target.with_name(f".{target.name}.partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive, _opened(target) as before:
        for name in names:
            if before is None or (work / name).is_file():
                archive.write(work / name, name)
            else:
                archive.writestr(name, before.read(name))
    partial.replace(target)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile | None]:
    if not path.is_file():
        yield None
        return
    with zipfile.ZipFile(path) as archive:
        yield archive


def last_lines(path: Path) -> str:
    return _end(path, LAST_CHARACTERS).strip() or "it said nothing"


def _end(path: Path, characters: int) -> str:
    return path.read_text(errors="replace")[-characters:] if path.is_file() else ""
