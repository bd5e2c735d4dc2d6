"""What else is to be known of the run: the notes of the terminal's report, and where the kernels' time was put."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dash import html

from analyzer.core import quantities
from analyzer.core.report import Report
from analyzer.reporting.plain_text import plain
from analyzer.reporting.report_text import attribution_text, notes_text
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData

MOST_NOTES: Final = 60
_LIMIT: Final = 400


def build(run: RunData) -> list[Component]:
    report = run.report
    if report is None:
        return [empty_state("Without report.json there are no notes. Run `analyze model.py`.")]
    # What no rule could judge stands on the page of the findings.
    notes = [*_attributed(report), *notes_text(replace(report, rule_failures=()))]
    if not notes:
        return [empty_state("Nothing was noted.")]
    left = len(notes) - MOST_NOTES
    more = [html.Li(f"and {quantities.count(left)} more in report.json")] if left > 0 else []
    items = [html.Li(prose(plain(note, _LIMIT))) for note in notes[:MOST_NOTES]]
    return [html.Ul([*items, *more], className="gb-quiet")]


def _attributed(report: Report) -> list[str]:
    sides = [("before", report.attributed), ("after", report.attributed_after)]
    words = ("", "") if report.is_recorded else tuple(f", {word}" for word, _ in sides)
    return [
        f"kernel time, profiled{word}: {attribution_text(attributed, is_recorded=report.is_recorded)}"
        for word, (_, attributed) in zip(words, sides, strict=True)
        if attributed is not None
    ]


PANEL: Final = Panel(id="notes", title="Notes", build=build)
