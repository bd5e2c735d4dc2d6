"""What there is to say at a line of the user's source, the same for every code host: findings and gates that failed.

Judges nothing and escapes nothing: texts are the report's own, and each format makes them harmless in its own way.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import Confidence, Finding
from analyzer.core.gate import GateCheck, GateResult, ModelGate, SilencedFinding
from analyzer.core.graphs import SourceLine
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report, WorkloadFacts
from analyzer.core.shell import shell_word
from analyzer.reporting.check_words import check_cause, check_message
from analyzer.reporting.plain_text import plain
from analyzer.reporting.repository import Repository
from analyzer.reporting.rows import place

PARTIAL: Final = "partial_report"
DID_NOT_RUN: Final = "did_not_run"
GATE_PREFIX: Final = "gate_"
"""Before the id of a gate that no rule explains. Together with the two above, all ids that are no rule's."""

FINGERPRINT_DIGITS: Final = 32
MESSAGE_LIMIT: Final = 2_000
"""Characters: nobody reads a page beside a line."""
PATH_LIMIT: Final = 4_096
"""Of a path, which has to be that of a file: what Linux takes."""


class Level(Enum):
    """The value is the word of SARIF and of GitHub's commands."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a remark is shown: `path` from the root of the repository, and a line of it. `line` None: of the model as a
    whole, whose file `path` is; `path` None: the model's file is not in the repository either.
    """

    path: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class Remark:
    """`id` is that of a rule, or of a gate. `where` is the line as it was recorded, which may lie outside the
    repository. `confidence` is None where no finding is named. `fingerprint` names the remark, and holds no line
    number: it is the same after lines were added above. `is_gated`: a gate failed or warned because of it.
    `is_silenced`: the comment on its line takes it out.
    """

    model: str
    id: str
    level: Level
    message: str
    place: Place
    where: SourceLine | None = None
    remedy: str | None = None
    ns_per_step: int | None = None
    count: int = 1
    confidence: Confidence | None = None
    is_gated: bool = False
    is_silenced: bool = False
    fingerprint: str = ""


def report_remarks(report: Report, repository: Repository) -> tuple[Remark, ...]:
    """Every finding of a report as a warning, the dearest first; before them that the run ended early, if it did."""
    return _named(_of_report(report, report.workload.name, (), repository), repository)


def gate_remarks(gate: GateResult, repository: Repository) -> tuple[Remark, ...]:
    """What failed and what warned, then every other finding, except those that such a check has said at their line."""
    remarks = [remark for model in gate.models for remark in _of_model(model, repository)]
    return _named(sorted(remarks, key=_by_weight), repository)


def without_gates(runs: ModelRuns) -> GateResult:
    """The runs of several models as what a check without a gate would have found: one without a report has failed."""
    models = tuple(
        ModelGate(
            run.name,
            run.report,
            (),
            error=run.error,
            folder=run.folder,
            error_at=run.error_at,
            error_code=run.exit_code,
        )
        for run in runs.runs
    )
    return GateResult(runs.headline, models, command=runs.command)


def cost_text(remark: Remark) -> str | None:
    """`1.90 ms a step`; None where it is not known."""
    return None if remark.ns_per_step is None else f"{quantities.duration(remark.ns_per_step)} a step"


def message_text(remark: Remark) -> str:
    """Its message on one line, never empty: a host drops a remark that says nothing."""
    return plain(remark.message, MESSAGE_LIMIT) or "(no message)"


def where_text(remark: Remark) -> str:
    """`model.py:41` from the root of the repository; of what lies elsewhere the line as it was recorded."""
    shown = remark.place
    return place(remark.where) if shown.line is None else f"{shown.path}:{shown.line}"


def doubt_text(remark: Remark) -> str | None:
    """That a finding may be wrong; None of one that is certain, and of what is no finding."""
    if remark.confidence is not Confidence.LIKELY:
        return None
    return f"Likely, not certain: `analyze explain {shell_word(plain(remark.id))}` says when it is wrong."


def told(remark: Remark) -> str:
    """A remark in one paragraph, for a format that shows nothing else of it."""
    # A host asks for a line even where there is none, so that what the remark is about is said.
    where = "" if remark.place.line is not None else f" ({place(remark.where)})"
    cost = cost_text(remark)
    message = f"{message_text(remark).rstrip('.')}{where}{f', {cost}' if cost else ''}."
    remedy = f" Suggestion: {plain(remark.remedy, MESSAGE_LIMIT).rstrip('.')}." if remark.remedy else ""
    doubt = doubt_text(remark)
    return message + remedy + (f" {doubt}" if doubt else "")


def _of_report(report: Report, model: str, silenced: Sequence[SilencedFinding], repository: Repository) -> list[Remark]:
    home = _home(report.workload, repository)
    found = sorted(report.findings, key=lambda f: (f.ns_per_step is None, -(f.ns_per_step or 0)))
    remarks = [_finding_remark(finding, model, home, repository) for finding in found]
    taken_out = {(each.rule, each.where) for each in silenced}
    remarks = [replace(each, is_silenced=(each.id, each.where) in taken_out) for each in remarks]
    if report.partial is None:
        return remarks
    at = report.partial_at
    told = f"the report is partial: {report.partial}"
    partial = Remark(model, PARTIAL, Level.WARNING, told, _place(at, home, repository), at)
    return [partial, *remarks]


def _finding_remark(finding: Finding, model: str, home: Place, repository: Repository) -> Remark:
    return Remark(
        model=model,
        id=finding.rule,
        level=Level.WARNING,
        message=finding.message,
        place=_place(finding.where, home, repository),
        where=finding.where,
        remedy=finding.remedy,
        ns_per_step=finding.ns_per_step,
        count=finding.count,
        confidence=finding.confidence,
    )


def _of_model(model: ModelGate, repository: Repository) -> list[Remark]:
    report = model.report
    home = Place(None, None) if report is None else _home(report.workload, repository)
    checks = [check for check in model.checks if check.is_failure or check.is_warning]
    said = [_check_remark(each, model.name, home, repository) for each in _by_cause(checks)]
    if model.error is not None:
        at = model.error_at
        lost = Remark(
            model.name, DID_NOT_RUN, Level.ERROR, model.error, _place(at, home, repository), at, is_gated=True
        )
        said.insert(0, lost)
    if report is None:
        return said
    findings = _of_report(report, model.name, model.silenced, repository)
    left = [each for each in findings if not any(_explains(each, check) for check in checks)]
    return said + [_among_places(each, checks) for each in left]


def _by_cause(checks: Sequence[GateCheck]) -> list[list[GateCheck]]:
    """Numbers that one finding at one line has moved, together: it is one remark. The first of each is the worst."""
    found: dict[tuple[str | None, SourceLine | None, int], list[GateCheck]] = {}
    for number, check in enumerate(checks):
        is_alone = check.rule is None or check.where is None
        found.setdefault((check.rule, check.where, number if is_alone else 0), []).append(check)
    return list(found.values())


def _check_remark(checks: Sequence[GateCheck], model: str, home: Place, repository: Repository) -> Remark:
    check = checks[0]
    message, cause = check_message(check), check_cause(check)
    if cause is not None:
        message = f"{message.rstrip('.')}. {cause}"
    if len(checks) > 1:
        message = f"{message.rstrip('.')}. Also: {'; '.join(other.message for other in checks[1:])}"
    return Remark(
        model=model,
        id=check.rule or GATE_PREFIX + check.gate,
        level=Level.ERROR if check.is_failure else Level.WARNING,
        message=message,
        place=_place(check.where, home, repository),
        where=check.where,
        remedy=check.remedy,
        ns_per_step=check.ns_per_step,
        confidence=check.confidence,
        is_gated=True,
    )


def _explains(remark: Remark, check: GateCheck) -> bool:
    """Whether a finding is what a check has already said, at the same line."""
    return remark.id == check.rule and remark.where is not None and remark.where == check.where


def _among_places(remark: Remark, checks: Sequence[GateCheck]) -> Remark:
    """A finding at a further line that a check is about is one of what failed, and is said at its own line."""
    of = next((check for check in checks if remark.id == check.rule and remark.where in check.places), None)
    if of is None or remark.is_silenced:
        return remark
    return replace(remark, level=Level.ERROR if of.is_failure else Level.WARNING, is_gated=True)


def _by_weight(remark: Remark) -> tuple[bool, bool]:
    # The sort is stable: within these the order stays that of the checks, then that of the findings.
    return not remark.is_gated, remark.level is not Level.ERROR


def _home(workload: WorkloadFacts, repository: Repository) -> Place:
    """The model's own file, for what belongs to no line. A recorded trace is no source."""
    return Place(repository.path(workload.source) if workload.source.endswith(".py") else None, None)


def _place(where: SourceLine | None, home: Place, repository: Repository) -> Place:
    path = None if where is None else repository.path(where.file)
    # Line 0 is what torch says of a code object without lines; a host refuses it.
    return home if where is None or path is None else Place(path, max(where.line, 1))


def _named(remarks: Iterable[Remark], repository: Repository) -> tuple[Remark, ...]:
    """The remarks with their fingerprints. Those that nothing but their line tells apart are numbered by it."""
    given = tuple(remarks)
    order = sorted(range(len(given)), key=lambda index: (_line(given[index]), index))
    seen: Counter[tuple[str, ...]] = Counter()
    names: dict[int, str] = {}
    for index in order:
        identity = _identity(given[index], repository)
        seen[identity] += 1
        text = "\0".join((*identity, str(seen[identity])))
        names[index] = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:FINGERPRINT_DIGITS]
    return tuple(replace(remark, fingerprint=names[index]) for index, remark in enumerate(given))


def _line(remark: Remark) -> int:
    return 0 if remark.where is None else remark.where.line


def _identity(remark: Remark, repository: Repository) -> tuple[str, ...]:
    # Neither the message, which holds times, nor the line: both change where nothing was done to the pattern.
    where = remark.where
    if where is None:
        return (remark.model, remark.id, remark.place.path or "")
    file = repository.path(where.file) or where.file.rpartition("/")[2]
    return (remark.model, remark.id, file, where.function or "", repository.text(where) or "")
