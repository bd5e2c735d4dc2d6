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
from dashboard.prose import prose
from dashboard.run_folder import RunData
from dashboard.runs import Among, address_of, when_changed

WRITTEN_SINCE: Final = (
    "This run was written again after it was read: start `analyze dashboard` again to see what it holds now."
)
GONE_SINCE: Final = "This run is no longer in its folder: what is shown was read before it went."
MAIN_ID: Final = "gb-main"
_SKIP: Final = attribute("data-gb-skip", "")


def layout_of(data: RunData) -> Component | Callable[[], Component]:
    """What Dash takes as the layout: made anew for a page where other runs have come or gone."""
    read = data.among
    if read is None:
        return page_layout(data)
    return when_changed(read, lambda here: page_layout(replace(data, among=here), changed_since(read, here)))


def changed_since(read: Among, now: Among) -> str | None:
    """What became of a run after it was read. None where nothing did, and of one that its server reads again itself."""
    if read.name is None or read.can_open:
        return None
    was, is_now = read.listing.run(read.name), now.listing.run(read.name)
    if was == is_now:
        return None
    return GONE_SINCE if is_now is None else WRITTEN_SINCE


def page_layout(data: RunData, warning: str | None = None) -> Component:
    """Every page at once: `assets/gb_2_pages.js` shows the one that the address names, so that a link reopens it. A
    `warning` stands above them all.
    """
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
    # What stands behind # in the address names the page: a script moves the focus, and follows no link.
    skip = html.A("skip to the content", href=f"#{MAIN_ID}", className="gb-skip", **_SKIP)
    main = html.Main([_section(panel, data) for panel in panels], id=MAIN_ID, tabIndex=-1)
    told = [html.P(prose(warning), className="gb-loud gb-gone", role="alert")] if warning is not None else []
    return html.Div([skip, *told, head, main], className="gb-page")


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
