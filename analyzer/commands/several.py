"""`analyze a.py b.py`, or the models of the policy: one after another, each in processes and a run folder of its own.

What becomes of one costs that one alone; a signal ends the rest, and what was measured is shown all the same.
"""

from __future__ import annotations

import argparse
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from analyzer.commands.output import print_runs, refuse_single
from analyzer.core.errors import ExitCode, GraphboundError, UsageError
from analyzer.core.graphs import SourceLine
from analyzer.core.settings import RunSettings
from analyzer.interrupts import ending_signals_interrupt, exit_code_of, what_ended
from analyzer.progress import Progress, make_progress

if TYPE_CHECKING:
    from analyzer.core.model_runs import ModelRun

FAULT_FILE: Final = "graphbound-error.txt"
"""In the run folder: the traceback of a fault of ours."""


@dataclass(frozen=True, slots=True)
class Asked:
    """`name` is how the model was asked for."""

    name: str
    settings: RunSettings


def policy_models() -> tuple[tuple[str, str], ...]:
    """The models of the nearest policy, each as written there and as a target; empty where there is none.

    Raises UsageError where the policy cannot be read.
    """
    from analyzer.checking.project import find_project, policy_target  # msgspec and numpy: `--help` does without

    project = find_project(None, Path.cwd())
    return tuple((model, policy_target(model, project)) for model in project.policy.models)


def refuse_what_is_for_one(arguments: argparse.Namespace, targets: Sequence[str], traces: Sequence[str]) -> None:
    """Raises UsageError, before anything runs, for what several models cannot share. `traces` are those of the targets
    that are recorded.
    """
    if traces and len(traces) < len(targets):
        model = next(target for target in targets if target not in traces)
        raise UsageError(
            f"{traces[0]} is a recorded trace, and {model} a model to be run: one command takes one kind",
            hint="analyse them apart",
        )
    if traces:
        raise UsageError(
            f"{len(traces)} recorded traces: one command takes one",
            hint="`analyze compare A B` for two; the ranks of one run are a folder, or a glob in quotes",
        )
    flags = (("--plan", arguments.plan is not None), ("--dashboard", arguments.dashboard))
    given = [flag for flag, is_given in (*flags, ("--no-isolate", not arguments.isolate)) if is_given]
    if given:
        raise UsageError(
            f"{', '.join(given)}: for one model alone, and {len(targets)} were asked for", hint="run that one by itself"
        )
    refuse_single(arguments.format)


def run_models(asked: Sequence[Asked], arguments: argparse.Namespace, command: str) -> int:
    """Run them all, show them together, and return the worst of their exit codes."""
    from analyzer.core.model_runs import ModelRuns  # numpy: `--help` does without

    progress = make_progress(quiet=arguments.quiet)
    try:
        with ending_signals_interrupt():
            runs = tuple(_each(asked, progress))
    finally:
        progress.close()
    whole = ModelRuns(headline=runs_headline(runs), runs=runs, command=command)
    print_runs(whole, arguments.format)
    return whole.exit_code


def runs_headline(runs: Sequence[ModelRun]) -> str:
    """`3 models: 1 faster with its plan, 1 not, 1 did not run`."""
    from analyzer.core.trial import Change  # as above

    lost = [run for run in runs if run.report is None]
    partial = [run for run in runs if run.report is not None and (run.report.partial is not None or run.exit_code)]
    whole = [run.report for run in runs if run.report is not None and run not in partial]
    compared = [(report, report.comparison) for report in whole if report.comparison is not None]
    faster = sum(found.outcome is Change.FASTER and not report.is_left_alone for report, found in compared)
    counted = (
        (faster, "faster with its plan" if faster == 1 else "faster with their plans"),
        (len(compared) - faster, "no faster"),
        (len(whole) - len(compared), "diagnosed"),
        (len(partial), "ended early"),
        (len(lost), "did not run"),
    )
    return f"{len(runs)} models: {', '.join(f'{number} {what}' for number, what in counted if number)}"


def _each(asked: Sequence[Asked], progress: Progress) -> Iterator[ModelRun]:
    from analyzer.core.model_runs import ModelRun  # as above

    ended: KeyboardInterrupt | None = None
    for number, one in enumerate(asked, start=1):
        if ended is not None:
            yield ModelRun(one.name, None, None, exit_code_of(ended), f"not begun: {what_ended(ended)} before")
            continue
        progress.note(f"model {number} of {len(asked)}: {one.name}")
        try:
            run, ended = _run(one, progress)
        except KeyboardInterrupt as signal:
            run, ended = _lost(one, exit_code_of(signal), what_ended(signal)), signal
        yield run


def _run(one: Asked, progress: Progress) -> tuple[ModelRun, KeyboardInterrupt | None]:
    """One model, whatever becomes of it; and the signal that ended it."""
    # numpy and msgspec: `analyze --help` does without.
    from analyzer.core.model_runs import ModelRun
    from analyzer.pipeline import run as run_pipeline

    try:
        finished = run_pipeline(one.settings, progress)
    except GraphboundError as error:
        text = error.message if error.hint is None else f"{error.message} ({error.hint})"
        return _lost(one, int(error.exit_code), text, error.where), None
    except Exception as fault:  # ours, and whatever it is: the other models are not to pay for it
        return _faulty(one, fault), None
    folder = str(finished.folder)
    return ModelRun(one.name, finished.report, folder, int(finished.exit_code)), finished.ended_by


def _faulty(one: Asked, fault: Exception) -> ModelRun:
    text = f"Graphbound itself failed: {type(fault).__name__}: {fault}"
    folder = Path(one.settings.out or ".")
    with suppress(OSError):
        file = folder / FAULT_FILE
        file.write_text("".join(traceback.format_exception(fault)), encoding="utf-8", errors="replace")
        text += f"; please report it, with the file {file}"
    return _lost(one, int(ExitCode.INTERNAL), text)


def _lost(one: Asked, exit_code: int, error: str, at: SourceLine | None = None) -> ModelRun:
    """`at` None: at the first line of the model's file, where it is one."""
    from analyzer.core.model_runs import ModelRun  # as above

    target = Path(one.settings.workload.target)
    at = at or (SourceLine(str(target.resolve()), 1) if target.is_file() else None)

    # What its program printed lies there, where it got so far.
    folder = one.settings.out if one.settings.out is not None and Path(one.settings.out).is_dir() else None
    return ModelRun(one.name, None, folder, exit_code, error, at)
