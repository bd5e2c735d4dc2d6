"""What the pages of several runs, and the ranks, ask of the server: each a few words from the address of the page.

`assets/gb_runs.js` sends the words of a page when it is shown, and when one of its choices changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dash import Input, Output

from dashboard.panels import compare, history, ranks_steps
from dashboard.panels.compare_result import pair_view
from dashboard.panels.history_result import history_view
from dashboard.panels.panel import Component
from dashboard.run_folder import RunData
from dashboard.runs import Among, relisted
from dashboard.runs_compared import RunComparer
from dashboard.runs_history import history_of
from dashboard.runs_read import GlanceReader

if TYPE_CHECKING:
    import dash


def register(app: dash.Dash, data: RunData) -> None:
    """The callbacks of the panels that the page of `data` has."""
    if data.among is not None:
        reader = GlanceReader(data.among.listing.folder)
        _register_compare(app, data.among, reader)
        _register_history(app, data.among, reader)
    if ranks_steps.has_steps(data):
        _register_ranks(app, data)


def _register_compare(app: dash.Dash, here: Among, reader: GlanceReader) -> None:
    if here.pair is None:
        return
    comparer = RunComparer(here.listing.folder, reader)

    @app.callback(Output(compare.RESULT_ID, "children"), Input(compare.ASKED_ID, "data"), prevent_initial_call=True)
    def _compared(asked: Any) -> list[Component]:
        before, after = _word(asked, compare.BEFORE), _word(asked, compare.AFTER)
        return pair_view(comparer.pair(relisted(here).listing, before or "", after or ""))


def _register_history(app: dash.Dash, here: Among, reader: GlanceReader) -> None:
    if not here.choices:
        return

    @app.callback(Output(history.RESULT_ID, "children"), Input(history.ASKED_ID, "data"), prevent_initial_call=True)
    def _history(asked: Any) -> list[Component]:
        now = relisted(here)
        found = history_of([reader.read(run) for run in now.choices], now.left_out)
        return history_view(found, now, _word(asked, history.LINE))


def _register_ranks(app: dash.Dash, data: RunData) -> None:
    @app.callback(
        Output(ranks_steps.RESULT_ID, "children"), Input(ranks_steps.ASKED_ID, "data"), prevent_initial_call=True
    )
    def _steps(asked: Any) -> list[Component]:
        return ranks_steps.steps_view(data, ranks_steps.measure_of(_word(asked, ranks_steps.MEASURE)))


def _word(asked: Any, name: str) -> str | None:
    """A word that the browser sent; None where it sent none, or something else."""
    found = asked.get(name) if isinstance(asked, dict) else None
    return found if isinstance(found, str) and found else None
