"""What can be shown: a run folder, a trace, or the traces of several ranks. A part that is missing says what would
make it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.device import Device
from analyzer.core.errors import GraphboundError, UnreadableFileError
from analyzer.core.report import Report
from analyzer.core.shell import shell_path
from analyzer.core.trace import Trace
from analyzer.rank_analysis import TraceSettings, analyze_path
from analyzer.reporting.json import REPORT_FILE, report_at
from analyzer.run_listing import holds_runs, list_runs, what_to_make
from analyzer.trace_analysis import analyze_trace
from collectors.readers.kineto import read_trace
from collectors.readers.sources import Source, list_sources
from dashboard.runs import Among, among
from dashboard.timeline.recording import Recording, recording_of

BEFORE_FILE: Final = "before.trace.json.gz"
AFTER_FILE: Final = "after.trace.json.gz"

NO_BEFORE: Final = (
    f"There is no {BEFORE_FILE} in this folder: the run ended before its profiled pass. "
    "Run `analyze model.py` again and let it finish."
)
NOT_BESIDE_IT: Final = (
    "There is no {file} beside report.json, which was made with it: copy it here too, or run `analyze model.py` again."
)
RECORDED_ELSEWHERE: Final = (
    "This is the report of a recorded trace, which stays where it was: open the trace itself to see its timeline."
)
NO_AFTER: Final = (
    f"There is no {AFTER_FILE} in this folder: no plan was measured. "
    "It is written by `analyze model.py` without --no-optimize, when a plan changes the model."
)
NO_EVENTS: Final = (
    "This trace holds no event: record the program with torch.profiler.profile() around a few of its steps."
)

CHANGED: Final = "This run was written again after this page was read: load it anew to see its code."
"""Of what is read from the folder when it is asked for: it would be another run's beside this one's numbers."""

MOST_TRIED: Final = 50
"""Runs that are looked into for one that can be read."""


@dataclass(frozen=True, slots=True)
class Side:
    """One timeline. Where `recording` is None, `missing` says why and what to do."""

    name: str
    recording: Recording | None
    missing: str | None


@dataclass(frozen=True, slots=True)
class RunData:
    """Where `report` is None, `missing` says why and what to do; `unreadable` is the error where a file was there.
    `sides` are the timelines from top to bottom. `among` are the runs beside it, None for what is no run folder.
    """

    folder: str
    report: Report | None
    missing: str | None
    sides: tuple[Side, ...]
    unreadable: UnreadableFileError | None = None
    among: Among | None = None


def read_target(path: Path) -> RunData:
    """A run folder, the newest run of a folder of runs, a trace, or a folder or archive of the traces of ranks. Raises
    UnreadableFileError for a trace, or for ranks, of which nothing can be read.
    """
    folder = run_folder_of(path)
    if folder is not None:
        return read_run(folder, among(folder))
    if path.is_dir() and holds_runs(path):
        newest = path / newest_readable(path)
        return read_run(newest, among(newest))
    listing = list_sources(str(path))
    return _one_trace(path, listing.sources[0]) if len(listing.sources) == 1 else _ranks(path, listing.sources)


def run_folder_of(path: Path) -> Path | None:
    """The run folder that a path means: itself, or that of a report; None for anything else. An empty folder is one
    in which no run has written yet.
    """
    if path.is_dir():
        own = (REPORT_FILE, BEFORE_FILE, AFTER_FILE)
        return path if any((path / name).exists() for name in own) or not any(path.iterdir()) else None
    return path.parent if path.name == REPORT_FILE and path.exists() else None


def read_run(folder: Path, here: Among | None = None) -> RunData:
    """All that can be read of a run folder, which lies `here`. Raises nothing for a file that is absent, cut or not
    what it should be.
    """
    report, missing, unreadable = _report(folder)
    device = report.device if report is not None else None
    return RunData(
        folder=str(folder),
        report=report,
        missing=missing,
        sides=(
            _side("before", folder / BEFORE_FILE, _why_no_before(report), device),
            _side("after", folder / AFTER_FILE, _why_no_after(report), device),
        ),
        unreadable=unreadable,
        among=here,
    )


def newest_readable(folder: Path) -> str:
    """The name of the newest run of which something can be shown. Raises UnreadableFileError where there is none."""
    listing = list_runs(folder)
    first: GraphboundError | None = None
    for run in listing.runs[:MOST_TRIED]:
        found = has_contents(folder / run.name)
        if found is None:
            return run.name
        first = first or found
    if first is not None:
        raise first
    raise UnreadableFileError(f"{folder}: there is no run in this folder", hint=what_to_make(folder))


def has_contents(folder: Path) -> UnreadableFileError | None:
    """None where a run folder has a report that can be read, or a trace; else why nothing of it can be shown."""
    _, missing, unreadable = _report(folder)
    if missing is None or any((folder / name).is_file() for name in (BEFORE_FILE, AFTER_FILE)):
        return None
    return unreadable or UnreadableFileError(f"{folder}: there is no {REPORT_FILE} in this folder, and no timeline")


def require_contents(data: RunData) -> None:
    """Raises UnreadableFileError where neither the report nor a timeline can be shown: a page would be empty."""
    if data.report is not None or any(side.recording is not None for side in data.sides):
        return
    folder = Path(data.folder)
    if data.unreadable is not None:
        raise data.unreadable
    raise UnreadableFileError(
        f"{folder}: there is no {REPORT_FILE} in this folder, and no timeline: it holds no run",
        hint=f"`analyze model.py --out {shell_path(folder)}` writes one into it",
    )


def problem_of(data: RunData) -> str | None:
    """Why `require_contents` would raise, None where it would not."""
    try:
        require_contents(data)
    except UnreadableFileError as error:
        return _sentence(error)
    return None


def events_of(data: RunData) -> int:
    return sum(len(side.recording.trace) for side in data.sides if side.recording is not None)


def _one_trace(path: Path, source: Source) -> RunData:
    trace = read_trace(source)
    report = analyze_trace(trace, str(path), hint=source.rank_hint).report
    return RunData(str(path), report, None, (_side_of("recorded", trace, None),))


def _ranks(path: Path, sources: tuple[Source, ...]) -> RunData:
    """The rank that waits least for the others above the one that waits most."""
    report = analyze_path(str(path), TraceSettings())
    waits = report.ranks.waits if report.ranks is not None else ()
    by_rank = {one.rank: one.source for one in report.ranks.ranks} if report.ranks is not None else {}
    chosen: list[tuple[str, str]] = []
    if waits:
        least, most = min(waits, key=lambda wait: wait.waited_ns), max(waits, key=lambda wait: wait.waited_ns)
        chosen.append((f"rank {least.rank}, which waits least for the others", by_rank[least.rank]))
        if most.rank != least.rank:
            chosen.append((f"rank {most.rank}, which waits most for the others", by_rank[most.rank]))
    chosen += [(f"rank {rank}", name) for rank, name in sorted(by_rank.items()) if name not in {n for _, n in chosen}]
    return RunData(str(path), report, None, tuple(_rank(name, source, sources) for name, source in chosen[:2]))


def _rank(name: str, wanted: str, sources: tuple[Source, ...]) -> Side:
    source = next((one for one in sources if str(one) == wanted), None)
    if source is None:
        return Side(name, None, f"{wanted} was not found again.")
    return _read_side(name, source, None)


def _report(folder: Path) -> tuple[Report | None, str | None, UnreadableFileError | None]:
    if not folder.is_dir():
        return None, f"There is no folder {folder}. `analyze model.py` writes one; its last line names it.", None
    if not (folder / REPORT_FILE).exists():
        run_it = f"Run `analyze model.py --out {shell_path(folder)}`."
        return None, f"There is no {REPORT_FILE} in {folder}. {run_it}", None
    try:
        return report_at(folder), None, None
    except UnreadableFileError as error:
        return None, _sentence(error), error


def _why_no_before(report: Report | None) -> str:
    if report is not None and report.is_recorded:
        return RECORDED_ELSEWHERE
    was_made = report is not None and report.step_budget is not None
    return NOT_BESIDE_IT.format(file=BEFORE_FILE) if was_made else NO_BEFORE


def _why_no_after(report: Report | None) -> str:
    was_made = report is not None and report.step_budget_after is not None
    return NOT_BESIDE_IT.format(file=AFTER_FILE) if was_made else NO_AFTER


def _side(name: str, path: Path, absent: str, device: Device | None) -> Side:
    if not path.exists():
        return Side(name, None, absent)
    return _read_side(name, path, device)


def _read_side(name: str, source: Path | Source, device: Device | None) -> Side:
    try:
        trace = read_trace(source)
    except UnreadableFileError as error:
        return Side(name, None, _sentence(error))
    return _side_of(name, trace, device)


def _side_of(name: str, trace: Trace, device: Device | None) -> Side:
    return Side(name, recording_of(trace, device), None) if len(trace) else Side(name, None, NO_EVENTS)


def _sentence(error: GraphboundError) -> str:
    return error.message if error.hint is None else f"{error.message}. {error.hint}"
