"""The whole of `analyze check`: every model, against its baseline or against another commit, as one result."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from analyzer.checking.against import Beside, run_beside
from analyzer.checking.project import (
    POLICY_FILE,
    Project,
    find_project,
    policy_target,
    read_baseline,
    require_models_of_tables,
    require_plans,
    write_baseline,
    write_text,
)
from analyzer.checking.settings import CheckSettings
from analyzer.checking.sources import FileSources
from analyzer.checking.subjects import Made, graphs_alone, is_run, saved, spec_of, whole_run
from analyzer.checking.worktree import commit_of
from analyzer.core.baseline import Baseline, ModelBaseline
from analyzer.core.errors import ExitCode, GraphboundError, UsageError
from analyzer.core.gate import GateResult, GateStatus, ModelGate
from analyzer.core.plan import Plan
from analyzer.core.policy import Policy
from analyzer.core.report import Report
from analyzer.core.settings import Mode
from analyzer.gate.baseline_file import encode_baseline
from analyzer.gate.headline import gate_headline
from analyzer.gate.judge import Case, baseline_of, judge, machine_of
from analyzer.gate.policy_text import policy_text
from analyzer.gate.reading import Needs
from analyzer.progress import Progress
from analyzer.reporting.json import REPORT_FILE, write_report
from analyzer.rules import RULES
from collectors.model_file import close_matches, is_path, require_model_file
from optimizers.plan import read_plan

RULE_IDS: Final = tuple(rule.id for rule in RULES)


@dataclass(frozen=True, slots=True)
class _Judged:
    """`stored` is what a new baseline has of it, None where it was not judged."""

    gate: ModelGate
    case: Case | None = None
    stored: ModelBaseline | None = None


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
    stored, shown = _stored(settings, project)
    with TemporaryDirectory(prefix="graphbound-check-") as scratch:
        check = _Check(settings, project, stored, shown, Path(scratch), progress, targets)
        judged = [check.judged(target) for target in targets]
    return _result(settings, project, stored, shown, judged)


def _once(targets: Sequence[str]) -> tuple[str, ...]:
    """A file that is named twice, in whatever way, is one model."""
    first: dict[str, str] = {}
    for each in targets:
        path = Path(each)
        first.setdefault(str(path.resolve()) if path.exists() else each, each)
    return tuple(first.values())


def _require_possible(targets: Sequence[str], settings: CheckSettings, project: Project) -> None:
    """What is wrong with one of them is said before any of them has run. Raises UsageError."""
    for target in targets:
        if not is_run(target):
            _found(target)
        elif settings.against is not None:
            raise UsageError(
                f"--against runs the model itself, and {target} is a recorded run", hint="give it model.py"
            )
    names = [_name(target, settings.mode, project) for target in targets if not is_run(target)]
    if len(names) == len(targets):
        require_models_of_tables(project, names)
    require_plans(project, names)
    if settings.against is not None:
        commit_of(settings.against, project.root)


@dataclass(frozen=True, slots=True)
class _Check:
    settings: CheckSettings
    project: Project
    stored: Baseline | None
    shown: str
    scratch: Path
    progress: Progress
    targets: tuple[str, ...]

    def judged(self, target: str) -> _Judged:
        name = _name(target, self.settings.mode, self.project)
        try:
            made = self._made(target)
            name = _name_of(made.report, self.project) if is_run(target) else name
            case = self._case(name, made)
            beside = self._beside(name, target)
        except GraphboundError as error:
            if isinstance(error, UsageError) and len(self.targets) == 1:
                raise  # the whole command was wrong
            text = error.message if error.hint is None else f"{error.message} ({error.hint})"
            return _Judged(ModelGate(name, None, (), error=text, error_code=int(error.exit_code)))
        if beside is not None:
            case = replace(
                case, baseline=beside.baseline, against=self.settings.against, in_turn=beside.in_turn,
                crowd=case.crowd or beside.crowd,
                changed=beside.changed,
            )  # fmt: skip
        gate = judge(case)
        if made.exit_code != ExitCode.OK:
            gate = replace(gate, error_code=made.exit_code)
        if beside is not None:
            gate = replace(gate, notes=(*gate.notes, *beside.notes), error=gate.error or beside.error)
        old = self.stored.of(name, made.report.workload.device) if self.stored is not None else None
        return _Judged(gate, case, None if gate.error is not None else baseline_of(case, old))

    def _made(self, target: str) -> Made:
        if is_run(target):
            return saved(target)
        settings = self.settings
        spec = spec_of(_found(target), settings.mode, settings.device, settings.entry)
        out = self._out(target)
        if not settings.runs:
            return self._kept(graphs_alone(spec, self.progress), out)
        plan = self.project.policy.plan(_name(target, settings.mode, self.project))
        made = whole_run(spec, None if plan is None else str(self.project.folder / plan), out, self.progress)
        return made if settings.out is None else replace(made, folder=out)

    def _kept(self, made: Made, out: Path) -> Made:
        """A report without a run of its own, in a folder of its own where folders are kept."""
        if self.settings.out is None:
            return made
        try:
            out.mkdir(parents=True, exist_ok=True)
            write_report(made.report, out / REPORT_FILE)
        except OSError as error:
            raise UsageError(f"cannot write {out}: {error.strerror or error}", hint="choose another --out") from error
        return replace(made, folder=out)

    def _case(self, name: str, made: Made) -> Case:
        report = made.report
        sources = FileSources(self.project.root, Path.cwd(), made.written_ns)
        # What is accepted unseen is held against nothing but written limits.
        known = self.stored if not self.settings.init else None
        baseline = known.of(name, report.workload.device) if known is not None else None
        crowd = report.crowd
        return Case(
            name=name,
            report=report,
            policy=self.project.policy,
            sources=sources,
            silences=sources.silences(report, RULE_IDS),
            baseline=baseline,
            against=self.shown if baseline is not None else None,
            plan=self._plan(name),
            reach=_reach(report, self.settings.runs),
            crowd="other programs kept the machine busy meanwhile" if crowd is not None and crowd.is_crowded else None,
            folder=None if made.folder is None else str(made.folder),
        )

    def _beside(self, name: str, target: str) -> Beside | None:
        """The base, where another commit was asked for."""
        if self.settings.against is None:
            return None
        return run_beside(name, _found(target), self.settings, self.project, self.scratch, self.progress)

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


def _name(target: str, mode: str, project: Project) -> str:
    """What the policy and the baseline call it: its path from the policy's folder, and its mode in training."""
    path = Path(target)
    shown = target
    if path.suffix == ".py":
        whole = (Path.cwd() / path).resolve()
        whole = whole if whole.exists() else (project.root / path).resolve()
        shown = whole.relative_to(project.folder).as_posix() if whole.is_relative_to(project.folder) else target
    return f"{shown} ({mode})" if mode == Mode.TRAINING.value else shown


def _name_of(report: Report, project: Project) -> str:
    return _name(report.workload.source, report.workload.mode, project)


def _reach(report: Report, runs: bool) -> Needs:
    if not runs:
        return Needs.GRAPHS
    return Needs.STEPS if report.is_recorded else Needs.CLOCK


def _found(target: str) -> str:
    """An absolute path for a file: processes are started in other folders too. Raises UsageError."""
    path = Path(target)
    if not is_path(target) and not path.exists():
        return target
    require_model_file(path)
    return str(path.resolve())


def _stored(settings: CheckSettings, project: Project) -> tuple[Baseline | None, str]:
    """What is held against, and what it is called. A run folder is a baseline of the models that it has."""
    if settings.baseline is None:
        return read_baseline(project.baseline_file, project.policy.baseline), project.policy.baseline
    if not is_run(settings.baseline) or _is_baseline(Path(settings.baseline)):
        stored = read_baseline(Path(settings.baseline), settings.baseline)
        if stored is None and not settings.init:
            raise _no_such_baseline(settings.baseline)
        return stored, settings.baseline
    made = saved(settings.baseline)
    sources = FileSources(project.root, Path.cwd(), made.written_ns)
    case = Case(_name_of(made.report, project), made.report, project.policy, sources, reach=_reach(made.report, True))
    return Baseline((baseline_of(case),), settings.baseline), settings.baseline


def _no_such_baseline(named: str) -> UsageError:
    """What was named must be there: held against a name with a slip in it, every model would pass for ever."""
    folder = Path(named).parent
    others = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    hint = close_matches(Path(named).name, others) or "--init writes it from this run"
    return UsageError(f"there is no baseline {named}", hint=hint)


def _is_baseline(path: Path) -> bool:
    return path.is_file() and path.name != REPORT_FILE


def _result(
    settings: CheckSettings, project: Project, stored: Baseline | None, shown: str, judged: Sequence[_Judged]
) -> GateResult:
    known = stored or Baseline()
    notes: list[str] = []
    if settings.against is None and (stored is None or settings.baseline is None or not is_run(settings.baseline)):
        said, known = _write(settings, project, known, shown, judged)
        notes += said
    models = tuple(one.gate for one in judged)
    sources = FileSources(project.root, Path.cwd())
    is_known = settings.against is not None or any(one.case is not None and one.case.baseline for one in judged)
    against = (settings.against or shown) if is_known else None
    accept = None
    if settings.against is None and any(_is_changed(model) for model in models):
        new = _with(known, (one.stored for one in judged if one.stored is not None))
        accept = encode_baseline(new) if new.models != known.models and not settings.init else None
    if not settings.runs:
        notes.append("--no-run: gates that need a recorded step or a clock were left out")
    return GateResult(
        headline=gate_headline(models, sources, against),
        models=models,
        against=against,
        accept=accept,
        accept_file=str(_baseline_path(settings, project)) if accept is not None else None,
        notes=tuple(notes),
        command=settings.command,
    )


def _is_changed(model: ModelGate) -> bool:
    return any(check.status in (GateStatus.IMPROVED, GateStatus.FAILED, GateStatus.WARNED) for check in model.checks)


def _write(
    settings: CheckSettings, project: Project, known: Baseline, shown: str, judged: Sequence[_Judged]
) -> tuple[list[str], Baseline]:
    """Store what has no baseline yet, and never in place of anything: that is accepted with `--init`, or by hand. What
    there is to say, and what is stored now.
    """
    path = _baseline_path(settings, project)
    whole = [one for one in judged if one.stored is not None]
    if settings.init:
        if not whole:
            return ["nothing was written: no model could be judged"], known
        notes = _write_policy(settings, project, whole)
        known = _with(known, (one.stored for one in whole if one.stored is not None))
        write_baseline(path, known)
        return [*notes, f"wrote the values of {_models(whole)} to {shown}"], known
    new = [one for one in whole if one.case is not None and one.case.baseline is None]
    added = [(one, entry) for one in whole if one not in new and (entry := _completed(one)) is not None]
    busy = [one for one in whole if _is_untimed(one)]
    notes = [f"the machine was busy, and no times of {_models(busy)} were stored: run it again"] if busy else []
    if not new and not added:
        return notes, known
    before = known
    known = _with(known, (*(one.stored for one in new if one.stored is not None), *(entry for _, entry in added)))
    write_baseline(path, known)
    return [*_stored_notes(new, added, before, shown), *notes], known


def _stored_notes(
    new: Sequence[_Judged], added: Sequence[tuple[_Judged, ModelBaseline]], before: Baseline, shown: str
) -> list[str]:
    whose = "its" if len(new) == 1 else "their"
    notes = [f"no baseline yet of {_models(new)}: {whose} values were written to {shown}; commit it"] if new else []
    notes += [note for one in new if (note := _of_another_kind(one, before, shown)) is not None]
    for one, entry in added:
        old = before.of(entry.model, entry.kind)
        names = [value.gate for value in entry.values if old is not None and old.value(value.gate) is None]
        if names:
            notes.append(f"no {', '.join(names)} yet of {one.gate.name}: written to {shown}")
    timed = [one for one, entry in added if (old := before.of(entry.model, entry.kind)) and entry.times != old.times]
    if timed:
        notes.append(f"no times yet of this machine class for {_models(timed)}: written to {shown}")
    return notes


def _of_another_kind(one: _Judged, stored: Baseline, shown: str) -> str | None:
    """That what is stored of this model could not hold it: nothing was compared, and it passed."""
    if one.stored is None:
        return None
    others = [entry.kind for entry in stored.models if entry.model == one.stored.model]
    if not others:
        return None
    return f"{shown} has {one.stored.model} on {', '.join(others)} alone, and this run was on {one.stored.kind}"


def _completed(one: _Judged) -> ModelBaseline | None:
    """The old entry with what it had none of: values that `--no-run` leaves out, times of another machine class. None
    where there is nothing to add.
    """
    if one.case is None or one.case.baseline is None or one.stored is None or not one.gate.has_passed:
        return None
    old = one.case.baseline
    times = [each for each in one.stored.times if all(each.machine.difference(known.machine) for known in old.times)]
    # A value of one torch among those of another would be blamed on the model.
    values = one.stored.values if one.stored.torch == old.torch else ()
    is_more = any(old.value(value.gate) is None for value in values)
    if not times and not is_more:
        return None
    kept = tuple(old.value(value.gate) or value for value in values) if is_more else old.values
    return replace(old, values=kept, times=(*old.times, *times))


def _is_untimed(one: _Judged) -> bool:
    """Whether its steps were timed on a machine that others kept busy, and nothing is known of this machine class."""
    case = one.case
    if case is None or case.crowd is None or case.reach is not Needs.CLOCK:
        return False
    machine = machine_of(case.report)
    return all(times.machine.difference(machine) for times in (case.baseline.times if case.baseline else ()))


def _write_policy(settings: CheckSettings, project: Project, judged: Sequence[_Judged]) -> list[str]:
    path = (Path.cwd() / settings.budget_file) if settings.budget_file else project.folder / POLICY_FILE
    if project.policy.source is not None:
        return [f"{project.policy.source} has a policy already, and was left as it is"]
    write_text(path, policy_text(Policy(baseline=project.policy.baseline), [one.gate.name for one in judged]))
    return [f"wrote the policy to {path.name}"]


def _with(known: Baseline, models: Iterable[ModelBaseline]) -> Baseline:
    for model in models:
        known = known.having(model)
    return known


def _models(judged: Sequence[_Judged]) -> str:
    return ", ".join(one.gate.name for one in judged)


def _baseline_path(settings: CheckSettings, project: Project) -> Path:
    return project.baseline_file if settings.baseline is None else Path(settings.baseline)
