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
from benchmarks.verdicts.store import read
from tests.golden.archive import unpack

HERE: Final = Path(__file__).resolve().parent


def load(folder: Path = HERE) -> CounterRecording:
    return read(folder / FILE, CounterRecording)


def main(golden: Path, recording: Path) -> None:
    unpack(golden, recording / FILE, recording / TRACES, load)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
