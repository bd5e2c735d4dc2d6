"""Two runs of the folder beside each other: which two is chosen here, and `compare_result.py` shows what came of it."""

from __future__ import annotations

from typing import Final

from dash import dcc, html

from analyzer.core.quantities import NS_PER_S
from analyzer.core.shell import shell_path
from analyzer.reporting.plain_text import plain
from dashboard.panels.panel import Component, Page, Panel, attribute, empty_state
from dashboard.run_folder import RunData
from dashboard.runs import Among, minute

ASKED_ID: Final = "gb-asked-compare"
RESULT_ID: Final = "gb-compare-result"
BEFORE, AFTER = "a", "b"
"""Of the address: `#page=compare&a=NAME&b=NAME`."""

NO_FOLDER: Final = (
    "Runs can be compared where several run folders lie in one folder. `analyze model.py` writes one into runs/ each "
    "time; `analyze dashboard runs` shows them all."
)


def build(run: RunData) -> list[Component]:
    here = run.among
    if here is None:
        return [empty_state(NO_FOLDER)]
    pair = here.pair
    if pair is None:
        return [empty_state(_one_run(here))]
    picks = html.Div(
        [
            *_pick(here, "before", BEFORE, pair[0]),
            *_pick(here, "after", AFTER, pair[1]),
            html.Button(
                "swap", type="button", title="before becomes after", **attribute("data-gb-swap", f"{BEFORE},{AFTER}")
            ),
        ],
        className="gb-bar",
    )
    more = [html.P(left_out_text(here), className="gb-quiet")] if here.left_out else []
    waiting = html.P("Reading the two traces.", className="gb-quiet")
    return [
        picks,
        *more,
        dcc.Store(id=ASKED_ID),
        html.Div(waiting, id=RESULT_ID, **attribute("data-gb-asks", ASKED_ID)),
    ]


def left_out_text(here: Among) -> str:
    """How many runs are not among the choices."""
    more = "1 more entry" if here.left_out == 1 else f"{here.left_out:,} more entries"
    return (
        f"The {len(here.choices):,} newest runs are here; {more} of the folder, older or without a readable name, not."
    )


def _pick(here: Among, word: str, field: str, chosen: str) -> list[Component]:
    names = here.names
    options = [
        html.Option(
            f"{names.of(run.name)} · written {minute(run.written_ns / NS_PER_S)}",
            value=run.name,
            selected=run.name == chosen,
        )
        for run in here.choices
    ]
    select = html.Select(options, id=f"gb-compare-{field}", **attribute("data-gb-state", field))
    return [html.Label([f"{word} ", select])]


def _one_run(here: Among) -> str:
    where = plain(str(here.listing.folder), 200)
    found = "no run" if not here.choices else "one run"
    return (
        f"There is {found} in {where}, and a comparison needs two: change the model and run `analyze model.py --out "
        f"{shell_path(here.listing.folder / 'NAME')}`. Two traces are compared by `analyze compare A.json.gz "
        "B.json.gz`."
    )


def _applies(run: RunData) -> bool:
    return run.among is not None


PANEL: Final = Panel(id="compare", title="Two runs beside each other", build=build, page=Page.COMPARE, applies=_applies)
