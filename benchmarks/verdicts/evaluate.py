"""Judges recordings again with the product as it is now; runs anywhere, as often as wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.errors import UnreadableFileError, UsageError
from benchmarks.verdicts.case_header import CaseHeader, read_header
from benchmarks.verdicts.case_report import CaseRecording
from benchmarks.verdicts.evaluate_cases import evaluate_cases
from benchmarks.verdicts.evaluate_counters import evaluate_counters
from benchmarks.verdicts.evaluate_interventions import evaluate_interventions
from benchmarks.verdicts.markdown import page
from benchmarks.verdicts.recorded import CounterRecording, InterventionRecording, KernelCounters, Machine
from benchmarks.verdicts.result import Section
from benchmarks.verdicts.store import read

COUNTERS: Final = ("counters.json.gz", "counters.traces.zip")
INTERVENTIONS: Final = ("interventions.json.gz", "interventions.traces.zip")
CASES: Final = "cases.json.gz"
RESULT_SCHEMA: Final = 1


def evaluate(folders: Sequence[Path], cases: Path | None, machine: Machine | None = None) -> tuple[Section, ...]:
    """The sections of whatever these folders hold. `cases` is the folder of case files, for their headers;
    `machine` replaces the measurement of the device that was recorded.

    Raises UsageError where nothing is found, and UnreadableFileError.
    """
    sections: list[Section] = []
    counters = _counters(folders)
    by_device: dict[str, list[CaseRecording]] = defaultdict(list)
    for folder in folders:
        if (folder / COUNTERS[0]).is_file():
            counted = read(folder / COUNTERS[0], CounterRecording)
            counted = replace(counted, machine=machine or counted.machine)
            sections.append(evaluate_counters(counted, folder / COUNTERS[1]))
        if (folder / INTERVENTIONS[0]).is_file():
            recording = read(folder / INTERVENTIONS[0], InterventionRecording)
            recording = replace(recording, machine=machine or recording.machine)
            sections.append(evaluate_interventions(recording, folder / INTERVENTIONS[1], counters))
        if (folder / CASES).is_file():
            recorded = read(folder / CASES, CaseRecording)
            by_device[recorded.device].append(recorded)
    if by_device and cases is None:
        raise UsageError("a recording of cases needs their headers", hint="give --cases FOLDER")
    headers = _headers(cases) if cases is not None else ()
    sections += [evaluate_cases(found, headers, f"Cases ({device})") for device, found in sorted(by_device.items())]
    if not sections:
        raise UsageError(f"no recording in {', '.join(map(str, folders))}", hint="record one first")
    return tuple(sections)


def _counters(folders: Sequence[Path]) -> tuple[KernelCounters, ...]:
    found = [folder / COUNTERS[0] for folder in folders]
    return tuple(one for path in found if path.is_file() for one in read(path, CounterRecording).counters)


def save(sections: Sequence[Section], target: Path) -> None:
    """Write `target`.md and `target`.json."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(".md").write_text(page(sections), encoding="utf-8")
    data = msgspec.json.encode({"schema": RESULT_SCHEMA, "sections": [_wire(s) for s in sections]}, enc_hook=float)
    target.with_suffix(".json").write_bytes(msgspec.json.format(data, indent=1) + b"\n")


def _wire(section: Section) -> dict[str, object]:
    return {
        "title": section.title,
        "where": section.where,
        "checks": [
            {"what": c.what, "asked": c.asked, "found": c.found, "of": c.of, "meets": c.meets.value}
            for c in section.checks
        ],
        "tables": {t.title: {"columns": t.columns, "rows": t.rows} for t in section.tables},
        "stated": section.stated,
        "notes": section.notes,
    }


def _headers(folder: Path) -> tuple[CaseHeader, ...]:
    found = tuple(read_header(path) for path in sorted(folder.glob("*.py")))
    if not found:
        raise UnreadableFileError(f"{folder}: no case files here")
    return found
