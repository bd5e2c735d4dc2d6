"""What a check stores of the models that it judged: what has no values yet, or with `--init` all of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from analyzer.checking.project import POLICY_FILE, Project, read_baseline, require_writable, write_baseline, write_text
from analyzer.checking.renamed import without
from analyzer.checking.settings import CheckSettings
from analyzer.checking.stored import Stored
from analyzer.core.baseline import Baseline, ModelBaseline
from analyzer.core.errors import UsageError
from analyzer.core.gate import GateStatus, ModelGate
from analyzer.core.policy import Policy
from analyzer.gate.baseline_file import encode_baseline
from analyzer.gate.judge import RENAMED, Case, machine_of
from analyzer.gate.policy_text import policy_text
from analyzer.gate.reading import Needs


@dataclass(frozen=True, slots=True)
class Judged:
    """`entry` is what a new baseline has of it, None where it was not judged. `ended_by` is the signal that ended its
    run, None: none did.
    """

    gate: ModelGate
    case: Case | None = None
    entry: ModelBaseline | None = None
    ended_by: KeyboardInterrupt | None = None

    @property
    def gone(self) -> tuple[str, ...]:
        """The stored models that it may have been called."""
        return () if self.case is None else self.case.gone


@dataclass(frozen=True, slots=True)
class Kept:
    """`baseline` is what is stored now, `accept` the text of the file that would accept what changed, None where
    nothing would.
    """

    baseline: Baseline
    notes: tuple[str, ...] = ()
    accept: str | None = None


def store(settings: CheckSettings, project: Project, stored: Stored, judged: Sequence[Judged]) -> Kept:
    """Store what has no values yet, and never in place of anything: that is accepted with `--init`, or by hand. Of a
    comparison with a commit, beside a run folder and of a check that was ended, nothing is stored.
    """
    known = stored.baseline or Baseline()
    if any(one.ended_by is not None for one in judged):
        return Kept(known, ("nothing was stored: the check was ended before its end",))
    if settings.against is not None or stored.path is None:
        return Kept(known)
    whole = [one for one in judged if one.entry is not None]
    if settings.init:
        if not whole:
            return Kept(known, ("nothing was written: no model could be judged",))
        notes = _write_policy(settings, project, whole)
        accepted = _accepted(known, stored.path, stored.shown, whole)
        return replace(accepted, notes=(*notes, *accepted.notes))
    kept = _added(known, stored.path, stored.shown, whole)
    if not any(_is_changed(one.gate) for one in judged):
        return kept
    new = _with(kept.baseline, whole)
    return replace(kept, accept=None if new.models == kept.baseline.models else encode_baseline(new))


def require_storable(path: Path, project: Project) -> None:
    """Raises UsageError where `--init` could not write, before what takes minutes has run."""
    require_writable(path)
    if project.policy.source is None:
        require_writable(project.folder / POLICY_FILE)


def _accepted(known: Baseline, path: Path, shown: str, whole: Sequence[Judged]) -> Kept:
    known = _as_it_is_now(path, shown, known)
    new = _with(known, whole)
    write_baseline(path, new)
    notes = [f"wrote the values of {_names(whole)} to {shown}"]
    left = sorted({one.model for one in known.models} - {one.model for one in new.models})
    if left:
        notes.append(f"took {', '.join(left)} out of {shown}: no such file is there any more")
    return Kept(new, tuple(notes))


def _added(known: Baseline, path: Path, shown: str, whole: Sequence[Judged]) -> Kept:
    new = [one for one in whole if one.case is not None and one.case.baseline is None and not _is_in_doubt(one)]
    added = [(one, entry) for one in whole if one not in new and (entry := _completed(one)) is not None]
    busy = [one for one in whole if _is_untimed(one)]
    notes = [f"the machine was busy, and no times of {_names(busy)} were stored: run it again"] if busy else []
    if not new and not added:
        return Kept(known, tuple(notes))
    entries = (*(one.entry for one in new if one.entry is not None), *(entry for _, entry in added))
    try:
        now = _as_it_is_now(path, shown, known)
        for entry in entries:
            now = now.having(entry)
        write_baseline(path, now)
    except UsageError as error:
        if new:
            raise  # they would pass, held against nothing, for ever
        unsaid = f"{error.message}: what {shown} does not have yet of {_names([one for one, _ in added])} stays out"
        return Kept(known, (unsaid, *notes))
    return Kept(now, (*_stored_notes(new, added, known, shown), *notes))


def _as_it_is_now(path: Path, shown: str, known: Baseline) -> Baseline:
    """Another check in this checkout may have stored its models since `known` was read."""
    return read_baseline(path, shown) or known


def _stored_notes(
    new: Sequence[Judged], added: Sequence[tuple[Judged, ModelBaseline]], before: Baseline, shown: str
) -> list[str]:
    whose = "its" if len(new) == 1 else "their"
    notes = [f"no baseline yet of {_names(new)}: {whose} values were written to {shown}; commit it"] if new else []
    notes += [note for one in new if (note := _of_another_kind(one, before, shown)) is not None]
    for one, entry in added:
        old = before.of(entry.model, entry.kind)
        names = [value.gate for value in entry.values if old is not None and old.value(value.gate) is None]
        if names:
            notes.append(f"no {', '.join(names)} yet of {one.gate.name}: written to {shown}")
    timed = [one for one, entry in added if (old := before.of(entry.model, entry.kind)) and entry.times != old.times]
    if timed:
        notes.append(f"no times yet of this machine class for {_names(timed)}: written to {shown}")
    return notes


def _of_another_kind(one: Judged, stored: Baseline, shown: str) -> str | None:
    """That what is stored of this model could not hold it: nothing was compared, and it passed."""
    if one.entry is None:
        return None
    others = [entry.kind for entry in stored.models if entry.model == one.entry.model]
    if not others:
        return None
    return f"{shown} has {one.entry.model} on {', '.join(others)} alone, and this run was on {one.entry.kind}"


def _is_in_doubt(one: Judged) -> bool:
    """Whether a gate holds that it is a stored model under another name: stored as a new one, it would pass the next
    time.
    """
    return any(check.gate == RENAMED for check in one.gate.checks)


def _completed(one: Judged) -> ModelBaseline | None:
    """The old entry with what it had none of: values that `--no-run` leaves out, times of another machine class. None
    where there is nothing to add.
    """
    if one.case is None or one.case.baseline is None or one.entry is None or not one.gate.has_passed:
        return None
    old = one.case.baseline
    times = [each for each in one.entry.times if all(each.machine.difference(known.machine) for known in old.times)]
    # A value of one torch among those of another would be blamed on the model.
    values = one.entry.values if one.entry.torch == old.torch else ()
    is_more = any(old.value(value.gate) is None for value in values)
    if not times and not is_more:
        return None
    kept = tuple(old.value(value.gate) or value for value in values) if is_more else old.values
    return replace(old, values=kept, times=(*old.times, *times))


def _is_untimed(one: Judged) -> bool:
    """Whether its steps were timed on a machine that others kept busy, and nothing is known of this machine class."""
    case = one.case
    if case is None or case.crowd is None or case.reach is not Needs.CLOCK:
        return False
    machine = machine_of(case.report)
    return all(times.machine.difference(machine) for times in (case.baseline.times if case.baseline else ()))


def _is_changed(model: ModelGate) -> bool:
    return any(check.status in (GateStatus.IMPROVED, GateStatus.FAILED, GateStatus.WARNED) for check in model.checks)


def _write_policy(settings: CheckSettings, project: Project, judged: Sequence[Judged]) -> list[str]:
    path = (Path.cwd() / settings.budget_file) if settings.budget_file else project.folder / POLICY_FILE
    if project.policy.source is not None or path.exists():  # written by another check meanwhile
        return [f"{project.policy.source or path.name} has a policy already, and was left as it is"]
    write_text(path, policy_text(Policy(baseline=project.policy.baseline), [one.gate.name for one in judged]))
    return [f"wrote the policy to {path.name}"]


def _with(known: Baseline, judged: Iterable[Judged]) -> Baseline:
    """With what was judged, and without what it may have been called before."""
    for one in judged:
        if one.entry is not None:
            known = without(known, one.gone, one.entry.kind).having(one.entry)
    return known


def _names(judged: Sequence[Judged]) -> str:
    return ", ".join(one.gate.name for one in judged)
