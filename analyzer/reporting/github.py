"""Annotations of a GitHub Actions run: lines on stdout that the runner shows at the line of the source they name.

With a gate, only what failed or warned is annotated, and that nothing was held against anything: a change that did
nothing stays quiet. The first line is no command; it stands in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from analyzer.core import quantities
from analyzer.core.gate import GateResult
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.plain_text import ELLIPSIS, plain, plain_command
from analyzer.reporting.remarks import (
    MESSAGE_LIMIT,
    PATH_LIMIT,
    Level,
    Remark,
    cost_text,
    doubt_text,
    gate_remarks,
    message_text,
    report_remarks,
    without_gates,
)
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.rows import place

MOST_OF_A_LEVEL: Final = 10
"""Warnings, and errors, of one step that GitHub keeps; further ones vanish without a word. A job keeps 50 in all
(actions/toolkit, docs/problem-matchers.md, Limitations)."""

_HEADLINE_LIMIT: Final = 400

_OLD_COMMAND: Final = "##["
"""Anywhere in a line that is no newer command, it begins one of the runner's older ones."""


def render(report: Report, page: Page) -> str:
    """A line with the headline, then a command for each finding."""
    return _page(report.headline, report_remarks(report, page.repository), has_models=False)


def render_gate(gate: GateResult, page: Page) -> str:
    """A line with the gate's own, then a command for each check that failed or warned."""
    remarks = [remark for remark in gate_remarks(gate, page.repository) if remark.is_gated]
    annotated = _page(gate.headline, remarks, has_models=len(gate.models) > 1)
    return annotated + (_held_against_nothing(gate) if gate.against is None and gate.has_passed else "")


def render_runs(runs: ModelRuns, page: Page) -> str:
    """A line of all models, then a command for each that did not run and for each finding of the others."""
    return _page(runs.headline, gate_remarks(without_gates(runs), page.repository), has_models=True)


def data(text: str) -> str:
    """The message of a command, escaped as the runner undoes it (actions/toolkit, core/src/command.ts)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def value(text: str) -> str:
    """The value of a command's property, escaped in the same way."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def error_command(message: str, hint: str | None) -> str:
    """What ended a command before it had anything to show: a change would say that a step failed, and no more."""
    text = "\n".join(plain(text, MESSAGE_LIMIT) for text in (message, hint) if text)
    return f"::error title=Graphbound::{data(text)}"


def log_lines(text: str) -> str:
    """Lines of the log, of which the runner takes none for a command: it skips white space before one."""
    harmless = [f"{ELLIPSIS}{line}" if line.lstrip().startswith("::") else line for line in text.splitlines()]
    return "\n".join(harmless).replace(_OLD_COMMAND, f"##{ELLIPSIS}[")


def log_line(text: str) -> str:
    """A line of the log that the runner takes for no command."""
    return f"Graphbound: {plain(text, _HEADLINE_LIMIT)}".replace(_OLD_COMMAND, f"##{ELLIPSIS}[")


def _page(headline: str, remarks: Sequence[Remark], *, has_models: bool) -> str:
    lines = [log_line(headline)]
    for level in Level:
        of_level = [remark for remark in remarks if remark.level is level and not remark.is_silenced]
        is_too_many = len(of_level) > MOST_OF_A_LEVEL
        shown = of_level[: MOST_OF_A_LEVEL - 1] if is_too_many else of_level
        lines += [_command(remark, has_models=has_models) for remark in shown]
        if is_too_many:
            lines.append(_left_out(level, len(of_level) - len(shown)))
    return "\n".join(lines) + "\n"


def _command(remark: Remark, *, has_models: bool) -> str:
    of = f"{plain(remark.model, 60)}, " if has_models else ""
    cost = cost_text(remark)
    properties = [f"title={value(of + plain(remark.id) + (f', {cost}' if cost else ''))}"]
    if remark.place.path is not None:
        # The exact path, two spaces included: it has to be that of a file.
        properties.insert(0, f"file={value(plain_command(remark.place.path, PATH_LIMIT))}")
    if remark.place.line is not None:
        properties.insert(1, f"line={remark.place.line}")
    return f"::{remark.level.value} {','.join(properties)}::{data(_message(remark))}"


def _message(remark: Remark) -> str:
    lines = [message_text(remark)]
    if remark.place.line is None and remark.where is not None:
        lines.append(f"At {place(remark.where)}, outside of this repository.")
    if remark.count > 1:
        lines.append(f"Seen {quantities.count(remark.count)} times.")
    if remark.remedy:
        lines.append(f"Suggestion: {plain(remark.remedy, MESSAGE_LIMIT)}")
    if doubt := doubt_text(remark):
        lines.append(doubt)
    return "\n".join(lines)


def _held_against_nothing(gate: GateResult) -> str:
    """A pass that says nothing of the change, as where the file of values was deleted or never committed."""
    text = "\n".join(plain(each, MESSAGE_LIMIT) for each in (gate.headline, *gate.notes))
    return f"::notice title=Graphbound::{data(text)}\n"


def _left_out(level: Level, number: int) -> str:
    title = f"title={value(f'{quantities.count(number)} more')}"
    text = (
        f"{quantities.count(number)} more {level.value}s are not shown here: GitHub keeps {MOST_OF_A_LEVEL} of a step."
    )
    return f"::{level.value} {title}::{data(f'{text} The summary of the job has them, the worst first.')}"


RENDERER: Final = Renderer(
    id="github",
    summary="annotations of a GitHub Actions run",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
