"""JUnit XML: a test for each gate of each model; without a gate, a test for each rule, failed where it found something.

What could not be judged is skipped with its reason, and a run that ended early is an error: neither has passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never
from xml.etree import ElementTree

from analyzer.core.gate import GateCheck, GateResult, GateStatus, ModelGate
from analyzer.core.graphs import SourceLine
from analyzer.core.model_runs import ModelRun, ModelRuns
from analyzer.core.report import Report
from analyzer.reporting.check_words import check_cause, check_message
from analyzer.reporting.plain_text import plain
from analyzer.reporting.remarks import DID_NOT_RUN, PARTIAL, Remark, cost_text, report_remarks, where_text
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.rows import place
from analyzer.version import VERSION

MESSAGE_LIMIT: Final = 1_000


class _Outcome(Enum):
    """The value is the element that says it; passed has none."""

    PASSED = ""
    FAILED = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class _Test:
    """`kind` is the type of what went wrong, `message` its first line, `lines` the rest."""

    name: str
    outcome: _Outcome = _Outcome.PASSED
    kind: str = ""
    message: str = ""
    lines: tuple[str, ...] = ()


def render(report: Report, page: Page) -> str:
    suite = _suite(report.workload.name, tuple(_of_report(report, page)), report.headline)
    return _document("Graphbound", (suite,))


def render_gate(gate: GateResult, page: Page) -> str:
    suites = [_suite(model.name, tuple(_of_model(model, page)), gate.headline) for model in gate.models]
    return _document("Graphbound gates", suites)


def render_runs(runs: ModelRuns, page: Page) -> str:
    """A suite for each model; one without a report is an error."""
    return _document("Graphbound", [_of_run(run, page) for run in runs.runs])


def _of_run(run: ModelRun, page: Page) -> ElementTree.Element:
    if run.report is None:
        error = run.error or "it has no report"
        lost = _Test(DID_NOT_RUN, _Outcome.ERROR, DID_NOT_RUN, error, _at(run.error_at, page))
        return _suite(run.name, (lost,), error)
    return _suite(run.name, tuple(_of_report(run.report, page)), run.report.headline)


def _of_report(report: Report, page: Page) -> Iterable[_Test]:
    found: dict[str, list[Remark]] = {}
    for remark in report_remarks(report, page.repository):
        found.setdefault(remark.id, []).append(remark)
    failed = {failure.rule: failure.reason for failure in report.rule_failures}
    if report.partial is not None:
        yield _Test(PARTIAL, _Outcome.ERROR, PARTIAL, report.partial, _at(report.partial_at, page))
    for rule in dict.fromkeys((*(word.id for word in page.rules), *found, *failed)):
        if rule == PARTIAL:
            continue
        if rule in found:
            lines = tuple(line for remark in found[rule] for line in _lines(remark))
            yield _Test(rule, _Outcome.FAILED, rule, found[rule][0].message, lines)
        elif (reason := failed.get(rule) or _unjudged(report)) is not None:
            yield _Test(rule, _Outcome.SKIPPED, "not judged", reason)
        else:
            yield _Test(rule)


def _unjudged(report: Report) -> str | None:
    """Why nothing can be said of a rule that neither found something nor failed; None where it found nothing."""
    if report.partial is not None:
        return "the run ended early"
    is_older = report.versions.graphbound != VERSION
    return f"graphbound {report.versions.graphbound}, which made the report, may not have had it" if is_older else None


def _of_model(model: ModelGate, page: Page) -> Iterable[_Test]:
    if model.error is not None:
        yield _Test(DID_NOT_RUN, _Outcome.ERROR, DID_NOT_RUN, model.error, _at(model.error_at, page))
    for check in model.checks:
        yield _of_check(check, page)


def _of_check(check: GateCheck, page: Page) -> _Test:
    lines = [line for where in check.places or (check.where,) for line in _at(where, page)]
    cause = check_cause(check)
    lines += [cause] if cause is not None else []
    lines += [f"suggestion: {check.remedy}"] if check.remedy else []
    outcome = _check_outcome(check)
    return _Test(check.gate, outcome, check.rule or check.status.value, check_message(check), tuple(lines))


def _at(where: SourceLine | None, page: Page) -> tuple[str, ...]:
    """By its path in the repository, where it lies in that: the name alone may be that of several files."""
    if where is None:
        return ()
    path = page.repository.path(where.file)
    return (f"at {place(where)}" if path is None else f"at {path}:{where.line}",)


def _check_outcome(check: GateCheck) -> _Outcome:
    match check.status:
        case GateStatus.PASSED | GateStatus.IMPROVED:
            return _Outcome.PASSED
        case GateStatus.FAILED:
            return _Outcome.FAILED
        case GateStatus.BROKEN:
            return _Outcome.ERROR if check.is_failure else _Outcome.SKIPPED
        # JUnit knows no warning: one must not fail the build, and has not simply passed.
        case GateStatus.WARNED | GateStatus.SILENCED | GateStatus.NOT_COMPARED:
            return _Outcome.SKIPPED
        case _:
            assert_never(check.status)


def _lines(remark: Remark) -> tuple[str, ...]:
    cost = cost_text(remark)
    return (
        f"{where_text(remark)}: {remark.message}{f', {cost}' if cost else ''}",
        *((f"suggestion: {remark.remedy}",) if remark.remedy else ()),
    )


def _suite(name: str, tests: Sequence[_Test], headline: str) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", {"name": _safe(name) or "model", **_counts(tests)})
    properties = ElementTree.SubElement(suite, "properties")
    ElementTree.SubElement(properties, "property", {"name": "headline", "value": _safe(headline)})
    for test in tests:
        case = ElementTree.SubElement(
            suite, "testcase", {"name": _safe(test.name), "classname": _safe(name) or "model"}
        )
        if test.outcome is not _Outcome.PASSED:
            said = {"type": _safe(test.kind), "message": _safe(test.message)}
            element = ElementTree.SubElement(case, test.outcome.value, said)
            element.text = "\n".join(_safe(line) for line in (test.message, *test.lines) if line)
    return suite


def _counts(tests: Sequence[_Test]) -> dict[str, str]:
    def number(outcome: _Outcome) -> str:
        return str(sum(test.outcome is outcome for test in tests))

    return {
        "tests": str(len(tests)),
        "failures": number(_Outcome.FAILED),
        "errors": number(_Outcome.ERROR),
        "skipped": number(_Outcome.SKIPPED),
    }


def _document(name: str, suites: Sequence[ElementTree.Element]) -> str:
    root = ElementTree.Element("testsuites", {"name": name})
    for count in ("tests", "failures", "errors"):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in suites)))
    root.extend(suites)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _safe(words: str) -> str:
    # What XML has no way to write, `plain` has written out.
    return plain(words, MESSAGE_LIMIT)


RENDERER: Final = Renderer(
    id="junit",
    summary="test results as JUnit XML",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
