"""The folder's runs over time: the place of what `history_result.py` shows, which is read when the page is opened."""

from __future__ import annotations

from typing import Final

from dash import dcc, html

from analyzer.core.shell import shell_path
from analyzer.reporting.plain_text import plain
from dashboard.panels.compare import NO_FOLDER
from dashboard.panels.panel import Component, Page, Panel, attribute, empty_state
from dashboard.run_folder import RunData

ASKED_ID: Final = "gb-asked-history"
RESULT_ID: Final = "gb-history-result"
LINE: Final = "line"
"""Of the address: `#page=history&line=NAME` shows that line alone."""


def build(run: RunData) -> list[Component]:
    here = run.among
    if here is None:
        return [empty_state(NO_FOLDER)]
    if not here.choices:
        where = plain(str(here.listing.folder), 200)
        command = f"`analyze model.py --out {shell_path(here.listing.folder / 'NAME')}`"
        return [empty_state(f"There is no run in {where} yet: {command} writes one into it.")]
    waiting = html.P("Reading the reports of the folder.", className="gb-quiet")
    return [dcc.Store(id=ASKED_ID), html.Div(waiting, id=RESULT_ID, **attribute("data-gb-asks", ASKED_ID))]


def _applies(run: RunData) -> bool:
    return run.among is not None


PANEL: Final = Panel(id="history", title="The runs over time", build=build, page=Page.HISTORY, applies=_applies)
