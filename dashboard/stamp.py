"""When what is shown was last written, so that a page can tell that there is something newer. Reads no report."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from analyzer.run_listing import REPORT

TRACES: Final = ("before.trace.json.gz", "after.trace.json.gz")
_LOCK: Final = ".running"
"""Names of `run_folder.RunFolder`, which brings what looking at times does without."""
_DIGITS: Final = 32
MOST_FILES: Final = 2_000
"""Traces of ranks that are looked at, some 3 µs each."""


def run_stamp(folder: Path) -> str | None:
    """Of a run folder: another one whenever the run is written, None where there is none. It is that of the report,
    which a run writes last and whole; only without one that of the traces.
    """
    return _of_file(folder / REPORT) or _of_files(folder / name for name in TRACES)


def traces_stamp(path: Path) -> str | None:
    """The same of a trace, or of a folder of the traces of ranks."""
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError):
        return None
    return _of_files(_below(path)) if is_folder else _of_file(path)


def run_goes_on(folder: Path) -> bool:
    """Whether a run says that it is writing this folder, and its process is there. A run that was killed leaves the
    word behind, and its number may be another program's by then: this is for a remark, and decides nothing.
    """
    try:
        with (folder / _LOCK).open("rb") as lock:
            text = lock.read(20)
    except (OSError, ValueError):
        return False
    if re.fullmatch(rb"[1-9]\d{0,9}", text) is None:
        return False
    try:
        os.kill(int(text), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _of_file(path: Path) -> str | None:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return f"{found.st_mtime_ns:x}.{found.st_size:x}"


def _of_files(paths: Iterable[Path]) -> str | None:
    """Of all of these that are there; None where none is."""
    found = sorted((str(path), stamp) for path in paths if (stamp := _of_file(path)) is not None)
    return hashlib.sha256(repr(found).encode("utf-8", "replace")).hexdigest()[:_DIGITS] if found else None


def _below(folder: Path) -> Iterator[Path]:
    """The files that may be traces of ranks, the first MOST_FILES by name."""
    number = 0
    for above, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.startswith(".") or ".json" not in name.lower():
                continue
            if (number := number + 1) > MOST_FILES:
                return
            yield Path(above, name)
