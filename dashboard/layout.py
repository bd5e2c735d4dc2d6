"""The page: its panels, and the pages they stand on. A pure function of what was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dash import html

from analyzer.reporting.plain_text import plain
from dashboard.panels.panel import Component, Page, Panel
from dashboard.panels.panel_list import PANELS
from dashboard.run_folder import RunData


def page_layout(data: RunData) -> Component:
    """Every page at once: `assets/gb_2_pages.js` shows the one that the address names, so that a link reopens it."""
    panels = [panel for panel in PANELS if panel.applies(data)]
    pages = [page for page in Page if any(panel.page is page for panel in panels)]
    links = [html.A(_title(page), href=f"#page={page.value}", **_data("data-page-link", page.value)) for page in pages]
    head = html.Header(
        [
            html.H1("Graphbound"),
            html.Span(plain(Path(data.folder).name or data.folder, 80), className="gb-quiet"),
            html.Nav(links, **_data("aria-label", "pages")),
        ]
    )
    return html.Div([head, html.Main([_section(panel, data) for panel in panels])], className="gb-page")


def _section(panel: Panel, data: RunData) -> Component:
    return html.Section([html.H2(panel.title), *panel.build(data)], id=panel.id, **_data("data-page", panel.page.value))


def _data(name: str, value: str) -> dict[str, Any]:
    """An attribute whose name is no Python name."""
    return {name: value}


def _title(page: Page) -> str:
    return page.value.capitalize()
