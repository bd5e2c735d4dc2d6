"""Runs that the product recorded on an H200, explained here without a GPU (see tests.golden.record)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from analyzer.core.report import Report
from analyzer.core.samples import Samples
from analyzer.core.timing import RegionTiming, Timing
from analyzer.diagnosis import Diagnosis, Passes, diagnose
from analyzer.reporting.json import read_report

FOLDER: Final = Path(__file__).resolve().parent / "golden"
RUNS: Final = tuple(sorted(path.parent.name for path in FOLDER.glob("*/report.json")))


@dataclass(frozen=True, slots=True)
class Golden:
    """A recorded report, and what today's code makes of its two traces."""

    report: Report
    before: Diagnosis
    after: Diagnosis


def read_golden(name: str) -> Golden:
    folder = FOLDER / name
    report = read_report(folder)
    device, capture = report.device, report.capture
    before = diagnose(Passes(_timing(report, is_after=False), folder / "before.trace.json.gz", capture), device)
    timing = _timing(report, is_after=True)
    after = diagnose(Passes(timing, folder / "after.trace.json.gz", capture), device, reference=before)
    return Golden(report, before, after)


def _timing(report: Report, *, is_after: bool) -> Timing:
    """The clean pass as the report keeps it: medians of regions that add up to the step."""
    rows = (*report.graphs, *report.eager_gaps)
    elapsed = [(row.key, row.after_ns if is_after else row.budget and row.budget.elapsed_ns) for row in rows]
    regions = tuple(RegionTiming(key, 1.0, Samples((ns,)), Samples((ns,))) for key, ns in elapsed if ns is not None)
    whole = Samples((sum(region.elapsed_ns.median_ns for region in regions),))
    step = whole if is_after or report.step_ns is None else report.step_ns
    return Timing(step, step, regions, report.warmup_ns, is_steady=True)
