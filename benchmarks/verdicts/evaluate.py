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
from benchmarks.verdicts.evaluate_counters import JudgedRecording, counter_section, judge, together_section
from benchmarks.verdicts.evaluate_interventions import evaluate_interventions
from benchmarks.verdicts.machine_paths import without_paths
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
    judged: list[JudgedRecording] = []
    by_device: dict[str, list[CaseRecording]] = defaultdict(list)
    for folder in folders:
        if (folder / COUNTERS[0]).is_file():
            counted = read(folder / COUNTERS[0], CounterRecording)
            counted = replace(counted, machine=machine or counted.machine)
            judged.append(judge(counted, folder / COUNTERS[1]))
        if (folder / INTERVENTIONS[0]).is_file():
            recording = read(folder / INTERVENTIONS[0], InterventionRecording)
            recording = _on_machine(recording, machine) if machine is not None else recording
            sections.append(evaluate_interventions(recording, folder / INTERVENTIONS[1], counters))
        if (folder / CASES).is_file():
            recorded = read(folder / CASES, CaseRecording)
            by_device[recorded.device].append(recorded)
    of_counters = [counter_section(one) for one in judged]
    of_counters += [together_section(judged)] if len(judged) > 1 else []
    sections = [*of_counters, *sections]
    if by_device and cases is None:
        raise UsageError("a recording of cases needs their headers", hint="give --cases FOLDER")
    headers = _headers(cases) if cases is not None else ()
    sections += [evaluate_cases(found, headers, f"Cases ({device})") for device, found in sorted(by_device.items())]
    if not sections:
        raise UsageError(f"no recording in {', '.join(map(str, folders))}", hint="record one first")
    return tuple(sections)


def _on_machine(recording: InterventionRecording, machine: Machine) -> InterventionRecording:
    models = tuple(replace(run, machine=None) for run in recording.models)
    return replace(recording, machine=machine, models=models)


def _counters(folders: Sequence[Path]) -> tuple[KernelCounters, ...]:
    found = [folder / COUNTERS[0] for folder in folders]
    return tuple(one for path in found if path.is_file() for one in read(path, CounterRecording).counters)


def save(sections: Sequence[Section], target: Path) -> None:
    """Write `target`.md and `target`.json, which name no folder of the machines that recorded."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.with_suffix(".md").write_text(without_paths(page(sections)), encoding="utf-8")
    data = msgspec.json.encode({"schema": RESULT_SCHEMA, "sections": [_wire(s) for s in sections]}, enc_hook=float)
    text = without_paths(msgspec.json.format(data, indent=1).decode())
    target.with_suffix(".json").write_text(f"{text}\n", encoding="utf-8")


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
