"""Two recorded traces, or the traces of two run folders, laid beside each other."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from analyzer.core.compared import Compared, ComparedRow, ComparedSide, Matched
from analyzer.core.errors import GraphboundError, UnreadableFileError, UsageError
from analyzer.core.graphs import GraphKey
from analyzer.core.quantities import durations
from analyzer.core.report import Report
from analyzer.core.shell import shell_path
from analyzer.derive.matching import Side, match, side
from analyzer.derive.regions_from_trace import label_of
from analyzer.reporting.json import REPORT_FILE, read_report
from analyzer.reporting.rows import inside, region_rows
from analyzer.trace_analysis import Analyzed, analyze_trace
from analyzer.unlike import unlike_devices, unlike_facts, unlike_rows, unlike_work
from collectors.readers.kineto import read_trace
from collectors.readers.settings import DEFAULTS, ReadSettings
from collectors.readers.sources import list_sources

BEFORE: Final = "before.trace.json.gz"
AFTER: Final = "after.trace.json.gz"
"""The names of `run_folder.RunFolder`, which brings what reading a trace does without."""

NO_KERNELS: Final = (
    "the recording {} has no rows of kernels: its times are those of operators on the host, beside those of a device"
)

UNEVEN: Final = 3.0
"""Times the median step: of three recorded steps of one run one took 98 ms and the others 80 µs, and the same plan in
another run was told to be 100 times as fast."""


def compare_paths(before: str, after: str | None = None, reading: ReadSettings = DEFAULTS) -> Compared:
    """What got faster, slower, appeared and vanished. `after` None: `before` is a run folder, whose plan is compared
    with its default. Of a run folder the trace of its plan is taken, where there is one.

    Raises UsageError for one trace alone, UnreadableFileError where a trace cannot be read or shows no device's work.
    """
    if after is None:
        folder = Path(before)
        if not (folder / AFTER).is_file():
            raise UsageError(
                f"{before} is no run folder with a plan's trace", hint="give two traces: analyze compare A.json B.json"
            )
        # One model, measured in one run: whatever differs is what the plan did.
        compared = compare_analyzed(_read(str(folder / BEFORE), reading), _read(str(folder / AFTER), reading))
        report = _report(before)
        return replace(_told_by(compared, report, report), unlike=())
    left, right = _report(before), _report(after)
    compared = compare_analyzed(_read(_trace_of(before), reading), _read(_trace_of(after), reading))
    compared = _told_by(compared, left, right)
    if left is None or right is None:
        return compared
    # What the reports say is better known than what traces look like: of a replayed graph they show no backward pass.
    device = unlike_devices(compared.before.device, compared.after.device)
    return replace(compared, unlike=(*unlike_facts(left.workload, right.workload), *device))


def compare_analyzed(before: Analyzed, after: Analyzed) -> Compared:
    """The two, an average step of each where steps are marked in both; else whole windows, which is said."""
    has_steps = all(len(one.summary.steps_ns) for one in (before, after))
    left, right = _side(before, has_steps), _side(after, has_steps)
    notes = () if has_steps else ("not both have marked steps: whole windows are compared, however much each did",)
    device = unlike_devices(before.report.device.name, after.report.device.name)
    if before.attribution.is_host != after.attribution.is_host:
        notes = (*notes, NO_KERNELS.format("before" if before.attribution.is_host else "after"))
    elif device:
        notes = (*notes, "recorded on different devices: kernels are matched by operator, then by family")
    if has_steps:
        notes = (*notes, *_uneven("before", before.summary.steps_ns), *_uneven("after", after.summary.steps_ns))
    rows = match(left, right)
    unlike = (*device, *unlike_work(before.attribution, after.attribution), *unlike_rows(rows))
    return Compared(_told(before, left, has_steps), _told(after, right, has_steps), rows, notes, unlike=unlike)


def _uneven(which: str, steps_ns: Sequence[int]) -> tuple[str, ...]:
    """That an average of these steps is that of one of them."""
    shortest, longest = min(steps_ns), max(steps_ns)
    if longest <= UNEVEN * statistics.median_low(steps_ns):
        return ()
    times = durations((shortest, longest), separator=" to ")
    return (f"the steps recorded {which} took {times}: their average, which is compared, is that of the longest",)


def _report(path: str) -> Report | None:
    """The report of a run folder; None for a trace, and for a run without a report that can be read."""
    report = Path(path) / REPORT_FILE
    try:
        return read_report(report) if report.is_file() else None
    except (GraphboundError, OSError):
        return None


def _told_by(compared: Compared, before: Report | None, after: Report | None) -> Compared:
    """With what traces do not know and reports do: a graph's source line, the name of a CPU, what bounds the run."""
    old, new = _graph_labels(before), _graph_labels(after)
    return replace(
        compared,
        before=_side_told_by(compared.before, before),
        after=_side_told_by(compared.after, after),
        rows=tuple(_named(row, old, new) for row in compared.rows),
    )


def _side_told_by(side: ComparedSide, report: Report | None) -> ComparedSide:
    return side if report is None else replace(side, device=report.device.name, bound=report.headline)


def _graph_labels(report: Report | None) -> dict[str, str]:
    """Of what a trace calls a graph its line and function, as every page of the report calls it."""
    if report is None:
        return {}
    where = {graph.key: graph.where for graph in report.graphs}
    return {
        label_of(row.region): f"{row.label}{inside(where[row.region])}"
        for row in region_rows(report)
        if isinstance(row.region, GraphKey)
    }


def _named(row: ComparedRow, before: Mapping[str, str], after: Mapping[str, str]) -> ComparedRow:
    if row.matched is not Matched.GRAPH:
        return row
    was, name = before.get(row.name), after.get(row.name)
    return replace(row, name=name or was or row.name, was=was if name is not None and was != name else None)


def _trace_of(path: str) -> str:
    folder = Path(path)
    for name in (AFTER, BEFORE):
        if (folder / name).is_file():
            return str(folder / name)
    return _only_trace(path) if folder.is_dir() else path


def _only_trace(folder: str) -> str:
    """The one trace of a folder that is no run folder. Raises UsageError where it has none, or several."""
    if (Path(folder) / REPORT_FILE).is_file():
        again = "run `analyze model.py` again; `analyze show` prints what this run measured"
        raise UsageError(f"{folder} is a run folder without its traces, {BEFORE} and {AFTER}", hint=again)
    missing = f"{folder} is no run folder: it has neither {AFTER} nor {BEFORE}"
    try:
        traces = list_sources(folder).sources
    except UnreadableFileError:
        raise UsageError(
            missing, hint="give the --out folders of two runs of analyze model.py, or two traces"
        ) from None
    first = str(traces[0])
    if len(traces) > 1:
        example = f"analyze compare {shell_path(first)} OTHER.json.gz"
        raise UsageError(f"{missing}, and {len(traces)} traces", hint=f"name one of them: {example}")
    return first


def _read(path: str, reading: ReadSettings) -> Analyzed:
    return analyze_trace(read_trace(path, reading), path)


def _side(one: Analyzed, has_steps: bool) -> Side:
    if one.budget is None:
        raise UnreadableFileError(
            f"{one.report.workload.source}: shows no work of any device, so that there is nothing to compare",
            hint=one.report.headline.removeprefix("Undecided: "),
        )
    return side(one.attribution, one.budget, len(one.summary.steps_ns) if has_steps else 0)


def _told(one: Analyzed, own: Side, has_steps: bool) -> ComparedSide:
    return ComparedSide(
        source=one.report.workload.source,
        device=one.report.device.name,
        whole_ns=own.whole_ns,
        idle_ns=own.idle_ns,
        steps=len(one.summary.steps_ns) if has_steps else None,
        bound=one.report.headline,
        honesty=one.report.honesty,
        lacks_rows=one.attribution.trace.facts.lacks_rows,
    )
