"""What the history and the comparison need of a report, read without the rest of it: some 1 ms a report.

Each is read when it is asked for, and again only where its file has changed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from analyzer.core.baseline import MachineClass
from analyzer.core.budget import Budget
from analyzer.core.device import Device, Versions
from analyzer.core.origin import Commit, Origin
from analyzer.core.quantities import NS_PER_S
from analyzer.core.report import DEFAULT_PLAN, REPORT_SCHEMA, WorkloadFacts
from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.gate.judge import machine_class
from analyzer.reporting.from_wire import budget_from_wire
from analyzer.reporting.json import REPORT_FILE
from analyzer.reporting.wire import WireBudget, WireComparison, WirePlanTrial
from analyzer.run_listing import ListedRun

MOST_BYTES: Final = 256 << 20
"""Of a report: a hundred times the largest seen of a model. More is not read for a line of a history."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The median of a step and its quartiles, in ns; these are None where the samples are not kept."""

    median_ns: int
    low_ns: float | None = None
    high_ns: float | None = None
    samples: int = 0


@dataclass(frozen=True, slots=True)
class RunGlance:
    """One run, in what a history shows of it. `began_s` is since 1970, UTC; where the report does not know it
    (`is_began_known` False) it is when the report was written.

    `before` is torch.compile's default, `after` what the run chose; both without the profiler, None where not measured.
    `budget` is of the step before. A recorded trace has none of these: its times are the profiler's.
    """

    name: str
    began_s: float
    is_began_known: bool
    commit: Commit | None
    facts: WorkloadFacts
    machine: MachineClass
    versions: Versions
    before: Timed | None
    after: Timed | None
    chosen: str | None
    outcome: Change | None
    budget: Budget | None
    headline: str
    partial: str | None
    is_recorded: bool


@dataclass(frozen=True, slots=True)
class UnreadRun:
    """A run whose report says nothing here, and why."""

    name: str
    reason: str


class GlanceReader:
    """Reads the runs of one folder, and keeps what it read: a few hundred bytes each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, tuple[ListedRun, RunGlance | UnreadRun]] = {}
        self._lock = threading.Lock()

    def read(self, run: ListedRun) -> RunGlance | UnreadRun:
        """What its report says. Raises nothing."""
        with self._lock:
            known = self._kept.get(run.name)
        if known is not None and known[0] == run:
            return known[1]
        found = glance_at(self._folder / run.name, run)
        with self._lock:
            self._kept[run.name] = (run, found)
        return found


class _Glance(msgspec.Struct, frozen=True):
    """The part of `wire.WireReport` that is read; the rest is skipped."""

    schema: int
    headline: str
    workload: WorkloadFacts
    device: Device
    versions: Versions
    comparison: WireComparison | None
    plans: tuple[WirePlanTrial, ...]
    partial: str | None
    step_ns: Samples | None
    step_budget: WireBudget | None
    is_recorded: bool = False
    origin: Origin | None = None


def glance_at(folder: Path, run: ListedRun) -> RunGlance | UnreadRun:
    """What the report of a run folder says. Raises nothing."""
    if not run.has_report:
        return UnreadRun(run.name, f"it has no {REPORT_FILE}: the run ended before anything was measured")
    try:
        if (folder / REPORT_FILE).stat().st_size > MOST_BYTES:
            return UnreadRun(run.name, f"its {REPORT_FILE} is larger than {MOST_BYTES >> 20} MiB")
        read = msgspec.json.decode((folder / REPORT_FILE).read_bytes(), type=_Glance)
        if read.schema != REPORT_SCHEMA:
            return UnreadRun(run.name, f"report schema {read.schema} is not known here, only {REPORT_SCHEMA}")
        return _told(read, run)
    except OSError as error:
        return UnreadRun(run.name, f"its {REPORT_FILE} cannot be read: {error.strerror or error}")
    except (ValueError, UnicodeDecodeError) as error:  # msgspec's own errors are ValueErrors
        return UnreadRun(run.name, f"its {REPORT_FILE} is no report: {error}")


def _told(read: _Glance, run: ListedRun) -> RunGlance:
    is_measured = not read.is_recorded
    before, after = _times(read) if is_measured else (None, None)
    comparison = read.comparison
    return RunGlance(
        name=run.name,
        began_s=read.origin.began_s if read.origin is not None else run.written_ns / NS_PER_S,
        is_began_known=read.origin is not None,
        commit=read.origin.commit if read.origin is not None else None,
        facts=read.workload,
        machine=machine_class(read.device, read.versions.platform or "unknown"),
        versions=read.versions,
        before=before,
        after=after,
        chosen=next((plan.name for plan in read.plans if plan.is_chosen), None),
        outcome=comparison.outcome if comparison is not None else None,
        budget=budget_from_wire(read.step_budget) if is_measured else None,
        headline=read.headline,
        partial=read.partial,
        is_recorded=read.is_recorded,
    )


def _times(read: _Glance) -> tuple[Timed | None, Timed | None]:
    """Before and after, from the comparison where there is one: it was measured in turn."""
    if read.comparison is None:
        return (None if read.step_ns is None else timed(read.step_ns)), None
    default = next((plan.step_ns for plan in read.plans if plan.name == DEFAULT_PLAN), None)
    chosen = next((plan.step_ns for plan in read.plans if plan.is_chosen), None)
    return _as_compared(read.comparison.before_ns, default), _as_compared(read.comparison.after_ns, chosen)


def _as_compared(median_ns: int, samples: Samples | None) -> Timed:
    """With the spread of the samples that the comparison is of; without where these are others."""
    found = None if samples is None else timed(samples)
    return found if found is not None and found.median_ns == median_ns else Timed(median_ns)


def timed(samples: Samples) -> Timed:
    """As `Samples` and numpy have it, without numpy: for some sixty samples that takes ten times as long."""
    ordered = sorted(samples.ns)
    low, median, high = (_quantile(ordered, quarters / 4) for quarters in (1, 2, 3))
    return Timed(int(median), low, high, len(ordered))


def _quantile(ordered: Sequence[int], share: float) -> float:
    """On a straight line between the two samples that it lies between."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)
