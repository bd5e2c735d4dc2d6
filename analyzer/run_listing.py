"""The run folders that lie in a folder, by name and time alone: no report is read. Imports nothing slow."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.shell import shell_path

REPORT: Final = "report.json"
BEFORE: Final = "before.trace.json.gz"
"""Names of `run_folder.RunFolder`, which brings what looking for folders does without."""

MOST_ENTRIES: Final = 20_000
"""Entries of a folder that are looked at, some 10 µs each."""
_TRACES: Final = (".json", ".json.gz", ".json.gzip", ".json.zst", ".json.zstd")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run folder: its name in the folder, and when its report, or without one its trace, was last written (ns since
    1970)."""

    name: str
    written_ns: int
    has_report: bool


@dataclass(frozen=True, slots=True)
class RunListing:
    """The runs of `folder`, the newest first. `left_out` entries of it were not looked at: those past MOST_ENTRIES, and
    those whose name is no text, which no address can hold.
    """

    folder: Path
    runs: tuple[ListedRun, ...]
    left_out: int = 0

    def run(self, name: str) -> ListedRun | None:
        return next((run for run in self.runs if run.name == name), None)


def list_runs(folder: Path) -> RunListing:
    """Empty where the folder holds none, is none or cannot be read. A link to a folder of another place is followed,
    as everything below is the user's own.
    """
    found, left_out = [], 0
    try:
        with os.scandir(folder) as entries:
            for number, entry in enumerate(entries):
                if number >= MOST_ENTRIES or not _is_text(entry.name):
                    left_out += 1
                elif not entry.name.startswith(".") and (run := _listed(entry.path, entry.name)) is not None:
                    found.append(run)
    except OSError:
        return RunListing(folder, ())
    return RunListing(folder, tuple(sorted(found, key=lambda run: (-run.written_ns, run.name))), left_out)


def find_run(folder: Path, name: str) -> ListedRun | None:
    """The run of this name as it is now, as `list_runs` would list it, without a look at the others. None where there
    is none, and for what is no name of an entry.
    """
    if not name or name.startswith(".") or "\0" in name or os.path.basename(name) != name or not _is_text(name):
        return None
    return _listed(os.path.join(folder, name), name)


def holds_runs(folder: Path) -> bool:
    """Whether a folder holds run folders: one with a report below it, and no report or trace in itself."""
    try:
        with os.scandir(folder) as entries:
            if any(entry.name.lower().endswith(_TRACES) for entry in entries):
                return False
    except OSError:
        return False
    return any(run.has_report for run in list_runs(folder).runs)


def what_to_type(folder: Path) -> str:
    """What to do with a folder of runs, as the hint of an error."""
    newest = next((run.name for run in list_runs(folder).runs if run.has_report), "NAME")
    one = shell_path(folder / newest)
    return f"`analyze dashboard {shell_path(folder)}` shows them all, `analyze show {one}` the newest"


def what_to_make(folder: Path) -> str:
    """What to do where a folder holds no run, as the hint of an error."""
    return f"`analyze model.py --out {shell_path(folder / 'NAME')}` writes one into it"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return False
    return True


def _listed(path: str, own: str) -> ListedRun | None:
    for name in (REPORT, BEFORE):
        try:
            written_ns = os.stat(os.path.join(path, name)).st_mtime_ns
        except (OSError, ValueError):
            continue
        return ListedRun(own, written_ns, name == REPORT)
    return None
