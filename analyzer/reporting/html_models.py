"""Several models on one page: those of one command, and those that a check judged. A line each, and below them, folded,
the first blocks of each report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from analyzer.core import quantities
from analyzer.core.gate import GateCheck, GateResult, GateStatus, ModelGate
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.check_words import check_cause, check_message
from analyzer.reporting.html_bars import step_section
from analyzer.reporting.html_document import MOST_BYTES, document, warnings_of
from analyzer.reporting.html_findings import top_section
from analyzer.reporting.html_markup import (
    NOTHING,
    SENTENCE_LIMIT,
    Html,
    command,
    folded,
    items,
    joined,
    paragraph,
    sentence_table,
    shown,
    tag,
)
from analyzer.reporting.html_measured import measured_section
from analyzer.reporting.html_names import LONGEST, ToldApart, told_apart
from analyzer.reporting.html_path import path_section
from analyzer.reporting.renderer import Page
from analyzer.reporting.report_text import outcome_text
from analyzer.reporting.rows import place

MOST_MODELS: Final = 500
"""Models with a line; the rest are counted."""
MOST_CHECKS: Final = 60
_FOLDED: Final = (100, 30, 8, 0)
"""Models whose report is on the page: as many as there is room for."""
_LOUD: Final = frozenset({GateStatus.FAILED, GateStatus.BROKEN, GateStatus.WARNED})


def render_runs(runs: ModelRuns, page: Page) -> str:
    """The runs of several models, in at most `page.most_bytes` or MOST_BYTES as far as leaving reports out does it."""
    return _fitting(page, lambda most: document(runs.headline, _runs_head(runs), _runs_main(runs, most)))


def render_gate(gate: GateResult, page: Page) -> str:
    """What `analyze check` found, in the same room."""
    return _fitting(page, lambda most: document(gate.headline, _gate_head(gate), _gate_main(gate, most)))


def _fitting(page: Page, build: Callable[[int], str]) -> str:
    text = ""
    for most in _FOLDED:
        text = build(most)
        if len(text.encode()) <= (page.most_bytes or MOST_BYTES):
            break
    return text


def _runs_head(runs: ModelRuns) -> Iterator[Html]:
    yield tag("h1", shown(runs.headline))


def _runs_main(runs: ModelRuns, most: int) -> Iterator[Html]:
    listed = runs.runs[:MOST_MODELS]
    names = told_apart([*(run.name for run in runs.runs), *(run.folder or "" for run in listed)], SENTENCE_LIMIT)
    yield sentence_table(("model", "what came of it", "run folder"), [_run_line(run, names) for run in listed])
    yield from _counted(len(runs.runs), MOST_MODELS, "models")
    yield _command(runs.command)
    reports = [(run.name, run.report) for run in runs.runs if run.report is not None]
    yield from (_report(names.of(name), report) for name, report in reports[:most])
    yield from _left_out(len(reports), most)


def _run_line(run: ModelRun, names: ToldApart) -> list[Html]:
    """A run that ended early has a report that says so, and its exit code all the same."""
    if run.report is None:
        said = [paragraph(f"it did not run: {run.error or 'no reason was given'}", "loud")]
    else:
        partial = run.report.partial
        said = [paragraph(f"it ended early: {partial}", "loud")] if partial is not None else []
        said += [paragraph(run.report.headline)]
    said += [paragraph(f"exit code {run.exit_code}", "quiet")] if run.exit_code else []
    folder = "none" if run.folder is None else names.of(run.folder)
    return [tag("code", shown(names.of(run.name), LONGEST)), joined(said), shown(folder, LONGEST)]


def _gate_head(gate: GateResult) -> Iterator[Html]:
    if gate.against is not None:
        yield paragraph(f"held against {gate.against}", "quiet")
    yield tag("h1", shown(f"{'PASSED' if gate.has_passed else 'FAILED'}: {gate.headline}"))


def _gate_main(gate: GateResult, most: int) -> Iterator[Html]:
    yield items(gate.notes)
    names = told_apart((model.name for model in gate.models), SENTENCE_LIMIT)
    for model in gate.models[:MOST_MODELS]:
        yield tag("section", tag("h2", shown(names.of(model.name), LONGEST)), *_gates_of(model))
    yield from _counted(len(gate.models), MOST_MODELS, "models")
    if gate.accept is not None and gate.accept_file is not None:
        yield paragraph("To accept the new values:")
        yield _command(f"{gate.command} --init")
    yield paragraph("To check again:")
    yield _command(gate.command)
    reports = [(model.name, model.report) for model in gate.models if model.report is not None]
    yield from (_report(names.of(name), report) for name, report in reports[:most])
    yield from _left_out(len(reports), most)


def _gates_of(model: ModelGate) -> Iterator[Html]:
    if model.error is not None:
        yield paragraph(f"it could not be judged: {model.error}", "loud")
    if model.checks:
        rows = [_gate_line(check) for check in model.checks[:MOST_CHECKS]]
        yield sentence_table(("", "gate", "what was found", "where"), rows)
        yield from _counted(len(model.checks), MOST_CHECKS, "gates")
    yield items(f"silenced: {finding.rule} at {place(finding.where)}" for finding in model.silenced)
    yield items(model.notes)
    if model.folder is not None:
        yield paragraph(f"run folder: {model.folder}", "quiet")


def _gate_line(check: GateCheck) -> list[Html]:
    said = [paragraph(check_message(check))]
    if check.status in _LOUD:
        said += [paragraph(text) for text in (check_cause(check), check.remedy) if text]
    status = paragraph(check.status.value, "loud" if check.status in _LOUD else None)
    where = NOTHING if check.where is None else tag("code", shown(place(check.where), 160))
    return [status, tag("code", shown(check.gate)), joined(said), where]


def _report(name: str, report: Report) -> Html:
    outcome = outcome_text(report)
    return folded(
        f"{name}: the report",
        *warnings_of(report),
        paragraph(report.headline, "outcome"),
        *([paragraph(outcome)] if outcome is not None else []),
        _block("Where the recorded time goes" if report.is_recorded else "Where a step goes", step_section(report)),
        path_section(report, id_=None),
        _block("What costs most", top_section(report, has_all=False)),
        _block("What was measured", measured_section(report)),
        _block("Next", _command(report.next_command)),
    )


def _block(title: str, inner: Html) -> Html:
    return tag("section", tag("h3", shown(title)), inner)


def _command(text: str) -> Html:
    return tag("pre", tag("code", command(text)), class_="command")


def _counted(number: int, most: int, what: str) -> Sequence[Html]:
    return [paragraph(f"and {quantities.count(number - most)} more {what}")] if number > most else []


def _left_out(number: int, most: int) -> Sequence[Html]:
    if number <= most:
        return []
    left = quantities.count(number - most)
    return [paragraph(f"{left} reports were left out for want of room: each run folder has its report.html", "quiet")]
