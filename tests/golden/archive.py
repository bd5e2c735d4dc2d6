"""The traces of a golden as the one file that a recording has."""

from __future__ import annotations

import zipfile
from pathlib import Path


def zip_traces(target: Path, folder: Path) -> Path:
    """The traces in one file, as evaluating wants them."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((folder / "traces").glob("*.gz")):
            archive.write(path, f"traces/{path.name}")
    return target
