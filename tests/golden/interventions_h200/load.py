"""This golden, or another of its kind in `folder`, as the recording that it was cut from."""

from __future__ import annotations

import zipfile
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


def zip_traces(target: Path, folder: Path = HERE) -> Path:
    """The traces in one file, as evaluating wants them."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted((folder / "traces").glob("*.gz")):
            archive.write(path, f"traces/{path.name}")
    return target
