"""The code that Inductor generated for a graph: a fold for each candidate of which it is kept, filled when it is opened
(`assets/gb_code.js`).
"""

from __future__ import annotations

import hashlib
from typing import Final

from dash import html

from analyzer.code_files import codes_of
from analyzer.core import quantities
from analyzer.core.generated_code import StoredCode
from analyzer.core.plan import EAGER, FUSED
from analyzer.core.report import GraphReport, Report
from analyzer.reporting.plain_text import plain
from dashboard.code_route import code_address, code_file_name
from dashboard.panels.panel import Component, empty_state
from dashboard.table import attributes

NONE_KEPT: Final = (
    "Nothing of it is kept: Inductor gave no code of this graph, or an older Graphbound made this run. "
    "`TORCH_LOGS=output_code python your_program.py` prints what there is, a graph at a time."
)
CHOSEN_NOT_KEPT: Final = (
    "That of {candidate}, which was chosen, is not kept: Inductor gave none, or the run ended before it had compiled "
    "the plan."
)
COMPILES_NOTHING: Final = "Chosen was eager, for which nothing is generated."


def generated_of(report: Report, graph: GraphReport) -> list[Component]:
    codes = codes_of(report, str(graph.key))
    if not codes:
        return [empty_state(NONE_KEPT)]
    folds = [_fold(code, graph.chosen) for code in codes]
    if graph.chosen == EAGER:
        return [*folds, html.P(COMPILES_NOTHING, className="gb-quiet")]
    if all(code.candidate != graph.chosen for code in codes):
        said = CHOSEN_NOT_KEPT.format(candidate=plain(graph.chosen, 80))
        return [*folds, html.P(said, className="gb-quiet")]
    return folds


def _fold(code: StoredCode, chosen: str) -> Component:
    place = f"graphs-generated-{_own_id(code)}"
    copy = html.Button("copy", type="button", **attributes({"data-gb-copy": place}))
    keep = html.A("download", href=code_address(code, is_file=True), download=code_file_name(code))
    summary = html.Summary([html.Code(plain(code.candidate, 80)), f" {_said(code, chosen)}"])
    if code.file is None:
        return html.Details([summary], className="gb-generated")
    body = html.Div(id=place, role="status", **attributes({"data-gb-code": code_address(code)}))
    return html.Details([summary, html.Div([copy, keep], className="gb-bar"), body], className="gb-generated")


def _said(code: StoredCode, chosen: str) -> str:
    roles = [
        word for word, is_so in (("chosen", code.candidate == chosen), ("default", code.candidate == FUSED)) if is_so
    ]
    size = quantities.byte_count(code.code_bytes)
    if code.file is None:
        return ", ".join([*roles, f"{size}, none of it kept: other graphs had used up the room"])
    kept = f"the first {quantities.byte_count(code.kept_bytes)} of {size} are kept" if code.is_cut else size
    return ", ".join([*roles, kept])


def _own_id(code: StoredCode) -> str:
    named = f"{code.key}={code.candidate}"
    return hashlib.sha256(named.encode("utf-8", "replace")).hexdigest()[:12]
