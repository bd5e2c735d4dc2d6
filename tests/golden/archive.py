"""The files of a golden: its traces as the one file that a recording has, and whether they are fit to be kept."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.verdicts.store import write
from tests.golden.record import MAX_BYTES

MACHINES_FOLDER: Final = re.compile(rb"[\" ]/(?:tmp|home|root|work|mnt|usr|opt)/")


def zip_traces(target: Path, folder: Path) -> Path:
    """The traces in one file, as evaluating wants them."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((folder / "traces").glob("*.gz")):
            archive.write(path, f"traces/{path.name}")
    return target


def unpack(golden: Path, file: Path, traces: Path, load: Callable[[Path], Any]) -> None:
    """What a golden was cut from, as recording wrote it: `file` and its traces. Leaves one that is there as it is."""
    if file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    zip_traces(traces, golden)
    write(load(golden), file)


def packed_files(folder: Path) -> list[Path]:
    """All packed files of a golden, of which none is large and none names a machine's folder."""
    files = list(folder.rglob("*.gz"))
    assert max(path.stat().st_size for path in files) <= MAX_BYTES
    for path in files:
        assert not MACHINES_FOLDER.search(gzip.decompress(path.read_bytes())), path
    return files
