"""Recording in sessions: what is there stays, the rest is run, and each run keeps where and when it was."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analyzer.core.device import Device, Source, Versions
from analyzer.core.errors import UnreadableFileError, UsageError
from benchmarks.verdicts import record_cases, record_interventions
from benchmarks.verdicts.case_report import CaseRecording, CaseRun
from benchmarks.verdicts.evaluate_cases import evaluate_cases
from benchmarks.verdicts.evaluate_interventions import evaluate_interventions
from benchmarks.verdicts.recorded import InterventionRecording, Machine, ModelRun, ScaledRuns, TracedBatch
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write

REPORT: dict[str, Any] = {
    "headline": "x",
    "device": {"name": "H200"},
    "versions": {"torch": "2.11"},
    "step_budget": None,
    "graphs": [],
    "eager_gaps": [],
    "findings": [],
}
OLD = Machine(Device(kind="cuda", name="H200", source=Source.MEASURED), Versions("1", "3.12", "2.11"), "2026-01-01")
NEW = replace(OLD, date="2026-02-02")


def watch() -> Stopwatch:
    return Stopwatch(6000.0, "test")


# -- cases ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cases(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{name}.py" for name in ("a", "b", "c", "d")]
    for path in paths:
        path.write_text("# device: both\n# expected_class: cpu-bound\n# expected_tags: print\n")
    return paths


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which cases were run, and `device` where that was measured."""
    found: list[str] = []

    def run(path: Path, header: Any, device: str, watch: Stopwatch) -> CaseRun:
        found.append(header.id)
        return CaseRun(header.id, "inference", 0, 2.0, report=REPORT, date="2026-02-02")

    monkeypatch.setattr(record_cases, "_run", run)
    monkeypatch.setattr(record_cases, "_measure_device", lambda out, device, watch: found.append("device"))
    return found


def test_cases_that_gave_a_report_are_not_run_again(cases: list[Path], ran: list[str], tmp_path: Path) -> None:
    before = (
        CaseRun("b", "inference", 0, 9.0, report=REPORT),
        CaseRun("a", "inference", 3, 300.0, error="stopped after 300 s"),
        CaseRun("gone", "inference", 0, 9.0, report=REPORT),
    )
    write(CaseRecording("cuda", "2026-01-01", before, ("old note",)), tmp_path / "into" / "cases.json.gz")
    record_cases.record_cases(cases, tmp_path / "into", "cuda", 1, watch(), resumes=True)
    assert ran == ["device", "c", "d", "a"], "the device once, then what was never tried, then what failed"
    found = read(tmp_path / "into" / "cases.json.gz", CaseRecording)
    assert [(r.case, r.date) for r in found.runs] == [
        ("a", "2026-02-02"),
        ("b", "2026-01-01"),
        ("c", "2026-02-02"),
        ("d", "2026-02-02"),
        ("gone", "2026-01-01"),
    ]
    assert found.notes == ("old note",)
    assert evaluate_cases([found], (), "x").where == "H200, torch 2.11, 2026-01-01 to 2026-02-02"
    ran.clear()
    record_cases.record_cases(cases, tmp_path / "into", "cuda", 1, watch(), resumes=True)
    assert ran == [], "with nothing to do the device is not measured either"


def test_without_being_asked_to_add_it_records_all(cases: list[Path], ran: list[str], tmp_path: Path) -> None:
    write(CaseRecording("cuda", "x", (CaseRun("b", "inference", 0, 9.0, report=REPORT),)), tmp_path / "cases.json.gz")
    record_cases.record_cases(cases, tmp_path, "cuda", 1, watch())
    assert ran == ["device", "a", "b", "c", "d"]


def test_a_case_that_was_not_begun_leaves_the_reason_of_the_run_before(
    cases: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_cases, "_measure_device", lambda out, device, watch: None)
    write(CaseRecording("cuda", "x", (CaseRun("a", "inference", 4, 9.0, error="boom"),)), tmp_path / "cases.json.gz")
    record_cases.record_cases(cases[:2], tmp_path, "cuda", 1, Stopwatch(0.0, "test"), resumes=True)
    found = read(tmp_path / "cases.json.gz", CaseRecording)
    assert [r.error for r in found.runs] == ["boom", "the budget was spent before it"]


def test_cases_of_another_device_are_not_mixed_in(cases: list[Path], ran: list[str], tmp_path: Path) -> None:
    write(CaseRecording("cpu", "x", ()), tmp_path / "cases.json.gz")
    with pytest.raises(UsageError, match="holds cases of a cpu"):
        record_cases.record_cases(cases, tmp_path, "cuda", 1, watch(), resumes=True)
    assert ran == []


# -- interventions ----------------------------------------------------------------------------------------------------


def _trace(name: str) -> str:
    return f"traces/{name}.trace.json.gz"


@pytest.fixture
def waves(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which models were run, in a session on NEW; each writes a trace that says `new`."""
    found: list[str] = []

    def wave(targets: list[str], device: str, work: Path, watch: Stopwatch) -> list[ModelRun]:
        found.extend(targets)
        for target in targets:
            (work / "traces").mkdir(exist_ok=True)
            (work / _trace(target)).write_text("new")
        return [ModelRun(target, _trace(target)) for target in targets]

    monkeypatch.setattr(record_interventions, "_wave", wave)
    monkeypatch.setattr(record_interventions, "measure_machine", lambda work, device, watch: NEW)
    monkeypatch.setattr(record_interventions, "_pairs", lambda here: found.append("pairs"))
    return found


def recorded(out: Path, *, has_pairs: bool = True, traces: tuple[str, ...] = ("a", "scaling")) -> None:
    runs = (ModelRun("a", _trace("a")), ModelRun("b", error="not compiled in time"), ModelRun("other", error="boom"))
    scaled = ScaledRuns((), (TracedBatch(_trace("scaling"), ()),)) if has_pairs else None
    write(InterventionRecording(OLD, runs, scaled), out / record_interventions.FILE)
    with zipfile.ZipFile(out / record_interventions.TRACES, "w") as archive:
        for name in traces:
            archive.writestr(_trace(name), "old")


def resume(out: Path, *targets: str) -> InterventionRecording:
    record_interventions.record_interventions(out, "cuda", targets, 2, watch(), resumes=True)
    return read(out / record_interventions.FILE, InterventionRecording)


def test_models_that_were_measured_stay_with_their_traces_and_their_machine(tmp_path: Path, waves: list[str]) -> None:
    recorded(tmp_path)
    found = resume(tmp_path, "a", "b", "c")
    assert waves == ["b", "c"]
    assert found.machine == OLD, "the pairs are of the first session"
    machines = {run.name: run.machine for run in found.models}
    assert machines == {"a": None, "other": None, "b": NEW, "c": NEW}
    with zipfile.ZipFile(tmp_path / record_interventions.TRACES) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    assert texts == {_trace("a"): b"old", _trace("b"): b"new", _trace("c"): b"new", _trace("scaling"): b"old"}
    waves.clear()
    assert resume(tmp_path, "a", "b", "c") == found
    assert waves == []


def test_pairs_that_were_not_recorded_are_and_belong_to_the_new_machine(tmp_path: Path, waves: list[str]) -> None:
    recorded(tmp_path, has_pairs=False)
    found = resume(tmp_path, "a", "b")
    assert waves == ["pairs", "b"]
    assert found.machine == NEW
    assert {run.name: run.machine for run in found.models} == {"a": OLD, "other": OLD, "b": None}


def test_a_model_without_its_trace_is_measured_again(tmp_path: Path, waves: list[str]) -> None:
    recorded(tmp_path, traces=("scaling",))
    resume(tmp_path, "a")
    assert waves == ["a"]


def test_what_cannot_be_added_to_is_said(tmp_path: Path, waves: list[str]) -> None:
    recorded(tmp_path)
    with pytest.raises(UsageError, match="recorded on cuda"):
        record_interventions.record_interventions(tmp_path, "cpu", ("a",), 1, watch(), resumes=True)
    (tmp_path / record_interventions.TRACES).unlink()
    with pytest.raises(UnreadableFileError, match="not an archive"):
        resume(tmp_path, "a")
    assert waves == []


def test_a_model_that_waited_until_the_time_was_over_says_so_and_not_that_it_was_interrupted(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("Traceback\nKeyboardInterrupt\n")
    over = Stopwatch(0.0, "test")
    assert record_interventions._why(True, log, over) == record_interventions.SPENT
    assert record_interventions._why(True, log, watch()) == "not measured in time: Traceback\nKeyboardInterrupt"
    assert record_interventions._why(False, log, over).startswith("not compiled in time: Traceback")


def test_every_machine_is_named_once(tmp_path: Path, waves: list[str]) -> None:
    recorded(tmp_path, has_pairs=False)
    record_interventions.record_interventions(tmp_path, "cuda", ("b", "c"), 2, watch(), resumes=True)
    found = read(tmp_path / record_interventions.FILE, InterventionRecording)
    bare = replace(found, models=tuple(replace(run, trace=None, error="x") for run in found.models))
    section = evaluate_interventions(bare, tmp_path / record_interventions.TRACES)
    assert section.where == "H200, torch 2.11, 2026-02-02; H200, torch 2.11, 2026-01-01"
