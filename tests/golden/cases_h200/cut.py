"""Makes this golden, or another of its kind, of recordings of `python -m benchmarks.verdicts record cases`.

    python -m tests.golden.cases_h200.cut GOLDEN RECORDING…

Of a case recorded twice the last run that gave a report stays, as where recordings are evaluated. Nothing is left out
but the folders of the machine that recorded. A file of more than 100 KB is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.verdicts.case_report import CaseRecording, CaseRun
from benchmarks.verdicts.machine_paths import without_paths
from benchmarks.verdicts.store import read
from tests.golden.record import write_packed

HERE: Final = Path(__file__).resolve().parent
RECORDING: Final = "cases.json.gz"


def main(golden: Path, recordings: Sequence[Path]) -> None:
    """Raises ValueError where the file gets too large or the devices differ, and UnreadableFileError."""
    found = [read(folder / RECORDING, CaseRecording) for folder in recordings]
    if len({recording.device for recording in found}) != 1:
        raise ValueError("recordings of one device make a golden")
    runs: dict[str, CaseRun] = {}
    for recording in found:
        dated = [replace(run, date=run.date or recording.date) for run in recording.runs]
        runs |= {run.case: run for run in dated if run.report is not None or run.case not in runs}
    notes = tuple(dict.fromkeys(note for recording in found for note in recording.notes))
    kept = replace(found[-1], runs=tuple(run for _, run in sorted(runs.items())), notes=notes)
    write_packed(golden / RECORDING, without_paths(msgspec.json.encode(kept).decode()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
