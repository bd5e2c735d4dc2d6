"""The base of a comparison: the same model at another commit, run here and now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from analyzer.checking.in_turn import Side, time_in_turn
from analyzer.checking.project import Project
from analyzer.checking.settings import CheckSettings
from analyzer.checking.sources import FileSources
from analyzer.checking.subjects import Made, graphs_alone, spec_of, standing_in, whole_run
from analyzer.checking.worktree import Rename, changed_lines, is_unchanged, renames, worktree_at
from analyzer.core.baseline import ModelBaseline
from analyzer.core.errors import ExitCode, GraphboundError
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.gate.judge import Case, baseline_of
from analyzer.gate.reading import Needs
from analyzer.gate.times import InTurn, crowd_clause
from analyzer.progress import Progress

OTHER_BASE: Final = "a commit that runs, or --baseline FILE, can be held against instead"


@dataclass(frozen=True, slots=True)
class Beside:
    """`baseline` None: the base has no such model, which `notes` say, or could not be run, which is the `error`.
    `in_turn` None: it was not timed.
    """

    baseline: ModelBaseline | None
    in_turn: InTurn | None = None
    notes: tuple[str, ...] = ()
    error: str | None = None
    changed: tuple[SourceLine, ...] = ()


def run_beside(
    name: str, target: str, settings: CheckSettings, project: Project, scratch: Path, progress: Progress
) -> Beside:
    """Run the model as it was at `settings.against`, then both in turn. Raises UsageError where there is no such
    commit. A base that cannot be run is an error: nothing was compared.
    """
    reference, shown = settings.against or "HEAD", settings.against_shown
    with worktree_at(reference, project.root) as root:
        where = Path(target)
        is_file = where.suffix == ".py" and where.is_relative_to(project.root)
        base_target = root / where.relative_to(project.root) if is_file else where
        notes: tuple[str, ...] = () if is_file else (_of_no_commit(name, shown),)
        if is_unchanged(reference, project.root):
            notes += (f"no file that git knows differs from {shown}: it is held against itself",)
        if is_file and not base_target.is_file():
            new = where.relative_to(project.root).as_posix()
            old = next((each.old for each in renames(reference, project.root) if each.new == new), None)
            if old is None:
                return Beside(None, notes=(f"{name} is not in {shown}: there is nothing to hold it against",))
            base_target, notes = root / old, (f"it is {old} in {shown}, and is held against that",)
        here = Path.cwd().resolve()
        folder = root / here.relative_to(project.root) if here.is_relative_to(project.root) else root
        base = _side(str(base_target) if is_file else target, settings, folder if folder.is_dir() else root, root)
        head = _side(target, settings, here, project.root)
        beside = _beside(name, base, head, settings, project, _Work(scratch, progress))
        return replace(beside, notes=(*notes, *beside.notes))


def _of_no_commit(name: str, reference: str | None) -> str:
    return f"{name} is no file of this repository: it is the same at {reference}, and only what it imports may differ"


@dataclass(frozen=True, slots=True)
class _Work:
    scratch: Path
    progress: Progress


def _beside(name: str, base: Side, head: Side, settings: CheckSettings, project: Project, work: _Work) -> Beside:
    reference, shown = settings.against or "HEAD", settings.against_shown
    try:
        made = _made(base, settings, work)
    except GraphboundError as error:
        return Beside(None, error=f"nothing was compared: {shown} does not run: {error.message} ({OTHER_BASE})")
    if made.exit_code != ExitCode.OK or made.report.partial is not None:
        return Beside(None, error=f"nothing was compared: the run of {shown} ended early: {made.report.partial}")
    strange = _of_head(made.report, FileSources(project.root, head.folder))
    if strange is not None:
        return Beside(None, error=f"nothing was compared: {shown} ran {strange} of the checkout under test")
    sources = FileSources(base.root, base.folder)
    reach = Needs.CLOCK if settings.runs else Needs.GRAPHS
    case = Case(name, made.report, project.policy, sources, reach=reach, crowd=crowd_clause(made.report))
    stored = _under_new_names(baseline_of(case), renames(reference, project.root))
    if not settings.runs:
        return Beside(stored, changed=changed_lines(reference, project.root))
    in_turn = time_in_turn(base, head, work.scratch, work.progress)
    return Beside(stored, in_turn, changed=changed_lines(reference, project.root))


def _made(base: Side, settings: CheckSettings, work: _Work) -> Made:
    with standing_in(base.folder, base.root):
        if not settings.runs:
            return graphs_alone(base.spec, work.progress)
        return whole_run(base.spec, None, work.scratch / "base", work.progress)


def _under_new_names(stored: ModelBaseline, renamed: Sequence[Rename]) -> ModelBaseline:
    """With its places in the files as they are called now: a finding is not new where its file was renamed."""
    new = {each.old: each.new for each in renamed}
    return replace(
        stored, places=tuple(replace(place, file=new.get(place.file, place.file)) for place in stored.places)
    )


def _side(target: str, settings: CheckSettings, folder: Path, root: Path) -> Side:
    return Side(spec_of(target, settings.mode, settings.device, settings.entry), folder, root)


def _of_head(report: Report, head: FileSources) -> str | None:
    """A file of the checkout under test that the base's graphs are made of; None where there is none."""
    graphs = report.capture.graphs if report.capture is not None else ()
    files = sorted({line.file for graph in graphs for line in graph.source})
    return next((head.path(file) for file in files if Path(file).is_absolute() and head.is_own(file)), None)
