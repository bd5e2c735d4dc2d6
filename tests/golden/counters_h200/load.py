"""This golden, or another of its kind in `folder`, as the recording that it was cut from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.verdicts.recorded import CounterRecording
from benchmarks.verdicts.store import read

HERE: Final = Path(__file__).resolve().parent


def load(folder: Path = HERE) -> CounterRecording:
    return read(folder / "counters.json.gz", CounterRecording)
