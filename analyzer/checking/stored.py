"""What a check is held against where no commit is asked for: the stored values, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from analyzer.checking.naming import name_of_report
from analyzer.checking.project import Project, read_baseline
from analyzer.checking.settings import CheckSettings
from analyzer.checking.sources import FileSources
from analyzer.checking.subjects import is_run, saved
from analyzer.core.baseline import Baseline
from analyzer.core.errors import UsageError
from analyzer.core.report import Report
from analyzer.gate.judge import Case, baseline_of
from analyzer.gate.reading import Needs
from analyzer.reporting.json import REPORT_FILE
from collectors.model_file import close_matches


@dataclass(frozen=True, slots=True)
class Stored:
    """`baseline` None: nothing is stored yet. `shown` is what it is called, `path` where it is written to, None of a
    run folder, which is never written into. `made_by` is the release of Graphbound that made such a run.
    """

    baseline: Baseline | None
    shown: str
    path: Path | None
    made_by: str | None = None


def read_stored(settings: CheckSettings, project: Project) -> Stored:
    """The file of the policy, or what `--baseline` names: a run folder is a baseline of the models that it has.
    Raises UsageError where what was named is not there.
    """
    named = settings.baseline
    if named is None:
        shown = project.policy.baseline
        return Stored(read_baseline(project.baseline_file, shown), shown, project.baseline_file)
    if not is_run(named) or _is_baseline(Path(named)):
        baseline = read_baseline(Path(named), named)
        if baseline is None and not settings.init:
            raise _no_such_baseline(named)
        return Stored(baseline, named, Path(named))
    made = saved(named)
    sources = FileSources(project.root, Path.cwd(), made.written_ns)
    name = name_of_report(made.report, project)
    case = Case(name, made.report, project.policy, sources, reach=reach_of(made.report, runs=True))
    return Stored(Baseline((baseline_of(case),), named), named, None, made.report.versions.graphbound)


def reach_of(report: Report, *, runs: bool) -> Needs:
    """How much of a run there is to be judged."""
    if not runs:
        return Needs.GRAPHS
    return Needs.STEPS if report.is_recorded else Needs.CLOCK


def _no_such_baseline(named: str) -> UsageError:
    """What was named must be there: held against a name with a slip in it, every model would pass for ever."""
    folder = Path(named).parent
    others = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    hint = close_matches(Path(named).name, others) or "--init writes it from this run"
    return UsageError(f"there is no baseline {named}", hint=hint)


def _is_baseline(path: Path) -> bool:
    return path.is_file() and path.name != REPORT_FILE
