"""What to type next: the last line of every report. A pure function of what was asked for and what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from analyzer.core.settings import COMPILE_TIMEOUT_S, Mode, Objective, RunSettings, WorkloadSpec
from analyzer.core.shell import shell_path, shell_word
from analyzer.measured import Measured
from analyzer.reporting.json import DASHBOARD_COMMAND

DOCTOR: Final = "analyze doctor"
IN_PYTHON: Final = 'analyzer.analyze(model, inputs, out="runs/NAME")'
"""Where the run folder is a temporary one: there is nothing to look at afterwards."""

Option = tuple[str, str | None]
"""A flag and its value, None where it is as without the flag."""


def next_command(settings: RunSettings, measured: Measured, folder: Path, *, is_interrupted: bool = False) -> str:
    """The dashboard where there is a diagnosis to see. Without one, the same run again; but where torch's default did
    not compile at all, what says whether this machine can.
    """
    if measured.before is not None and settings.out is not None:
        return f"{DASHBOARD_COMMAND}{shell_path(folder)}"
    if measured.before is not None or not settings.isolate:
        return IN_PYTHON
    is_compiling = measured.eager_ns is not None and measured.capture is None
    return DOCTOR if is_compiling and not is_interrupted else again(settings)


def again(settings: RunSettings) -> str:
    """The command of these settings, without what is the default anyway and without the folder of this run."""
    spec = settings.workload
    target = shell_path(spec.target) if spec.target.endswith(".py") else shell_word(spec.target)
    flags = [] if settings.optimize else ["--no-optimize"]
    flags += [] if settings.isolate else ["--no-isolate"]
    given = [option for option in (*_of_workload(spec), *_of_search(settings)) if option[1] is not None]
    # With `=`, so that no value is taken for an option.
    flags += [shell_word(f"{name}={value}") for name, value in given]
    return " ".join(("analyze", target, *flags))


def _of_workload(spec: WorkloadSpec) -> tuple[Option, ...]:
    return (
        ("--mode", None if spec.mode is Mode.INFERENCE else spec.mode.value),
        ("--device", spec.device),
        ("--entry", spec.entry),
        ("--batch", None if spec.batch is None else str(spec.batch)),
        ("--dtype", spec.dtype),
        ("--shape", "x".join(map(str, spec.shape)) if spec.shape else None),
        ("--shape", ",".join(map(str, spec.ranges)) or None),
    )


def _of_search(settings: RunSettings) -> tuple[Option, ...]:
    is_patient = settings.compile_timeout_s != COMPILE_TIMEOUT_S
    return (
        ("--candidates", ",".join(settings.candidates) or None),
        ("--compile-timeout", repr(settings.compile_timeout_s) if is_patient else None),
        ("--budget", None if settings.budget_s is None else f"{settings.budget_s:.15g}s"),
        ("--objective", None if settings.objective is Objective.LATENCY else settings.objective.value),
        ("--memory-limit", None if settings.memory_limit_bytes is None else f"{settings.memory_limit_bytes}B"),
        *(("--backend", name) for name in settings.backends),
        ("--allow", ",".join(settings.allow) or None),
        ("--plan", settings.plan),
        ("--export", None if settings.export is None else settings.export.value),
    )
