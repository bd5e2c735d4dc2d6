"""The chosen plan as plain Python, made from plan.json when somebody asks for it; torch is not needed for that."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from dash import html

from analyzer.core.errors import GraphboundError
from analyzer.core.shell import shell_path, shell_word
from analyzer.reporting.plain_text import plain
from dashboard.panels.next_command import PLAN_FILE
from dashboard.panels.panel import Component, empty_state
from dashboard.table import attributes
from optimizers.plan import read_plan

BUTTON_ID: Final = "graphs-code-button"
CODE_ID: Final = "graphs-code"
MOST_CHARACTERS: Final = 400_000
"""Of source: the longest that a plan makes is a tenth of it."""

NO_PLAN: Final = f"There is no {PLAN_FILE} here: nothing was chosen. `analyze model.py` writes one."
NO_FOLDER: Final = "There is no folder {folder} any more, and with it went the plan."


def code_place() -> list[Component]:
    """A button, and where the code then stands. The plan is one for all graphs, and so is its code."""
    button = html.Button("show the plan as plain Python", id=BUTTON_ID, type="button", n_clicks=0)
    return [html.Div([button], className="gb-bar"), html.Div(id=CODE_ID)]


def print_command(path: Path) -> str:
    """What prints the same source in a shell."""
    program = "import analyzer, sys; print(analyzer.load_plan(sys.argv[1]).to_source())"
    return f"python -c {shell_word(program)} {shell_path(path)}"


def code_of(folder: Path) -> list[Component]:
    """The source of the plan in this run folder; where there is none, why, and what makes one."""
    path = folder / PLAN_FILE
    if not path.is_file():
        return [empty_state(NO_PLAN if folder.is_dir() else NO_FOLDER.format(folder=plain(str(folder))))]
    try:
        source = read_plan(path).to_source()
    except GraphboundError as error:
        hint = f" {error.hint}" if error.hint else ""
        return [empty_state(f"{error.message}.{hint}")]
    more = len(source) - MOST_CHARACTERS
    cut = [empty_state(f"and {more:,} characters more: {print_command(path)} prints all")] if more > 0 else []
    return [
        html.P(["The same in a shell: ", html.Code(print_command(path))], className="gb-quiet"),
        html.Div([html.Button("copy", type="button", **attributes({"data-gb-copy": CODE_ID}))], className="gb-bar"),
        html.Pre(html.Code(source[:MOST_CHARACTERS]), className="gb-code", tabIndex=0),
        *cut,
    ]
