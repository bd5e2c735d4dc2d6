"""Makes this golden of a recording of `python -m benchmarks.verdicts record interventions`.

    python -m tests.golden.interventions_h200.cut RECORDING

One small file a model, and its trace beside it. Nothing is left out but the folders of the machine that recorded, and
what a trace says of where it ran. A file of more than 100 KB is refused.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.verdicts.recorded import InterventionRecording
from benchmarks.verdicts.store import read
from tests.golden.record import MAX_BYTES, shortened

HERE: Final = Path(__file__).resolve().parent
_DROPPED_KEYS: Final = ("traceName", "hostname", "trace_id")
_PREFIXES: Final = (
    (re.compile(r"/[^\" ]*?/(?=inductor/)"), ""),
    (re.compile(r"/[^\" ]*?/(?=benchmarks/)"), ""),
)


def main(recording: Path, golden: Path = HERE) -> None:
    """Raises ValueError where a file gets too large, and UnreadableFileError."""
    found = read(recording / "interventions.json.gz", InterventionRecording)
    _write(golden / "machine.json.gz", found.machine)
    _write(golden / "scaling.json.gz", found.scaled)
    for run in found.models:
        _write(golden / "models" / f"{run.name}.json.gz", run)
    with zipfile.ZipFile(recording / "interventions.traces.zip") as archive:
        for name in archive.namelist():
            trace = json.loads(gzip.decompress(archive.read(name)))
            for key in _DROPPED_KEYS:
                trace.pop(key, None)
            _keep(golden / name, json.dumps(trace, separators=(",", ":")))


def _write(path: Path, value: Any) -> None:
    _keep(path, msgspec.json.encode(value).decode())


def _keep(path: Path, text: str) -> None:
    for pattern, replacement in _PREFIXES:
        text = pattern.sub(replacement, text)
    data = gzip.compress(shortened(text).encode(), mtime=0)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path.name} has {len(data)} bytes, {MAX_BYTES} are allowed: record a smaller model")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
