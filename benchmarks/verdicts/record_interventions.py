"""Replays the graphs of many models as CUDA graphs, and halves bytes or arithmetic: what time goes away?

Models compile side by side, each in its own process, and measure one at a time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analyzer.core.errors import UnreadableFileError, UsageError
from benchmarks.verdicts.processes import ROOT, environment, module_command, run, stop
from benchmarks.verdicts.recorded import InterventionRecording, Machine, ModelRun, ScaledRuns, run_name
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
SPENT: Final = "the budget was spent before it"


@dataclass(frozen=True, slots=True)
class _Started:
    name: str
    process: subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class _Here:
    """Where and on what this session records."""

    out: Path
    work: Path
    device: str
    watch: Stopwatch


@dataclass(frozen=True, slots=True)
class _Base:
    """What new runs are added to: the machine of the recording, and what was measured on it or, as it says, on others.

    Pairs are judged by the recording's own machine.
    """

    machine: Machine
    runs: tuple[ModelRun, ...] = ()
    scaled: ScaledRuns | None = None


def record_interventions(
    out: Path, device: str, targets: Sequence[str], jobs: int, watch: Stopwatch, *, resumes: bool = False
) -> Path:
    """Record into `out`; what has been measured is written after each wave of `jobs` models.

    With `resumes` what was measured there before stays, and only the rest is run. Raises UsageError where that was
    recorded on another kind of device, and UnreadableFileError.
    """
    kept = _kept(out, device) if resumes else None
    done = {run.name for run in kept.runs if run.error is None} if kept is not None else set()
    rest = [target for target in targets if run_name(target) not in done]
    if kept is not None:
        watch.say(f"{len(done)} models were measured before, {len(rest)} are to do")
        if not rest and kept.scaled is not None:
            return out / FILE
    with working_folder(out / LOG) as work:
        _record(_Here(out, work, device, watch), rest, jobs, kept)
    return out / FILE


def _kept(out: Path, device: str) -> _Base | None:
    """What is in `out`; a model whose trace is missing counts as failed, and pairs without theirs as not recorded."""
    if not (out / FILE).is_file():
        return None
    found = read(out / FILE, InterventionRecording)
    if found.machine.device.kind != device:
        raise UsageError(f"{out} was recorded on {found.machine.device.kind}", hint="give another folder to --into")
    try:
        with zipfile.ZipFile(out / TRACES) as archive:
            traces = set(archive.namelist())
    except (OSError, zipfile.BadZipFile) as error:
        raise UnreadableFileError(f"{out / TRACES}: not an archive of traces", hint="give another folder") from error
    runs = tuple(
        r if r.error or r.trace in traces else ModelRun(r.name, error="its trace is gone") for r in found.models
    )
    scaled = found.scaled
    has_pairs = scaled is not None and all(batch.trace in traces for batch in scaled.batches)
    return _Base(found.machine, runs, scaled if has_pairs else None)


def _record(here: _Here, targets: Sequence[str], jobs: int, kept: _Base | None) -> None:
    machine = measure_machine(here.work, here.device, here.watch)
    base = kept if kept is not None else _Base(machine)
    if base.scaled is None:
        named = tuple(_on(base.machine, run) for run in base.runs) if kept is not None else ()
        base = _Base(machine, named, _pairs(here))
    again = {run_name(target) for target in targets}
    runs = [run for run in base.runs if run.name not in again]
    waiting = list(targets)
    while waiting and not here.watch.is_over:
        wave, waiting = waiting[: max(jobs, 1)], waiting[max(jobs, 1) :]
        found = _wave(wave, here.device, here.work, here.watch)
        runs += found if machine == base.machine else [_on(machine, run) for run in found]
        _write(here, base, [*runs, *_left(waiting)])
    _write(here, base, [*runs, *_left(waiting)])


def _left(targets: Sequence[str]) -> list[ModelRun]:
    return [ModelRun(run_name(target), error=SPENT) for target in targets]


def _on(machine: Machine, run: ModelRun) -> ModelRun:
    return run if run.machine is not None else replace(run, machine=machine)


def _pairs(here: _Here) -> ScaledRuns | None:
    watch, file = here.watch, here.work / "scaling.json.gz"
    budget_s = min(SCALING_S, watch.left_s)
    arguments = ("--device", here.device, "--out", str(here.work), "--budget-s", f"{budget_s:.0f}")
    run(module_command("scaling", *arguments), here.work / "scaling.log", min(SCALING_S + 30.0, watch.left_s))
    scaled = _scaled(file)
    pairs = sum(p.step is not None for p in scaled.pairs) if scaled is not None else 0
    watch.say(f"{pairs} pairs of half the bytes or arithmetic")
    return scaled


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
    name = run_name(target)
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
        found = ModelRun(started.name, error=_why(limit_s is not None, work / f"{started.name}.log", watch))
    watch.say(f"{started.name}: {found.error or f'{len(found.replays)} replays'}"[:300])
    return found


def _why(was_ready: bool, log: Path, watch: Stopwatch) -> str:
    """Why nothing was measured. A model that was ready when the time was over only says that it was interrupted."""
    if was_ready and watch.is_over:
        return SPENT
    return f"not {'measured' if was_ready else 'compiled'} in time: {last_lines(log)[-200:]}"


def _scaled(path: Path) -> ScaledRuns | None:
    try:
        return read(path, ScaledRuns)
    except UnreadableFileError:
        return None


def _write(here: _Here, base: _Base, runs: Sequence[ModelRun]) -> None:
    traces = [r.trace for r in runs if r.trace is not None]
    traces += [b.trace for b in (base.scaled.batches if base.scaled else ())]
    zip_traces(here.work, traces, here.out / TRACES)
    write(InterventionRecording(base.machine, tuple(runs), base.scaled), here.out / FILE)
