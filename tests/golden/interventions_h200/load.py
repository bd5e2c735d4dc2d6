"""This golden, or another of its kind in `folder`, as the recording that it was cut from."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.verdicts.recorded import InterventionRecording, Machine, ModelRun, ScaledRuns
from benchmarks.verdicts.store import read

HERE: Final = Path(__file__).resolve().parent


def load(folder: Path = HERE) -> InterventionRecording:
    """The models in order of their names."""
    return InterventionRecording(
        machine=read(folder / "machine.json.gz", Machine),
        models=tuple(read(path, ModelRun) for path in sorted((folder / "models").glob("*.json.gz"))),
        scaled=read(folder / "scaling.json.gz", ScaledRuns),
    )
