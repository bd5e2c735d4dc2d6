"""Runs the command over a folder of cases, as a user would, and keeps what it printed."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from analyzer.core.errors import UsageError
from benchmarks.verdicts.case_header import CaseHeader, read_header
from benchmarks.verdicts.case_report import CASE_LIMIT_S, STOPPED, CaseRecording, CaseRun, trimmed
from benchmarks.verdicts.processes import ROOT, analyze_command, own_path
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, today, write
from benchmarks.verdicts.workplace import measure_machine, working_folder

FILE: Final = "cases.json.gz"
LOG: Final = "cases.log"
CPU_THREADS: Final = {"OMP_NUM_THREADS": "1"}
"""One thread on a CPU, as the headers of the cases were measured; and with more of them than idle cores, a kernel of
5 µs was seen to wait 8 ms for its last thread, which makes every verdict one about the neighbours."""

_WITH_GRADIENTS: Final = """\
import importlib.util
import sys

import torch

import analyzer

spec = importlib.util.spec_from_file_location("case_with_gradients", {case!r})
case = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = case
spec.loader.exec_module(case)


def step(model, *inputs):
    with torch.enable_grad():
        return model(*inputs)


def called_with_gradients(device):
    return analyzer.Workload.of(case.get_model(), case.get_inputs(device), device=device, step=step)
"""

_ERROR_CHARACTERS: Final = 800


def record_cases(
    cases: Sequence[Path], out: Path, device: str, jobs: int, watch: Stopwatch, *, resumes: bool = False
) -> Path:
    """Record those of `cases` that show on `device`; what was recorded is written after each of them.

    With `resumes` what gave a report before stays in `out`, and only the rest is run: first what was never tried, then
    what failed, the soonest first. The device is measured before them all: measured by several cases side by side it
    is disturbed, which is not kept, so that each would measure it again. Raises UsageError where `out` holds cases of
    another device, and UnreadableFileError.
    """
    headers = [(p, read_header(p)) for p in cases]
    wanted = [(p, h) for p, h in headers if h.runs_on(device) and not h.needs_ranks]
    notes = tuple(f"{h.id}: needs several ranks" for _, h in headers if h.needs_ranks)
    kept = _kept(out, device) if resumes else None
    before = {run.case: run for run in kept.runs} if kept is not None else {}
    rest = in_order(wanted, before)
    watch.say(f"{len(wanted)} of {len(cases)} cases show on {device}, {len(rest)} of them are to do")
    runs = dict(before)
    if rest:
        _measure_device(out, device, watch)
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        for run in pool.map(lambda case: _run(case[0], case[1], device, watch), rest):
            runs[run.case] = _better(runs.get(run.case), run)
            watch.say(f"{run.case}: exit {run.exit_code}, {run.wall_s:.1f} s{_headline(run)}")
            found = tuple(dict.fromkeys((*(kept.notes if kept is not None else ()), *notes)))
            write(CaseRecording(device, today(), _sorted(runs.values()), found), out / FILE)
    return out / FILE


def _kept(out: Path, device: str) -> CaseRecording | None:
    if not (out / FILE).is_file():
        return None
    found = read(out / FILE, CaseRecording)
    if found.device != device:
        raise UsageError(f"{out} holds cases of a {found.device}", hint="give another folder to --into")
    return replace(found, runs=tuple(replace(run, date=run.date or found.date) for run in found.runs))


def in_order(wanted: Sequence[tuple[Path, CaseHeader]], before: Mapping[str, CaseRun]) -> list[tuple[Path, CaseHeader]]:
    """What is to do, of what is wanted."""
    rest = [case for case in wanted if (run := before.get(case[1].id)) is None or run.report is None]
    return sorted(rest, key=lambda case: before[case[1].id].wall_s if case[1].id in before else 0.0)


def _better(before: CaseRun | None, now: CaseRun) -> CaseRun:
    """A case that was not begun says nothing that the run before it did not."""
    return before if before is not None and now.wall_s == 0.0 else now


def _measure_device(out: Path, device: str, watch: Stopwatch) -> None:
    """Fills the cache that every case then reads, and the disk's with torch."""
    with working_folder(out / LOG) as work:
        measure_machine(work, device, watch, **(CPU_THREADS if device == "cpu" else {}))


def _sorted(runs: Iterable[CaseRun]) -> tuple[CaseRun, ...]:
    return tuple(sorted(runs, key=lambda run: run.case))


def _headline(run: CaseRun) -> str:
    return f", {run.report['headline'][:110]}" if run.report else f", {(run.error or '')[-160:]}"


def _run(path: Path, header: CaseHeader, device: str, watch: Stopwatch) -> CaseRun:
    mode = "training" if header.is_training else "inference"
    if watch.is_over:
        return CaseRun(header.id, mode, STOPPED, 0.0, error="the budget was spent before it")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as run_folder:
        command = analyze_command(*target(path, header, Path(run_folder)), *tried(header, device))
        command += ["--format", "json", "-q", "--mode", mode, "--device", device, "--out", f"{run_folder}/run"]
        limit_s = min(CASE_LIMIT_S, watch.left_s + 1.0)
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **(CPU_THREADS if device == "cpu" else {}), "PYTHONPATH": own_path()},
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            return CaseRun(header.id, mode, STOPPED, time.monotonic() - start, error=f"stopped after {limit_s:.0f} s")
    report = _report(done.stdout)
    return CaseRun(
        case=header.id,
        mode=mode,
        exit_code=done.returncode,
        wall_s=round(time.monotonic() - start, 1),
        step_ns=_median(report),
        date=today(),
        report=trimmed(report) if report is not None else None,
        error=None if report is not None else done.stderr[-_ERROR_CHARACTERS:],
    )


def target(path: Path, header: CaseHeader, folder: Path) -> tuple[str, ...]:
    """What to analyze. An inference that its report ran with gradients on is called so by a step in `folder`."""
    if header.is_training or not header.has_gradients:
        return (str(path),)
    called = folder / path.name
    called.write_text(_WITH_GRADIENTS.format(case=str(path)), encoding="utf-8")
    return (str(called), "--entry", "called_with_gradients")


def tried(header: CaseHeader, device: str) -> tuple[str, ...]:
    """Nothing is optimised, but for a case about CUDA graphs: torch speaks of them only when it makes them."""
    if device == "cuda" and any(tag.startswith("cudagraph") for tag in header.tags):
        return ("--candidates", "cuda_graphs")
    return ("--no-optimize",)


def _report(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "headline" in value else None


def _median(report: dict[str, Any] | None) -> int | None:
    samples = (report or {}).get("step_ns")
    return sorted(samples["ns"])[len(samples["ns"]) // 2] if samples else None
