"""The files of a golden: its traces as the one file that a recording has, and whether they are fit to be kept."""

from __future__ import annotations

import gzip
import re
import zipfile
from pathlib import Path
from typing import Final

from tests.golden.record import MAX_BYTES

MACHINES_FOLDER: Final = re.compile(rb"[\" ]/(?:tmp|home|root|work|mnt|usr|opt)/")


def zip_traces(target: Path, folder: Path) -> Path:
    """The traces in one file, as evaluating wants them."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((folder / "traces").glob("*.gz")):
            archive.write(path, f"traces/{path.name}")
    return target


def packed_files(folder: Path) -> list[Path]:
    """All packed files of a golden, of which none is large and none names a machine's folder."""
    files = list(folder.rglob("*.gz"))
    assert max(path.stat().st_size for path in files) <= MAX_BYTES
    for path in files:
        assert not MACHINES_FOLDER.search(gzip.decompress(path.read_bytes())), path
    return files
