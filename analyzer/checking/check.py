"""The whole of `analyze check`: every model, against its baseline or against another commit, as one result."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from analyzer.checking.against import Beside, run_beside
from analyzer.checking.naming import found_model, model_name, name_of_report
from analyzer.checking.project import (
    Project,
    find_project,
    policy_target,
    require_models_of_tables,
    require_plans,
    require_writable,
)
from analyzer.checking.renamed import gone_models
from analyzer.checking.settings import CheckSettings
from analyzer.checking.sources import FileSources
from analyzer.checking.stored import Stored, reach_of, read_stored
from analyzer.checking.storing import Judged, require_storable, store
from analyzer.checking.subjects import (
    Made,
    graphs_alone,
    is_of_graphs_alone,
    is_run,
    saved,
    spec_of,
    whole_run,
)
from analyzer.checking.worktree import commit_of
from analyzer.core.baseline import ModelBaseline
from analyzer.core.errors import ExitCode, GraphboundError, UsageError
from analyzer.core.gate import GateResult, ModelGate
from analyzer.core.graphs import SourceLine
from analyzer.core.plan import Plan
from analyzer.core.settings import WorkloadSpec
from analyzer.gate.headline import gate_headline
from analyzer.gate.judge import Case, baseline_of, judge
from analyzer.gate.times import crowd_clause
from analyzer.interrupts import exit_code_of, what_ended
from analyzer.progress import Progress
from analyzer.rules import RULES
from analyzer.run_folder import RunFolder
from optimizers.plan import read_plan

RULE_IDS: Final = tuple(rule.id for rule in RULES)


def run_check(settings: CheckSettings, progress: Progress) -> GateResult:
    """Judge every target. Writes the baseline of what has none yet, and with `init` all of it.

    Raises UsageError where there is nothing to judge or a file is none; a model that cannot be run is in the result.
    """
    project = find_project(settings.budget_file, Path.cwd())
    targets = settings.targets or tuple(policy_target(model, project) for model in project.policy.models)
    if not targets:
        raise UsageError(
            "what should be checked?", hint='`analyze check model.py`, or models = ["model.py"] in [tool.graphbound]'
        )
    targets = _once(targets)
    _require_possible(targets, settings, project)
    stored = read_stored(settings, project)
    if settings.init and stored.path is None:
        raise UsageError(f"--init writes a file of values, and {stored.shown} is a run", hint="name a file, or none")
    if settings.init and stored.path is not None:
        require_storable(stored.path, project)
    elif stored.path is not None and stored.baseline is None and settings.against is None:
        require_writable(stored.path)  # what has no values yet gets them
    with TemporaryDirectory(prefix="graphbound-check-") as scratch:
        check = _Check(settings, project, stored, Path(scratch), progress, targets)
        judged = list(check.each())
    return _result(settings, project, stored, judged)


def _once(targets: Sequence[str]) -> tuple[str, ...]:
    """A file that is named twice, in whatever way, is one model."""
    first: dict[str, str] = {}
    for each in targets:
        path = Path(each)
        first.setdefault(str(path.resolve()) if path.exists() else each, each)
    return tuple(first.values())


def _first_line(target: str) -> SourceLine | None:
    """Of the model's file; None of a model that is none, and of a recorded run."""
    is_source = Path(target).suffix == ".py" and Path(target).is_file()
    return SourceLine(str(Path(target).resolve()), 1) if is_source else None


def _require_possible(targets: Sequence[str], settings: CheckSettings, project: Project) -> None:
    """What is wrong with one of them is said before any of them has run. Raises UsageError."""
    for target in targets:
        if not is_run(target):
            found_model(target)
        elif settings.against is not None:
            raise UsageError(
                f"--against runs the model itself, and {target} is a recorded run", hint="give it model.py"
            )
    names = [model_name(target, settings.mode, project) for target in targets if not is_run(target)]
    if len(names) == len(targets):
        require_models_of_tables(project, names)
    require_plans(project, names)
    if settings.against is not None:
        commit_of(settings.against, project.root)


@dataclass(frozen=True, slots=True)
class _Check:
    settings: CheckSettings
    project: Project
    stored: Stored
    scratch: Path
    progress: Progress
    targets: tuple[str, ...]

    def each(self) -> Iterator[Judged]:
        """Every target; what a signal ended, and what comes after it, was not checked."""
        ended: KeyboardInterrupt | None = None
        for target in self.targets:
            if ended is not None:
                yield self._lost(target, ended, f"not begun: {what_ended(ended)}")
                continue
            try:
                judged = self.judged(target)
                ended = judged.ended_by
                yield judged
            except KeyboardInterrupt as signal:
                ended = signal
                yield self._lost(target, ended, f"{what_ended(ended)} before it was judged")

    def _lost(self, target: str, ended: KeyboardInterrupt, error: str) -> Judged:
        name = model_name(target, self.settings.mode, self.project)
        gate = ModelGate(name, None, (), error=error, error_at=_first_line(target), error_code=exit_code_of(ended))
        return Judged(gate, ended_by=ended)

    def judged(self, target: str) -> Judged:
        name = model_name(target, self.settings.mode, self.project)
        try:
            made = self._made(target)
            name = name_of_report(made.report, self.project) if is_run(target) else name
            case = self._case(name, made)
            beside = self._beside(name, target) if made.ended_by is None else None
        except GraphboundError as error:
            if isinstance(error, UsageError) and len(self.targets) == 1:
                raise  # the whole command was wrong
            text = error.message if error.hint is None else f"{error.message} ({error.hint})"
            at = error.where or _first_line(target)
            return Judged(ModelGate(name, None, (), error=text, error_at=at, error_code=int(error.exit_code)))
        if beside is not None:
            case = replace(
                case, baseline=beside.baseline, against=self.settings.against_shown, in_turn=beside.in_turn,
                changed=beside.changed,
            )  # fmt: skip
        # What is accepted by --init is asked no more whether it is a rename.
        gate = judge(replace(case, gone=(), is_accepted=True) if self.settings.init else case)
        if made.exit_code != ExitCode.OK:
            gate = replace(gate, error_code=made.exit_code)
        if beside is not None:
            gate = replace(gate, notes=(*gate.notes, *beside.notes), error=gate.error or beside.error)
        entry = None if gate.error is not None else baseline_of(case, self._known(case))
        return Judged(gate, case, entry, made.ended_by)

    def _made(self, target: str) -> Made:
        settings = self.settings
        if is_run(target):
            made = saved(target)
            if settings.runs and is_of_graphs_alone(made.report):
                raise UsageError(
                    f"no step was run for {target}: it was made with --no-run, or by a test of its graphs alone",
                    hint="check it with --no-run, or the model itself without",
                )
            return made
        spec = spec_of(found_model(target), settings.mode, settings.device, settings.entry)
        out = self._out(target)
        if not settings.runs:
            return self._graphs_alone(spec, out)
        plan = self.project.policy.plan(model_name(target, settings.mode, self.project))
        made = whole_run(spec, None if plan is None else str(self.project.folder / plan), out, self.progress)
        return made if settings.out is None else replace(made, folder=out)

    def _graphs_alone(self, spec: WorkloadSpec, out: Path) -> Made:
        """A report without a run of its own; where folders are kept, in one of its own, with what the program said."""
        if self.settings.out is None:
            return graphs_alone(spec, self.progress)
        folder = RunFolder.create(out.name, str(out))
        with folder.claimed():
            folder.clear()
            made = graphs_alone(spec, self.progress, folder.program_log)
            try:
                folder.save_report(made.report)
            except OSError as error:
                raise UsageError(
                    f"cannot write {out}: {error.strerror or error}", hint="choose another --out"
                ) from error
        return replace(made, folder=out)

    def _case(self, name: str, made: Made) -> Case:
        report = made.report
        sources = FileSources(self.project.root, Path.cwd(), made.written_ns)
        known = self.stored.baseline
        # What is accepted unseen is held against nothing but written limits.
        baseline = None if self.settings.init or known is None else known.of(name, report.workload.device)
        case = Case(
            name=name,
            report=report,
            policy=self.project.policy,
            sources=sources,
            silences=sources.silences(report, RULE_IDS),
            baseline=baseline,
            against=self.stored.shown if baseline is not None else None,
            plan=self._plan(name),
            reach=reach_of(report, runs=self.settings.runs),
            crowd=crowd_clause(report),
            folder=None if made.folder is None else str(made.folder),
        )
        if self.settings.against is not None:
            return case
        return replace(case, gone=gone_models(known, baseline_of(case), self.project), stored_in=self.stored.shown)

    def _known(self, case: Case) -> ModelBaseline | None:
        known = self.stored.baseline
        return None if known is None else known.of(case.name, case.report.workload.device)

    def _beside(self, name: str, target: str) -> Beside | None:
        """The base, where another commit was asked for."""
        if self.settings.against is None:
            return None
        return run_beside(name, found_model(target), self.settings, self.project, self.scratch, self.progress)

    def _plan(self, name: str) -> Plan | None:
        path = self.project.policy.plan(name)
        return None if path is None else read_plan(self.project.folder / path)

    def _out(self, target: str) -> Path:
        """A folder of its own for each model, kept or not; a number tells two models of one name apart."""
        if self.settings.out is None:
            return self.scratch / f"{len(list(self.scratch.iterdir()))}-{Path(target).stem}"
        names = [re.sub(r"[^A-Za-z0-9_.-]+", "_", Path(each).stem).strip(".") or "model" for each in self.targets]
        number = self.targets.index(target)
        name = names[number] if names.count(names[number]) == 1 else f"{names[number]}-{number}"
        return Path.cwd() / self.settings.out / name


def _result(settings: CheckSettings, project: Project, stored: Stored, judged: Sequence[Judged]) -> GateResult:
    kept = store(settings, project, stored, judged)
    models = tuple(one.gate for one in judged)
    sources = FileSources(project.root, Path.cwd())
    is_known = any(one.case is not None and one.case.baseline for one in judged)
    against = (settings.against_shown or stored.shown) if is_known else None
    notes = [*kept.notes, *(_release_notes(stored, models) if is_known else ())]
    if not settings.runs:
        notes.append("--no-run: gates that need a recorded step or a clock were left out")
    return GateResult(
        headline=gate_headline(
            models, sources, against, is_accepted=settings.init, has_new_file=kept.accept is not None
        ),
        models=models,
        against=against,
        accept=kept.accept,
        accept_file=sources.path(str(stored.path)) if kept.accept is not None else None,
        notes=tuple(notes),
        command=settings.command,
    )


def _release_notes(stored: Stored, models: Sequence[ModelGate]) -> tuple[str, ...]:
    """That the run which is the baseline is another Graphbound's. A file of values says of each how it was counted."""
    others = {model.report.versions.graphbound for model in models if model.report is not None} - {stored.made_by}
    if stored.made_by is None or not others:
        return ()
    return (
        f"Graphbound {stored.made_by} made the run {stored.shown}, and {' and '.join(sorted(others))} what is held "
        "against it: the two may count the same model otherwise; make the base anew with the same one",
    )
