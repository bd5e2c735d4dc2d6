"""Orders the stages of a run: observe, derive, judge, change, verify, write. Decides what a failure costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from analyzer.after_recording import judge_default, run_variants
from analyzer.asked import require_possible
from analyzer.assemble import assemble
from analyzer.code_stage import keep_code
from analyzer.core.errors import ExitCode, GraphboundError
from analyzer.core.graphs import Capture
from analyzer.core.origin import Origin
from analyzer.core.plan import FUSED, Plan
from analyzer.core.report import Report, Stage
from analyzer.core.run import Finished, LostChildError, Skip
from analyzer.core.settings import Mode, RunSettings, WorkloadSpec
from analyzer.diagnosis import Passes, diagnose
from analyzer.driver import ChildDriver, Driver, LocalDriver
from analyzer.excerpts import with_excerpts
from analyzer.export_stage import export_model, require_one_graph
from analyzer.fallback import better_plan
from analyzer.interrupts import exit_code_of, undisturbed, what_ended
from analyzer.lab import Limits, PipelineLab, outcome_of, start_afresh
from analyzer.measured import NOT_VERIFIED, Measured
from analyzer.narrator import Narrator
from analyzer.next_command import IN_PYTHON, again, next_command
from analyzer.plan_evidence import with_evidence, without_graphs
from analyzer.progress import Progress, SilentProgress
from analyzer.replan import renewed_plan, require_this_model
from analyzer.report_page import draw_page
from analyzer.run_folder import RunFolder, name_of
from analyzer.search_time import LOADING, loading_seconds, search_seconds
from analyzer.targets import contenders_for, named_backends, predictions, require_backends, targets_of
from collectors.commit import commit_at
from collectors.model_file import is_path, require_model_file
from optimizers.candidates.known import candidate_notes
from optimizers.search import Aims, search

DEFAULT_PATIENCE: Final = 5.0
"""The default compilation may be silent five times as long as a candidate's: without it there is nothing to compare."""

STEP_LIMIT_S: Final = 600.0
"""Silence allowed while steps run: forty samples of 15 s."""


def run(settings: RunSettings, progress: Progress) -> Finished:
    """`analyze model.py`: the whole job, in child processes. Writes the run folder.

    Raises GraphboundError where nothing was measured: no such file, a model that does not load or run. Later
    failures, and Ctrl-C, give a partial report of what was.
    """
    require_possible(settings)
    if is_path(settings.workload.target):
        require_model_file(Path(settings.workload.target))
    folder = RunFolder.create(name_of(settings.workload.target), settings.out)
    with folder.claimed():
        folder.clear()
        return _run_in(folder, settings, Narrator(progress))


def _run_in(folder: RunFolder, settings: RunSettings, told: Narrator) -> Finished:
    if settings.isolate:
        return _Run(settings, folder, ChildDriver(settings.workload, folder.program_log, told.hear), told).finish()
    from collectors.loading import load_workload  # imports torch, and the user's code with it

    # What the program prints must not stand between us and whoever reads the report.
    with redirect_stdout(sys.stderr):
        driver = LocalDriver(load_workload(settings.workload), told.hear, folder.program_log)
        return _Run(settings, folder, driver, told).finish()


def analyze_in_process(
    model: Any,
    inputs: Any,
    *,
    mode: str = "inference",
    device: str | None = None,
    optimize: bool | Path = True,
    out: str | Path | None = None,
) -> Report:
    """`analyzer.analyze`: diagnose and optimise a model that lives in this process, and leave it as it was.

    `inputs` are a tuple of arguments, a dict of keyword arguments or one tensor, or `model` is an
    `analyzer.Workload` and `inputs` None. Without `out` the run folder is a temporary one and is removed. A candidate
    that crashes takes this process with it: the command isolates each, this does not. `optimize` may be the path of a
    plan, which is measured in place of a search and stays, however it does. Raises GraphboundError.
    """
    from collectors.as_found import left_as_found  # imports torch, which the caller has
    from collectors.workload import Workload

    with left_as_found(model.model if isinstance(model, Workload) else model):
        workload = model if isinstance(model, Workload) else Workload.of(model, inputs, mode=mode, device=device)
        finished = _finish_in_process(workload, optimize, out)
    if finished.ended_by is not None:
        raise finished.ended_by
    return finished.report


def _finish_in_process(workload: Any, optimize: bool | Path, out: str | Path | None) -> Finished:
    spec = WorkloadSpec(target=workload.name, mode=Mode(workload.mode), device=workload.device)
    kept = None if out is None else str(out)
    plan = str(optimize) if isinstance(optimize, Path) else None
    settings = RunSettings(
        workload=spec, out=kept, optimize=bool(optimize), isolate=False, plan=plan, holds_plan=plan is not None
    )
    told = Narrator(SilentProgress())
    with TemporaryDirectory(prefix="graphbound-") as scratch:
        folder = RunFolder.create(workload.name, kept or scratch)
        with folder.claimed():
            folder.clear()
            driver = LocalDriver(workload, told.hear, folder.program_log)
            return _Run(settings, folder, driver, told).finish()


def _origin(target: str) -> Origin:
    """Of the repository that holds the user's file; of that around the working directory where there is no file."""
    folder = Path(target).absolute().parent if is_path(target) else Path.cwd()
    return Origin(began_s=int(time.time()), commit=commit_at(folder))


class _Run:
    """One run in progress."""

    def __init__(self, settings: RunSettings, folder: RunFolder, driver: Driver, progress: Narrator) -> None:
        self._settings = settings
        self._folder = folder
        self._driver = driver
        self._progress = progress
        self._measured = Measured(origin=_origin(settings.workload.target), holds_plan=settings.holds_plan)
        self._skip: list[Skip] = []

    def finish(self) -> Finished:
        """Run to the end, or to whatever ends it; the report is written either way."""
        exit_code: ExitCode | int = ExitCode.OK
        ended_by: KeyboardInterrupt | None = None
        try:
            self._start()
            self._carry_out()
            self._export()
        except KeyboardInterrupt as ended:
            self._measured.partial = f"{what_ended(ended)} while {self._stage_name}"
            exit_code, ended_by, self._is_interrupted = exit_code_of(ended), ended, True
        except GraphboundError as error:
            if self._measured.facts is None:
                raise  # nothing was measured: the message is all there is to say
            self._measured.partial = error.message if error.hint is None else f"{error.message} ({error.hint})"
            self._measured.partial_at = error.where
            exit_code = error.exit_code
        except Exception as fault:  # ours: it is raised on, and what was measured is kept all the same
            self._measured.partial = f"Graphbound itself failed: {type(fault).__name__}: {fault}"
            with undisturbed(), suppress(Exception):
                self._save()
            raise
        finally:
            with undisturbed():
                self._driver.close()
        with undisturbed():
            report = self._save()
        if self._is_kept:
            draw_page(report, self._folder, self._progress)
        return Finished(report, exit_code, self._folder.shown, ended_by)

    def _save(self) -> Report:
        target = self._settings.workload.target
        report = assemble(self._measured, target=target, next_command=self._next_command())
        origin = self._measured.origin
        report = with_excerpts(report, Path.cwd(), None if origin is None else origin.began_s)
        try:
            self._folder.save_report(report)
            if self._measured.plan is not None:
                self._folder.save_plan(self._measured.plan)
        except OSError as error:
            # What was measured is still printed.
            note = f"the run folder {self._folder.shown} could not be written: {error.strerror}"
            retry = again(self._settings) if self._settings.isolate else IN_PYTHON
            return replace(report, notes=(note, *report.notes), next_command=retry)
        return report

    def _next_command(self) -> str:
        is_interrupted = self._is_interrupted
        return next_command(self._settings, self._measured, self._folder.shown, is_interrupted=is_interrupted)

    # -- the stages -----------------------------------------------------------------------------------------------

    @property
    def _is_kept(self) -> bool:
        """Whether the folder outlives the run; in a notebook that asks for none it is a temporary one."""
        return self._settings.out is not None or self._settings.isolate

    _stage_name: str = "starting"
    _is_interrupted: bool = False

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        self._stage_name = name
        self._progress.stage(name)
        start_ns = time.perf_counter_ns()
        try:
            yield
        finally:
            self._measured.stages.append(Stage(name, time.perf_counter_ns() - start_ns))

    def _start(self) -> None:
        measured = self._measured
        with self._stage(LOADING):
            facts = start_afresh(self._driver, self._skip)
            if backends := named_backends(self._settings):
                require_backends(backends, self._driver.call("known_backends"))
            measured.facts = facts
            measured.versions = self._driver.call("versions")
            measured.environment = self._driver.call("environment")
            measured.eager_ns = self._driver.call("time_eager", limit_s=STEP_LIMIT_S)

    def _carry_out(self) -> None:
        self._observe()
        require_one_graph(self._settings.export, self._measured)
        # On a GPU the profiler slows every later launch of its process (CUPTI stays attached), so in one process
        # it must come last; with children, the trials get a process that never profiled.
        profiles_first = self._driver.is_isolated or self._is_on_cpu()
        if profiles_first:
            self._diagnose()
        if not self._settings.optimize or not self._measured.digests:
            if not profiles_first:
                self._diagnose()
            if self._settings.optimize and self._settings.plan is None:
                self._measured.plan = without_graphs(self._measured)
            return
        self._save_so_far()
        self._find_plan(is_fresh=self._driver.is_isolated and not self._is_on_cpu())
        self._verify()
        if not profiles_first:
            self._observe_again()
            self._diagnose()
        self._diagnose_plan()

    def _judge_default(self) -> bool:
        """Where a plan was verified, that has told it. False where it cost the process that holds the default."""
        if self._measured.verification is not None:
            self._measured.facts = self._driver.call("facts")  # with what could not be compared
            return True
        with self._stage("comparing results"):
            return judge_default(self._driver, self._measured, self._skip, STEP_LIMIT_S)

    def _is_on_cpu(self) -> bool:
        return self._measured.facts is not None and self._measured.facts.device == "cpu"

    def _observe(self) -> None:
        measured = self._measured
        with self._stage("compiling with torch.compile's defaults"):
            measured.capture = self._capture()
            require_this_model(self._settings.plan, measured)
            measured.uncompiled = self._driver.call("uncompiled")
            measured.compile_ns = self._driver.call("compile_times")
            if self._settings.optimize:  # the search alone asks, and of a large graph it takes seconds
                measured.outlines = self._driver.call("outlines")
            reasons = dict.fromkeys(measured.uncompiled.values())
            measured.notes += [f"a graph was left uncompiled: {reason}" for reason in reasons]
            self._keep_code()
        with self._stage("timing without the profiler"):
            measured.timing = self._driver.call("time", limit_s=STEP_LIMIT_S)
            in_turn = self._driver.call("time_against_eager", limit_s=STEP_LIMIT_S)
            measured.eager_ns, measured.default_ns = in_turn
        with self._stage("reading the model's operators"):
            measured.ops = self._driver.call("operators", limit_s=STEP_LIMIT_S)
            measured.facts = self._driver.call("facts")

    def _capture(self) -> Capture:
        """The default's graphs. One that takes the process down, as it compiles or in its first call right after, is
        left as captured in a fresh process.
        """
        while True:
            try:
                capture: Capture = self._driver.call("capture", limit_s=self._default_limit_s())
                return capture
            except LostChildError as lost:
                key = lost.event.key if lost.event is not None else None
                if key is None or any(skip.digest == key.digest for skip in self._skip):
                    raise
                self._skip.append(Skip(key.digest, FUSED, outcome_of(lost), lost.message))
                start_afresh(self._driver, self._skip)

    def _observe_again(self) -> None:
        """Compile the default once more, for its trace alone: the trials have replaced it."""
        self._driver.call("capture", limit_s=self._default_limit_s())

    def _default_limit_s(self) -> float:
        return max(self._settings.compile_timeout_s * DEFAULT_PATIENCE, STEP_LIMIT_S)

    def _diagnose(self) -> None:
        measured = self._measured
        assert measured.facts is not None
        with self._stage("recording a trace"):
            path = self._folder.before_trace
            measured.profiled_step_ns = self._driver.call("profile", path, limit_s=STEP_LIMIT_S)
        if self._judge_default():
            run_variants(self._driver, self._measured, self._skip, self._default_limit_s())
        with self._stage("measuring the device"):
            measured.device = self._driver.known_device(measured.facts.device, STEP_LIMIT_S)
            if self._driver.is_isolated and not self._is_on_cpu():
                self._driver.close()  # the device must be idle while it is measured
            if measured.device is None:
                measured.device = self._driver.measure_device(measured.facts.device, STEP_LIMIT_S)
        self._explain(path)
        assert measured.before is not None
        if measured.before.is_over_peak:
            # What is kept of the device was measured while something else held it.
            with self._stage("measuring the device again"):
                measured.device = self._driver.measure_device(measured.facts.device, STEP_LIMIT_S, renew=True)
            self._explain(path)

    def _explain(self, trace: Path) -> None:
        measured = self._measured
        assert measured.timing is not None
        assert measured.device is not None
        with self._stage("explaining"):
            passes = Passes(measured.timing, trace, measured.capture)
            measured.before = diagnose(passes, measured.device, measured.environment, measured.ops)
            measured.predicted_ns = predictions(measured)

    def _save_so_far(self) -> None:
        """A report on disk before the search: even a killed parent loses nothing of the diagnosis."""
        self._measured.partial = "the run was ended during the search"
        self._save()
        self._measured.partial = None

    def _find_plan(self, *, is_fresh: bool) -> None:
        measured = self._measured
        with self._stage("trying candidates"):
            settings = self._settings
            lab = PipelineLab(
                self._driver,
                measured,
                self._progress,
                Limits(settings.compile_timeout_s, search_seconds(settings, measured)),
                needs_fresh=is_fresh,
                skip=self._skip,
            )
            if settings.plan is not None:
                measured.plan = renewed_plan(settings.plan, measured, lab)
                return
            start_s = loading_seconds(measured) if is_fresh else 0.0
            aims = Aims(settings.objective, settings.memory_limit_bytes, start_s)
            measured.found = search(targets_of(measured), contenders_for(settings, measured), lab, aims)
            measured.notes += [*candidate_notes(), *measured.found.notes]
        measured.plan = replace(measured.plan_of(measured.found.best), note=NOT_VERIFIED)

    def _verify(self) -> None:
        """Recompile with the plan and measure; what does not win is taken back, and that is measured again.

        A plan falls back on the default, and that on the model as it is: three are the most there can be. One that is
        held is not taken back: what becomes of it is asked for.
        """
        measured = self._measured
        with self._stage("verifying the plan"):
            assert measured.plan is not None
            self._verify_once(measured.plan)
            aims = self._settings.objective, self._settings.memory_limit_bytes
            while not measured.holds_plan and (better := better_plan(measured, *aims)) is not None:
                measured.plan = replace(better, note=NOT_VERIFIED)
                self._verify_once(better)
            measured.plan = with_evidence(measured.plan, measured)
            self._keep_code(measured.plan)
            self._driver.call("profile_plan", self._folder.after_trace, limit_s=STEP_LIMIT_S)

    def _keep_code(self, plan: Plan | None = None) -> None:
        if self._is_kept:
            keep_code(self._driver, self._measured, self._folder.path, plan)

    def _verify_once(self, plan: Plan) -> None:
        limit_s = self._settings.compile_timeout_s + STEP_LIMIT_S
        self._measured.verification = None  # what is known of another plan says nothing of this one
        try:
            self._measured.verification = self._driver.call("verify", plan, limit_s=limit_s)
        except GraphboundError:
            self._measured.plan = replace(self._measured.plan_of({}), note=NOT_VERIFIED)
            raise

    def _export(self) -> None:
        if self._settings.export is not None:
            with self._stage("exporting the model"):
                export_model(self._driver, self._measured, self._folder, self._skip)

    def _diagnose_plan(self) -> None:
        measured = self._measured
        checked = measured.verification
        if checked is None or checked.timing is None or measured.device is None or measured.before is None:
            return
        with self._stage("explaining the plan"):
            measured.capture = measured.capture and measured.capture.with_plan(checked.capture)
            passes = Passes(checked.timing, self._folder.after_trace, measured.capture)
            measured.after = diagnose(passes, measured.device, measured.environment, measured.ops, measured.before)
