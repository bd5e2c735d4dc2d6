"""The page: its panels, and the pages they stand on. A pure function of what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from dash import html

from analyzer.reporting.plain_text import plain
from dashboard.panels.panel import Component, Page, Panel, attribute
from dashboard.panels.panel_list import PANELS
from dashboard.run_folder import RunData
from dashboard.runs import Among, address_of, when_changed

_SKIP: Final = attribute("data-gb-skip", "")


def layout_of(data: RunData) -> Component | Callable[[], Component]:
    """What Dash takes as the layout: made anew for a page where other runs have come or gone."""
    if data.among is None:
        return page_layout(data)
    return when_changed(data.among, lambda here: page_layout(replace(data, among=here)))


def page_layout(data: RunData) -> Component:
    """Every page at once: `assets/gb_2_pages.js` shows the one that the address names, so that a link reopens it."""
    panels = [panel for panel in PANELS if panel.applies(data)]
    pages = [page for page in Page if any(panel.page is page for panel in panels)]
    links = [
        html.A(_title(page), href=f"#page={page.value}", **attribute("data-page-link", page.value)) for page in pages
    ]
    head = html.Header(
        [
            html.H1("Graphbound"),
            _name(data),
            html.Nav(links, **attribute("aria-label", "pages")),
            *(
                [html.A("report.html", href="report.html", download="", className="gb-quiet")]
                if data.report is not None
                else []
            ),
        ]
    )
    # The address names the page, so that a script moves the focus in place of a link to an anchor.
    skip = html.A("skip to the content", href=f"#page={Page.OVERVIEW.value}", className="gb-skip", **_SKIP)
    main = html.Main([_section(panel, data) for panel in panels], tabIndex=-1)
    return html.Div([skip, head, main], className="gb-page")


def _name(data: RunData) -> Component:
    """What is shown; where the server has other runs too, a choice of them."""
    here = data.among
    if here is None or not here.can_open:
        return html.Span(plain(Path(data.folder).name or data.folder, 80), className="gb-quiet")
    names = [run.name for run in here.choices]
    shown = names if here.name is None or here.name in names else [here.name, *names]
    return html.Select(
        [_option(here, name) for name in shown], **attribute("data-gb-runs", ""), **attribute("aria-label", "run")
    )


def _option(here: Among, name: str) -> Component:
    # From a page at /run/NAME/; a server may itself lie behind another.
    return html.Option(plain(name, 80), value=f"../{address_of(name).rsplit('/', 2)[1]}/", selected=name == here.name)


def _section(panel: Panel, data: RunData) -> Component:
    return html.Section(
        [html.H2(panel.title), *panel.build(data)], id=panel.id, **attribute("data-page", panel.page.value)
    )


def _title(page: Page) -> str:
    return page.value.capitalize()
