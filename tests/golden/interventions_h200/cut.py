"""Makes this golden of a recording of `python -m benchmarks.verdicts record interventions`.

    python -m tests.golden.interventions_h200.cut RECORDING

One small file a model, and its trace beside it. Nothing is left out but the folders of the machine that recorded, and
what a trace says of where it ran. A file of more than 100 KB is refused.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.verdicts.recorded import InterventionRecording
from benchmarks.verdicts.store import read
from tests.golden.record import unplaced, write_packed

HERE: Final = Path(__file__).resolve().parent


def main(recording: Path, golden: Path = HERE) -> None:
    """Raises ValueError where a file gets too large, and UnreadableFileError."""
    found = read(recording / "interventions.json.gz", InterventionRecording)
    _write(golden / "machine.json.gz", found.machine)
    _write(golden / "scaling.json.gz", found.scaled)
    for run in found.models:
        _write(golden / "models" / f"{run.name}.json.gz", run)
    with zipfile.ZipFile(recording / "interventions.traces.zip") as archive:
        for name in archive.namelist():
            trace = unplaced(archive.read(name))
            write_packed(golden / name, json.dumps(trace, separators=(",", ":")))


def _write(path: Path, value: Any) -> None:
    write_packed(path, msgspec.json.encode(value).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
