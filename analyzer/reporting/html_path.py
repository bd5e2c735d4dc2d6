"""The critical path of a recorded trace, on the first screen of the page."""

from __future__ import annotations

from analyzer.core.report import Report
from analyzer.reporting.html_markup import NOTHING, Html, items, paragraph, shown, tag
from analyzer.reporting.path_text import path_lines


def path_section(report: Report, id_: str | None = "path") -> Html:
    """What it leads through and what is most on it, or why it is not known; nothing of a run of a model."""
    lines = path_lines(report.critical_path)
    if not lines:
        return NOTHING
    rows = [items(lines[1:])] if len(lines) > 1 else []
    return tag("section", tag("h2", shown("Critical path")), paragraph(lines[0]), *rows, id=id_)
