"""What to type next, ready to copy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from dash import html

from analyzer.reporting.plain_text import COMMAND_LIMIT, plain_command
from dashboard.panels.panel import Component, Panel, empty_state
from dashboard.run_folder import RunData
from dashboard.table import attributes

PLAN_FILE: Final = "plan.json"
_ANALYZE: Final = "analyze model.py"


def build(run: RunData) -> list[Component]:
    if run.report is None:
        return [empty_state("Without report.json:"), _command(_ANALYZE)]
    shown = [_command(run.report.next_command)]
    plan = Path(run.folder) / PLAN_FILE
    if plan.is_file():
        line = f"model = analyzer.optimize(model, plan={json.dumps(str(plan), ensure_ascii=False)})"
        shown += [html.P("To use the plan in a program, after `import analyzer`:"), _command(line)]
    return shown


def _command(text: str) -> Component:
    """`assets/gb_graphs.js` copies what stands before the button."""
    shown = plain_command(text, COMMAND_LIMIT)
    button = html.Button("copy", type="button", **attributes({"data-gb-copy": "", "aria-label": f"copy {shown[:80]}"}))
    return html.Div([html.Code(shown, className="gb-command"), button], className="gb-bar")


PANEL: Final = Panel(id="next_command", title="Next", build=build)
