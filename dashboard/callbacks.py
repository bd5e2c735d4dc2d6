"""What the page asks the server for when somebody chooses: a graph's card, the code of the plan. Each answer follows
from what is asked alone, so that two browsers do not disturb each other.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dash import Input, Output
from dash.exceptions import PreventUpdate

from dashboard.panels.graphs import ASKED_ID, CARD_ID, SAID_ID
from dashboard.panels.graphs_card import card, card_sentence
from dashboard.panels.graphs_code import BUTTON_ID, CODE_ID, code_of
from dashboard.panels.panel import Component, empty_state
from dashboard.run_folder import CHANGED, RunData

if TYPE_CHECKING:
    import dash

KEY_LIMIT: Final = 400
"""Characters of a key that are looked for; one of ours has 65 at most."""


def add_callbacks(app: dash.Dash, run: RunData, has_changed: Callable[[], bool] = lambda: False) -> None:
    """`has_changed`: whether the files of the run are another's by now than what `run` was read from."""

    @app.callback(
        Output(CARD_ID, "children"), Output(SAID_ID, "children"), Input(ASKED_ID, "data"), prevent_initial_call=True
    )
    def _card(asked: Any) -> tuple[list[Component], str]:
        key = asked_key(asked)
        return card(run.report, key), card_sentence(run.report, key)

    @app.callback(Output(CODE_ID, "children"), Input(BUTTON_ID, "n_clicks"), prevent_initial_call=True)
    def _code(clicks: Any) -> list[Component]:
        if not clicks:
            raise PreventUpdate
        return [empty_state(CHANGED)] if has_changed() else code_of(Path(run.folder))


def asked_key(asked: Any) -> str | None:
    """The key in the store, which the browser fills from the address: anything may stand there. None: no graph."""
    key = asked.get("graph") if isinstance(asked, dict) else None
    return key[:KEY_LIMIT] if isinstance(key, str) and key else None
