"""The page: its panels, and the pages they stand on. A pure function of what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from dash import html

from analyzer.reporting.html_names import SHORT
from analyzer.reporting.plain_text import plain
from dashboard.panels.panel import Component, Page, Panel, attribute
from dashboard.panels.panel_list import PANELS
from dashboard.run_folder import RunData
from dashboard.runs import Among, address_of, when_changed

MAIN_ID: Final = "gb-main"
_LOOKS: Final = (("system", "system look"), ("light", "light"), ("dark", "dark"))
"""What `assets/gb_look.js` knows."""
_SKIP: Final = attribute("data-gb-skip", "")


def layout_of(data: RunData) -> Component | Callable[[], Component]:
    """What Dash takes as the layout: made anew for a page where other runs have come or gone."""
    read = data.among
    if read is None:
        return page_layout(data)
    return when_changed(read, lambda here: page_layout(replace(data, among=here)))


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
            html.Select(
                [html.Option(text, value=value) for value, text in _LOOKS],
                **attribute("data-gb-look", ""),
                **attribute("aria-label", "light or dark"),
            ),
        ]
    )
    # What stands behind # in the address names the page: a script moves the focus, and follows no link.
    skip = html.A("skip to the content", href=f"#{MAIN_ID}", className="gb-skip", **_SKIP)
    main = html.Main([_section(panel, data) for panel in panels], id=MAIN_ID, tabIndex=-1)
    return html.Div([skip, head, main], className="gb-page")


def shown_name(data: RunData) -> str:
    """What is shown, in a word that tells it from the other runs of its folder."""
    name = Path(data.folder).name
    return data.among.names.of(name) if data.among is not None and name else plain(name or data.folder, SHORT)


def _name(data: RunData) -> Component:
    """What is shown; where the server has other runs too, a choice of them."""
    here = data.among
    if here is None or not here.can_open:
        return html.Span(shown_name(data), className="gb-quiet")
    told, names = here.names, [run.name for run in here.choices]
    among_them = names if here.name is None or here.name in names else [here.name, *names]
    options = [_option(here, name, told.of(name)) for name in among_them]
    return html.Select(options, **attribute("data-gb-runs", ""), **attribute("aria-label", "run"))


def _option(here: Among, name: str, text: str) -> Component:
    # From a page at /run/NAME/; a server may itself lie behind another.
    return html.Option(text, value=f"../{address_of(name).rsplit('/', 2)[1]}/", selected=name == here.name)


def _section(panel: Panel, data: RunData) -> Component:
    return html.Section(
        [html.H2(panel.title_of(data)), *panel.build(data)], id=panel.id, **attribute("data-page", panel.page.value)
    )


def _title(page: Page) -> str:
    return page.value.capitalize()
