"""Runs `analyze check` as a command would, over runs that are saved in a project, or that are not real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analyzer.checking import check as checking
from analyzer.checking.settings import CheckSettings
from analyzer.checking.subjects import Made
from analyzer.core.baseline import Baseline
from analyzer.core.gate import GateResult
from analyzer.core.policy import BASELINE_FILE
from analyzer.core.report import Report
from analyzer.core.settings import WorkloadSpec
from analyzer.gate.baseline_file import decode_baseline
from analyzer.progress import SilentProgress
from analyzer.reporting.json import write_report
from tests.gates import a_model_report


def here(project: Path, report: Report) -> Report:
    """The report as of a model of this project."""

    def moved(file: str) -> str:
        return file.replace("/home/ada", str(project))

    findings = tuple(
        replace(f, where=None if f.where is None else replace(f.where, file=moved(f.where.file)))
        for f in report.findings
    )
    return replace(
        report, findings=findings, workload=replace(report.workload, source=moved(report.workload.source))
    )  # fmt: skip


def saved(project: Path, name: str, report: Report) -> str:
    folder = project / "runs" / name
    folder.mkdir(parents=True)
    write_report(here(project, report), folder / "report.json")
    return str(folder)


def run(**settings: object) -> GateResult:
    return checking.run_check(CheckSettings(**settings), SilentProgress())  # type: ignore[arg-type]


def stored(project: Path) -> Baseline:
    return decode_baseline((project / BASELINE_FILE).read_bytes(), BASELINE_FILE)


def standing_in(project: Path, monkeypatch: pytest.MonkeyPatch, **errors: Exception) -> list[str]:
    """Models whose runs are not real, but for those that fail; the names of those that were begun."""
    begun: list[str] = []

    def made(spec: WorkloadSpec, *_: object) -> Made:
        name = Path(spec.target).stem
        begun.append(name)
        if name in errors:
            raise errors[name]
        report = here(project, a_model_report())
        return Made(replace(report, workload=replace(report.workload, source=spec.target)), None)

    monkeypatch.setattr(checking, "whole_run", made)
    return begun
