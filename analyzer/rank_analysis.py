"""A recorded trace, or those of many ranks, to one report: the ranks together, and the one that matters in full.

Reads the files, through `collectors.readers`; needs neither torch nor the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.collection import without_collection
from analyzer.core.errors import UnreadableFileError
from analyzer.core.ranks import LostRank, RanksReport, RankSummary
from analyzer.core.report import Report
from analyzer.core.shell import shell_path
from analyzer.derive.ranks import compare_ranks
from analyzer.trace_analysis import Analyzed, analyze_trace, with_ranks
from analyzer.workers import NoTrace, Outcome, RankTask, run_here, run_in_processes, run_on_cluster, summarize_file
from collectors.readers.kineto import read_trace
from collectors.readers.settings import DEFAULTS, ReadSettings
from collectors.readers.sources import Source, list_sources

MOST_REASONS: Final = 3

NO_TRACE: Final = "give a trace, or a folder, archive, glob or URL of traces"


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """`workers` processes read ranks side by side; `cluster` is a Dask scheduler's address, None for none."""

    workers: int = 1
    cluster: str | None = None
    reading: ReadSettings = DEFAULTS


ONE_PROCESS: Final = TraceSettings()

Heard = Callable[[str], None]
"""Is told, in a few words, what is being done."""

Seen = Callable[[Analyzed], None]
"""Is given the trace that the report is of, judged: for whoever wants to draw it."""


def analyze_path(
    path: str,
    settings: TraceSettings = ONE_PROCESS,
    heard: Heard = lambda _: None,
    seen: Seen = lambda _: None,
) -> Report:
    """The report of a trace, or of the ranks that a folder, archive, glob or URL holds.

    Raises UnreadableFileError where nothing can be read, and what the readers and the cluster raise.
    """
    try:
        listing = list_sources(path)
    except UnreadableFileError as error:
        raise UnreadableFileError(error.message, hint=error.hint or NO_TRACE) from error
    refused = tuple(f"{one.name} was left out: {one.reason}" for one in listing.refused)
    if len(listing.sources) == 1:
        return _alone(listing.sources[0], settings, seen, refused)
    heard(f"reading {len(listing.sources)} traces")
    tasks = [RankTask(source, place, settings.reading) for place, source in enumerate(listing.sources)]
    outcomes = _run(tasks, settings)
    summaries = [one for one in outcomes if isinstance(one, RankSummary)]
    lost = [one for one in outcomes if isinstance(one, LostRank)]
    others = [one for one in outcomes if isinstance(one, NoTrace)]
    if not summaries:
        reasons = "; ".join(f"{one.source}: {one.reason}" for one in (lost or others)[:MOST_REASONS])
        raise UnreadableFileError(f"{path}: none of {len(lost or others)} traces could be read: {reasons}")
    refused = (*refused, *(f"{one.source} was left out: {one.reason}" for one in others))
    if len(summaries) == 1 and not lost:
        source = next(task.source for task in tasks if task.name == summaries[0].source)
        return _alone(source, settings, seen, refused)
    ranks = compare_ranks(summaries, lost)
    chosen = _shown(ranks)
    heard(f"looking closer at rank {chosen.rank}")
    source = next(task.source for task in tasks if task.name == chosen.source)
    one = _one(source, settings, is_among_ranks=True)
    seen(one)
    report = with_ranks(one.report, ranks)
    name = path.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
    return replace(
        report,
        headline=f"Rank {chosen.rank} of {len(ranks.ranks)} ranks: {report.headline}",
        workload=replace(report.workload, name=name, source=path),
        notes=(*report.notes, *ranks.notes, *(f"{one.source}: {one.reason}" for one in lost), *refused),
        next_command=_next(chosen, ranks) or report.next_command,
    )


def _alone(source: Source, settings: TraceSettings, seen: Seen, refused: Sequence[str]) -> Report:
    one = _one(source, settings)
    seen(one)
    return replace(one.report, notes=(*one.report.notes, *refused))


def _one(source: Source, settings: TraceSettings, *, is_among_ranks: bool = False) -> Analyzed:
    with without_collection():
        trace = read_trace(source, settings.reading)
        return analyze_trace(trace, str(source), hint=source.rank_hint, is_among_ranks=is_among_ranks)


def _next(chosen: RankSummary, ranks: RanksReport) -> str | None:
    """The rank that was looked at beside the one that waited longest; None where there is no other."""
    waited = {wait.rank: wait.waited_ns for wait in ranks.waits}
    others = [rank for rank in ranks.ranks if rank.source != chosen.source]
    if not others:
        return None
    other = max(others, key=lambda rank: waited.get(rank.rank, 0))
    return f"analyze compare {shell_path(other.source)} {shell_path(chosen.source)}"


def _run(tasks: Sequence[RankTask], settings: TraceSettings) -> tuple[Outcome, ...]:
    if settings.cluster is not None:
        return run_on_cluster(settings.cluster, tasks, summarize_file)
    if settings.workers > 1:
        return run_in_processes(min(settings.workers, len(tasks)), tasks, summarize_file)
    return run_here(tasks, summarize_file)


def _shown(ranks: RanksReport) -> RankSummary:
    """The rank to look at in full: the one that the others wait for most, else the first."""
    late = max(ranks.waits, key=lambda wait: wait.late_ns, default=None)
    if late is not None and late.late_for is not None:
        return next(rank for rank in ranks.ranks if rank.rank == late.rank)
    return ranks.ranks[0]
