"""What to type next, ready to copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from dash import html

from analyzer.core.report import Report
from analyzer.reporting.caveats import chosen_caveats
from analyzer.reporting.json import DASHBOARD_COMMAND
from analyzer.reporting.plain_text import COMMAND_LIMIT, plain, plain_command
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.prose import prose
from dashboard.run_folder import RunData
from dashboard.table import attributes

PLAN_FILE: Final = "plan.json"
_LIMIT: Final = 400
_ANALYZE: Final = "analyze model.py"
_AGAIN: Final = (
    "Change the model and run `analyze model.py` again: the page Compare then lays the two beside each other."
)


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state("Without report.json:"), _command(_ANALYZE)]
    shown = [] if _is_this(run) else [_command(run.report.next_command)]
    plan = _plan(run)
    if plan is not None:
        line = f"model = analyzer.optimize(model, plan={json.dumps(str(plan), ensure_ascii=False)})"
        shown += [html.P(prose("To use the plan in a program, after `import analyzer`:")), _command(line)]
    return [*_caveats(run.report), *(shown or [empty_state(_AGAIN)])]


def _caveats(report: Report) -> list[Component]:
    """Before the line that takes the plan into a program: what whoever copies it must know."""
    known = [html.Li(prose(plain(said, _LIMIT))) for said in chosen_caveats(report)]
    return [html.P("To know of what was chosen:"), html.Ul(known)] if known else []


def _is_this(run: RunData) -> bool:
    """Whether what to type next is the page that is being looked at."""
    return run.report is not None and run.report.next_command.startswith(DASHBOARD_COMMAND)


def _plan(run: RunData) -> Path | None:
    path = Path(run.folder) / PLAN_FILE
    return path if path.is_file() else None


def _command(text: str) -> Component:
    """`assets/gb_graphs.js` copies what stands before the button."""
    shown = plain_command(text, COMMAND_LIMIT)
    button = html.Button("copy", type="button", **attributes({"data-gb-copy": "", "aria-label": f"copy {shown[:80]}"}))
    return html.Div([html.Code(shown, className="gb-command"), button], className="gb-bar")


PANEL: Final = Panel(id="next_command", title="Next", build=build)
