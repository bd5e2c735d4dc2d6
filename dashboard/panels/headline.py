"""What the run says in one sentence, and every reason not to take it at its word."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.report import Report
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.plain_text import plain
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.run_folder import RunData

_LIMIT: Final = 400


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state(run.missing or "This folder holds no report.")]
    report = run.report
    facts = report.workload
    device = (report.device.name, *peaks_text(report.device))
    what = " · ".join((facts.name, facts.mode, *device, f"torch {report.versions.torch}"))
    loud = [html.P(plain(text, _LIMIT), className="gb-loud") for text in _warnings(report)]
    return [
        html.P(plain(what, _LIMIT), className="gb-quiet"),
        *loud,
        html.P(plain(report.headline, _LIMIT), className="gb-headline"),
        *_outcome(report),
    ]


def _warnings(report: Report) -> list[str]:
    warnings = []
    if report.partial is not None:
        warnings.append(f"Partial report: {report.partial}")
    if report.capture is not None and not report.graphs:
        warnings.append("No graph was captured: torch.compile changes nothing here and everything runs eager.")
    return warnings


def _outcome(report: Report) -> list[Component]:
    comparison = report.comparison
    if comparison is None:
        return []
    times = quantities.durations((comparison.before_ns, comparison.after_ns))
    ratio = quantities.ratio_with_interval(comparison.ratio, comparison.interval.low, comparison.interval.high)
    return [html.P(f"{comparison.outcome.value.replace('_', ' ')}: {times} a step, {ratio}")]


PANEL: Final = Panel(id="headline", title="Result", build=build)
