"""Replays the graphs of many models as CUDA graphs, and halves bytes or arithmetic: what time goes away?

Models compile side by side, each in its own process, and measure one at a time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.errors import UnreadableFileError
from benchmarks.verdicts.processes import ROOT, environment, module_command, run, stop
from benchmarks.verdicts.recorded import InterventionRecording, Machine, ModelRun, ScaledRuns
from benchmarks.verdicts.stopwatch import Stopwatch
from benchmarks.verdicts.store import read, write
from benchmarks.verdicts.workplace import last_lines, measure_machine, working_folder, zip_traces

FILE: Final = "interventions.json.gz"
LOG: Final = "interventions.log"
TRACES: Final = "interventions.traces.zip"
READY_LIMIT_S: Final = {"cuda": 120.0, "cpu": 600.0}
GRACE_S: Final = 1.0
MEASURE_LIMIT_S: Final = {"cuda": 45.0, "cpu": 300.0}
SCALING_S: Final = 40.0


@dataclass(frozen=True, slots=True)
class _Started:
    name: str
    process: subprocess.Popen[bytes]


def record_interventions(out: Path, device: str, targets: Sequence[str], jobs: int, watch: Stopwatch) -> Path:
    """Record into `out`; what has been measured is written after each wave of `jobs` models."""
    with working_folder(out / LOG) as work:
        _record(out, work, device, targets, jobs, watch)
    return out / FILE


def _record(out: Path, work: Path, device: str, targets: Sequence[str], jobs: int, watch: Stopwatch) -> None:
    machine = measure_machine(work, device, watch)
    arguments = ("--device", device, "--out", str(work), "--budget-s", f"{min(SCALING_S, watch.left_s):.0f}")
    run(module_command("scaling", *arguments), work / "scaling.log", min(SCALING_S + 30.0, watch.left_s))
    scaled = _scaled(work / "scaling.json.gz")
    pairs = sum(p.step is not None for p in scaled.pairs) if scaled is not None else 0
    watch.say(f"{pairs} pairs of half the bytes or arithmetic")
    runs: list[ModelRun] = []
    waiting = list(targets)
    while waiting and not watch.is_over:
        wave, waiting = waiting[: max(jobs, 1)], waiting[max(jobs, 1) :]
        runs += _wave(wave, device, work, watch)
        _write(out, machine, runs, scaled, work)
    runs += [ModelRun(_name(t), error="the budget was spent before it") for t in waiting]
    _write(out, machine, runs, scaled, work)


def _wave(targets: Sequence[str], device: str, work: Path, watch: Stopwatch) -> list[ModelRun]:
    """Start all, let each compile, then measure them one by one with the others asleep."""
    started = [_start(t, device, work) for t in targets]
    try:
        deadline = time.monotonic() + min(READY_LIMIT_S[device], watch.left_s)
        ready = [_is_ready(one, deadline) for one in started]
        watch.say(f"{sum(ready)} of {len(started)} models compiled")
        limit_s = MEASURE_LIMIT_S[device]
        return [
            _measured(one, limit_s if is_ready else None, work, watch)
            for one, is_ready in zip(started, ready, strict=True)
        ]
    finally:
        for one in started:
            stop(one.process, GRACE_S)


def _start(target: str, device: str, work: Path) -> _Started:
    name = _name(target)
    work.mkdir(parents=True, exist_ok=True)
    with (work / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            module_command("intervening", target, "--device", device, "--out", str(work)),
            cwd=ROOT,
            # No pool of compilers each: the models of a wave share the cores.
            env=environment(TORCHINDUCTOR_COMPILE_THREADS="1", TORCHINDUCTOR_CACHE_DIR=str(work / "inductor")),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    return _Started(name, process)


def _is_ready(started: _Started, deadline: float) -> bool:
    """Whether it said so before the deadline; False as soon as its output ends. What else it prints is passed over."""
    output, text = started.process.stdout, b""
    if output is None:
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while (left_s := deadline - time.monotonic()) > 0:
            if not selector.select(timeout=left_s):
                return False
            part = os.read(output.fileno(), 4096)
            text += part
            if not part:
                return False
            if b"ready\n" in text:
                return True
    return False


def _measured(started: _Started, limit_s: float | None, work: Path, watch: Stopwatch) -> ModelRun:
    """Let it measure for `limit_s` at most; None where it was not ready."""
    process, file = started.process, work / f"{started.name}.json.gz"
    if limit_s is not None and not watch.is_over:
        with contextlib.suppress(BrokenPipeError, subprocess.TimeoutExpired):
            process.communicate(b"go\n", timeout=min(limit_s, watch.left_s + 5.0))
    # One that is late must not go on beside the next one's measurement.
    stop(process, GRACE_S)
    try:
        found = read(file, ModelRun)
    except UnreadableFileError:
        reason = "not measured in time" if limit_s is not None else "not compiled in time"
        found = ModelRun(started.name, error=f"{reason}: {last_lines(work / f'{started.name}.log')[-200:]}")
    watch.say(f"{started.name}: {found.error or f'{len(found.replays)} replays'}"[:300])
    return found


def _scaled(path: Path) -> ScaledRuns | None:
    try:
        return read(path, ScaledRuns)
    except UnreadableFileError:
        return None


def _write(out: Path, machine: Machine, runs: Sequence[ModelRun], scaled: ScaledRuns | None, work: Path) -> None:
    traces = [r.trace for r in runs if r.trace is not None] + [b.trace for b in (scaled.batches if scaled else ())]
    zip_traces(work, traces, out / TRACES)
    write(InterventionRecording(machine, tuple(runs), scaled), out / FILE)


def _name(target: str) -> str:
    return Path(target).stem if target.endswith(".py") else target
