"""The list of panels, from top to bottom. A new one is one file, one line here, one test."""

from __future__ import annotations

from typing import Final

from dashboard.panels import headline, timelines, verdicts
from dashboard.panels.panel import Panel

PANELS: Final[tuple[Panel, ...]] = (headline.PANEL, verdicts.PANEL, timelines.PANEL)
"""A panel stands on its own page, in this order."""
