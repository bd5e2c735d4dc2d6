"""The list of panels, from top to bottom. A new one is one file, one line here, one test."""

from __future__ import annotations

from typing import Final

from dashboard.panels import (
    compare,
    critical_path,
    findings,
    graphs,
    headline,
    history,
    next_command,
    notes,
    ranks,
    ranks_collectives,
    ranks_steps,
    roofline,
    step_budget,
    step_time,
    timelines,
    top_findings,
    verdicts,
)
from dashboard.panels.panel import Panel

PANELS: Final[tuple[Panel, ...]] = (
    headline.PANEL,
    step_time.PANEL,
    step_budget.PANEL,
    critical_path.PANEL,
    verdicts.PANEL,
    top_findings.PANEL,
    next_command.PANEL,
    notes.PANEL,
    timelines.PANEL,
    graphs.PANEL,
    roofline.PANEL,
    findings.PANEL,
    ranks.PANEL,
    ranks_steps.PANEL,
    ranks_collectives.PANEL,
    compare.PANEL,
    history.PANEL,
)
"""A panel stands on its own page, in this order."""
