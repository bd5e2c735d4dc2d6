"""Makes this golden of a recording of `python -m benchmarks.verdicts record counters`.

    python -m tests.golden.counters_h200.cut RECORDING [GOLDEN]

What judging reads stays: of the traces the rows of kernels, launches, operators, steps and links with the fields that
our reader knows, without those of torch's own bookkeeping; of the items and graphs all. A file of more than 100 KB is
refused.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks.verdicts.recorded import CounterRecording
from benchmarks.verdicts.store import read
from tests.golden.record import unplaced, write_packed

HERE: Final = Path(__file__).resolve().parent
RECORDING: Final = "counters.json.gz"
_DROPPED_FIELDS: Final = (
    "blocks per SM",
    "warps per SM",
    "est. achieved occupancy %",
    "queued",
    "shared memory",
    "registers per thread",
    "Record function id",
    "Ev Idx",
    "fwd_thread_id",
    "Sequence number",
)


def main(recording: Path, golden: Path = HERE) -> None:
    """Raises ValueError where a file gets too large, and UnreadableFileError."""
    found = read(recording / RECORDING, CounterRecording)
    write_packed(golden / RECORDING, msgspec.json.encode(found).decode())
    with zipfile.ZipFile(recording / "counters.traces.zip") as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith(".json.gz")):
            trace = unplaced(archive.read(name))
            trace["traceEvents"] = [_slim(event) for event in trace["traceEvents"]]
            write_packed(golden / name, json.dumps(trace, separators=(",", ":")))


def _slim(event: dict[str, Any]) -> dict[str, Any]:
    arguments = event.get("args")
    if not isinstance(arguments, dict):
        return event
    return event | {"args": {name: value for name, value in arguments.items() if name not in _DROPPED_FIELDS}}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
