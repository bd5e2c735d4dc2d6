"""What the run says in one sentence, and every reason not to take it at its word."""

from __future__ import annotations

from typing import Final

from dash import html

from analyzer.core.report import Report
from analyzer.reporting.device_text import peaks_text
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import outcome_text, warnings_text
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData

_LIMIT: Final = 400


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state(run.missing or "This folder holds no report. `analyze model.py` writes one.")]
    report = run.report
    facts = report.workload
    device = (report.device.name, *peaks_text(report.device))
    what = " · ".join((facts.name, facts.mode, *device, f"torch {report.versions.torch}"))
    loud = [html.P(prose(plain(text, _LIMIT)), className="gb-loud") for text in warnings_text(report)]
    return [
        html.P(plain(what, _LIMIT), className="gb-quiet"),
        *loud,
        *_honesty(report),
        html.P(prose(plain(report.headline, _LIMIT)), className="gb-headline"),
        *_outcome(report),
    ]


def _honesty(report: Report) -> list[Component]:
    """What a recording cannot be believed in comes before what is concluded from it."""
    if not report.honesty:
        return []
    items = [html.Li(prose(plain(text, _LIMIT))) for text in report.honesty]
    return [html.P("What this trace cannot show", className="gb-loud"), html.Ul(items)]


def _outcome(report: Report) -> list[Component]:
    said = outcome_text(report)
    return [] if said is None else [html.P(said)]


PANEL: Final = Panel(id="headline", title="Result", build=build)
