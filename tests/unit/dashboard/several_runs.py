"""Folders of several runs for the dashboard's tests: reports that differ in time, commit, device and what they took."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from analyzer.core.origin import Commit, Origin
from analyzer.core.report import Report
from analyzer.reporting.json import write_report
from analyzer.run_listing import list_runs
from dashboard.runs_read import RunGlance, glance_at
from tests.reports import a_comparison, a_plan_trial, a_report, some_samples
from tests.unit.dashboard.runs import a_recording

FIRST_S: Final = 1_700_000_000
DAY_S: Final = 86_400
HOSTILE: Final = "<img src=x onerror=alert(1)> & 'q\" #?%2F"


def a_timed_report(default_ms: float = 30.0, plan_ms: float = 10.0, **changes: Any) -> Report:
    """A report whose comparison is of the samples that its plans keep."""
    default, plan = some_samples(default_ms), some_samples(plan_ms)
    report = a_report(
        plans=(a_plan_trial("default", default_ms), a_plan_trial("plan", plan_ms, is_chosen=True)),
        comparison=a_comparison(before_ns=default.median_ns, after_ns=plan.median_ns),
        step_ns=default,
    )
    return replace(report, **changes)


def began(day: int, commit: str | None = None, *, is_dirty: bool | None = False) -> Origin:
    """The start of a run on this day; `commit` is the beginning of its hash."""
    return Origin(FIRST_S + day * DAY_S, None if commit is None else Commit((commit * 40)[:40], is_dirty))


def save_run(folder: Path, name: str, report: Report, day: int, *, kernels: int | None = None) -> Path:
    """A run folder, last written on this day; with a trace of its default where `kernels` a graph are given."""
    path = folder / name
    path.mkdir(parents=True)
    write_report(report, path / "report.json")
    if kernels is not None:
        a_recording(kernels=kernels).save(path / "before.trace.json.gz")
    seconds = FIRST_S + day * DAY_S
    os.utime(path / "report.json", (seconds, seconds))
    return path


def glance_of(folder: Path, report: Report, name: str = "run", day: int = 0) -> RunGlance:
    """What is read of a report."""
    save_run(folder, name, report, day)
    run = list_runs(folder).run(name)
    assert run is not None
    found = glance_at(folder / name, run)
    assert isinstance(found, RunGlance), found
    return found
