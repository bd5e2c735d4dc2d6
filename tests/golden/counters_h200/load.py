"""This golden, or another of its kind in `folder`, as the recording that it was cut from.

    python -m tests.golden.counters_h200.load GOLDEN RECORDING

Run so, it writes a folder that `python -m benchmarks.verdicts record counters --into` adds to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from benchmarks.verdicts.record_counters import FILE, TRACES
from benchmarks.verdicts.recorded import CounterRecording
from benchmarks.verdicts.store import read, write
from tests.golden.archive import zip_traces

HERE: Final = Path(__file__).resolve().parent


def load(folder: Path = HERE) -> CounterRecording:
    return read(folder / FILE, CounterRecording)


def main(golden: Path, recording: Path) -> None:
    """Leaves a recording that is there as it is."""
    if (recording / FILE).exists():
        return
    recording.mkdir(parents=True, exist_ok=True)
    zip_traces(recording / TRACES, golden)
    write(load(golden), recording / FILE)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
