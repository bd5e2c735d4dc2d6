"""`/report.html`: the report of the page as one file to be kept and sent."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from analyzer.core.report import Report
from analyzer.reporting.html import render
from analyzer.reporting.renderer import Page
from analyzer.reporting.word import Word
from analyzer.rules import RULES
from dashboard.report_timeline import shown_steps
from dashboard.timeline.page import TimelinePage

ROUTE: Final = "/report.html"
NO_REPORT: Final = "There is no report here: `analyze model.py` writes one."


def add_report_route(flask_app: Any, report: Report | None, page: Callable[[], TimelinePage], folder: str) -> None:
    """Answers a download; 404 with a sentence where there is no report. `page` gives the timelines, when asked for."""
    from flask import Response  # comes with Dash

    def answered() -> Any:
        if report is None:
            return Response(NO_REPORT, status=404, content_type="text/plain; charset=utf-8")
        found = Response(report_page(report, page()), content_type="text/html; charset=utf-8")
        found.headers["Content-Disposition"] = f'attachment; filename="{file_name(folder)}"'
        found.headers["Cache-Control"] = "no-store"
        found.headers["X-Content-Type-Options"] = "nosniff"
        return found

    flask_app.add_url_rule(ROUTE, "report_page", answered)


def report_page(report: Report, page: TimelinePage) -> str:
    rules = tuple(Word(rule.id, rule.doc) for rule in RULES)
    return render(report, Page(rules=rules, steps=shown_steps(page)))


def file_name(folder: str) -> str:
    """`gptlite-20260101-120000-report.html`: of the folder's name, what any system takes."""
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(folder).name).strip("-.")[:80]
    return f"{safe or 'graphbound'}-report.html"
