"""The golden as the recording that it was cut from."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from benchmarks.verdicts.recorded import CounterRecording
from benchmarks.verdicts.store import read

HERE: Final = Path(__file__).resolve().parent


def load() -> CounterRecording:
    return read(HERE / "counters.json.gz", CounterRecording)


def zip_traces(target: Path) -> Path:
    """The traces in one file, as evaluating wants them."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((HERE / "traces").glob("*.gz")):
            archive.write(path, f"traces/{path.name}")
    return target
