"""Reports to be judged: read from a run folder, or made by running a model in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from analyzer.assemble import assemble
from analyzer.core.errors import ExitCode
from analyzer.core.graphs import Capture
from analyzer.core.report import Report
from analyzer.core.settings import Mode, RunSettings, WorkloadSpec
from analyzer.core.shell import shell_path
from analyzer.driver import ChildDriver, Driver, LocalDriver
from analyzer.lab import LOAD_LIMIT_S, start_afresh
from analyzer.measured import Measured
from analyzer.narrator import Narrator
from analyzer.pipeline import run
from analyzer.progress import Progress, SilentProgress
from analyzer.reporting.json import REPORT_FILE, read_report

COMPILE_LIMIT_S: Final = 600.0
"""Silence allowed while the default compiles, as in a whole run."""


@dataclass(frozen=True, slots=True)
class Made:
    """`folder` None: the report is in none that lasts. `exit_code` is the run's own; `written_ns` when a saved
    report was written, None for one made just now. `ended_by` is the signal that ended the run, None: none did.
    """

    report: Report
    folder: Path | None
    exit_code: int = int(ExitCode.OK)
    written_ns: int | None = None
    ended_by: KeyboardInterrupt | None = None


def is_run(target: str) -> bool:
    path = Path(target)
    return (path / REPORT_FILE).is_file() or (path.suffix == ".json" and path.is_file())


def saved(target: str) -> Made:
    """Raises UnreadableFileError."""
    path = Path(target)
    report = read_report(path)
    file = path / REPORT_FILE if path.is_dir() else path
    return Made(report, file.parent, written_ns=file.stat().st_mtime_ns)


def is_of_graphs_alone(report: Report) -> bool:
    """Whether it is one of `graphs_alone` or `graphs_in_process`, that ended as it should: a whole run times a step."""
    return report.capture is not None and report.step_ns is None and report.partial is None and not report.is_recorded


def whole_run(spec: WorkloadSpec, plan: str | None, out: Path, progress: Progress) -> Made:
    """The diagnosis of a model without a search; with a plan, how the model runs under it, however it does. Raises
    GraphboundError.
    """
    is_planned = plan is not None
    settings = RunSettings(workload=spec, out=str(out), optimize=is_planned, plan=plan, holds_plan=is_planned)
    finished = run(settings, progress)
    return Made(finished.report, None, int(finished.exit_code), ended_by=finished.ended_by)


def graphs_alone(spec: WorkloadSpec, progress: Progress, program_log: Path | None = None) -> Made:
    """The model compiled with torch's defaults and called until nothing compiles any more: no step is timed, no trace
    recorded. `program_log` is where what it prints is kept, None: nowhere. Raises GraphboundError.
    """
    told = Narrator(progress)
    with TemporaryDirectory(prefix="graphbound-check-") as scratch:
        driver = ChildDriver(spec, program_log or Path(scratch) / "program.log", told.hear)
        return Made(_captured(driver, told, spec.target, f"analyze {shell_path(spec.target)}"), None)


def graphs_in_process(model: Any, inputs: Any, *, mode: str, device: str | None) -> Report:
    """The same of a model that lives in this process, which is left as it was. `model` and `inputs` as in
    `analyzer.analyze`. Raises GraphboundError.
    """
    from collectors.as_found import left_as_found  # imports torch, which the caller has
    from collectors.workload import Workload

    told = Narrator(SilentProgress())
    with left_as_found(model.model if isinstance(model, Workload) else model):
        workload = model if isinstance(model, Workload) else Workload.of(model, inputs, mode=mode, device=device)
        return _captured(LocalDriver(workload, told.hear), told, workload.name, "analyze model.py")


def _captured(driver: Driver, told: Narrator, target: str, next_command: str) -> Report:
    """A report of its graphs alone. The driver is closed, whatever happens."""
    measured = Measured()
    try:
        told.stage("loading the model")
        measured.facts = start_afresh(driver, ())
        measured.versions = driver.call("versions")
        measured.environment = driver.call("environment")
        told.stage("compiling with torch.compile's defaults")
        measured.capture = driver.call("capture", limit_s=COMPILE_LIMIT_S)
        measured.uncompiled = driver.call("uncompiled")
        told.stage("reading the model's operators")
        measured.ops = driver.call("operators", limit_s=LOAD_LIMIT_S)
        # A whole run counts what its other inputs have torch compile again, and is held against the same values.
        changed: Capture | None = driver.call("run_variants", limit_s=COMPILE_LIMIT_S)
        if changed is not None:
            measured.capture = replace(measured.capture, recompiles=changed.recompiles)
        measured.facts = driver.call("facts")
    finally:
        driver.close()
    return assemble(measured, target=target, next_command=next_command)


def spec_of(target: str, mode: Mode, device: str | None, entry: str | None) -> WorkloadSpec:
    return WorkloadSpec(target=target, mode=mode, device=device, entry=entry)


@contextmanager
def standing_in(folder: Path, root: Path) -> Iterator[None]:
    """Start processes as if the command had been typed in `folder` of the checkout at `root`, its packages before
    installed ones: a checkout that is installed in editable mode would otherwise be imported in place of this one.
    """
    before, path = Path.cwd(), os.environ.get("PYTHONPATH")
    own = dict.fromkeys(str(each) for each in (folder, root, root / "src") if each.is_dir())
    os.chdir(folder)
    os.environ["PYTHONPATH"] = os.pathsep.join([*own, *([path] if path else [])])
    try:
        yield
    finally:
        os.chdir(before)
        if path is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = path
