"""This golden, or another of its kind in `folder`, as the recording that it was cut from.

    python -m tests.golden.interventions_h200.load GOLDEN RECORDING

Run so, it writes a folder that `python -m benchmarks.verdicts record interventions --into` adds to.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from benchmarks.verdicts.record_interventions import FILE, TRACES
from benchmarks.verdicts.recorded import InterventionRecording, Machine, ModelRun, ScaledRuns
from benchmarks.verdicts.store import read
from tests.golden.archive import unpack

HERE: Final = Path(__file__).resolve().parent


def load(folder: Path = HERE) -> InterventionRecording:
    """The models in order of their names."""
    return InterventionRecording(
        machine=read(folder / "machine.json.gz", Machine),
        models=tuple(read(path, ModelRun) for path in sorted((folder / "models").glob("*.json.gz"))),
        scaled=read(folder / "scaling.json.gz", ScaledRuns),
    )


def main(golden: Path, recording: Path) -> None:
    unpack(golden, recording / FILE, recording / TRACES, load)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
