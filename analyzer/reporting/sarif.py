"""SARIF 2.1.0, as GitHub's code scanning takes it: every finding at its line, each rule with its explanation.

GitHub refuses a result without a line of the repository: one that belongs to no line stands at the first line of the
model's file, and one whose file lies elsewhere becomes a notification of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from analyzer.core.gate import GateResult
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.core.shell import shell_word
from analyzer.reporting.json import public_json
from analyzer.reporting.plain_text import plain, plain_command, plain_lines
from analyzer.reporting.remarks import (
    DID_NOT_RUN,
    GATE_PREFIX,
    MESSAGE_LIMIT,
    PARTIAL,
    PATH_LIMIT,
    Remark,
    gate_remarks,
    report_remarks,
    told,
    without_gates,
)
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.rows import place
from analyzer.reporting.word import Word
from analyzer.version import VERSION

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
"""The URI that GitHub's documentation gives."""

ROOT: Final = "%SRCROOT%"
"""The base of all paths: the root of the repository, wherever that is checked out."""

FINGERPRINT: Final = "graphboundRemark/v1"
"""GitHub's own `primaryLocationLineHash` is computed from the source when a file is uploaded."""

MOST_RESULTS: Final = 5_000
"""What GitHub shows of a run (SARIF support for code scanning, limits)."""

_SHORT_LIMIT: Final = 1_024
"""Characters that GitHub takes of a rule's short and full description."""
NAMELESS: Final = "finding"
"""The id of a rule without one: GitHub refuses an empty id."""
_DOC_LINES: Final = 200
_EXPLANATIONS: Final = (
    Word(PARTIAL, "The run ended before everything was measured.\n\nWhat is missing is unknown, and not fine."),
    Word(DID_NOT_RUN, "The model could not be run.\n\nNo gate has judged it."),
)


def render(report: Report, page: Page) -> str:
    notes = [report.headline, *(f"{failed.rule} could not judge: {failed.reason}" for failed in report.rule_failures)]
    return _log(report_remarks(report, page.repository), notes, page)


def render_gate(gate: GateResult, page: Page) -> str:
    """Every finding, those that a gate failed for as errors; a silenced one is there, and said to be suppressed."""
    unjudged = [
        f"{model.name}: {failed.rule} could not judge: {failed.reason}"
        for model in gate.models
        for failed in (model.report.rule_failures if model.report is not None else ())
    ]
    return _log(gate_remarks(gate, page.repository), [gate.headline, *unjudged], page)


def render_runs(runs: ModelRuns, page: Page) -> str:
    return render_gate(without_gates(runs), page)


def _log(remarks: Sequence[Remark], notes: Sequence[str], page: Page) -> str:
    placed = [remark for remark in remarks if remark.place.path is not None]
    shown = placed[:MOST_RESULTS]
    rules = _rules(remarks, page.rules)
    elsewhere = [_elsewhere(remark) for remark in remarks if remark.place.path is None]
    more = [f"{len(placed) - len(shown)} lesser results were left out"] if len(placed) > len(shown) else []
    run = {
        "tool": {"driver": _driver(rules)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not any(remark.id in (PARTIAL, DID_NOT_RUN) for remark in remarks),
                "toolExecutionNotifications": [
                    *(_notification(text, "note") for text in notes),
                    *(_notification(text, "warning") for text in (*elsewhere, *more)),
                ],
            }
        ],
        "results": [_result(remark, [rule.id for rule in rules]) for remark in shown],
    }
    return public_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}).decode()


def _driver(rules: Sequence[Word]) -> dict[str, Any]:
    return {"name": "Graphbound", "version": VERSION, "rules": [_descriptor(rule) for rule in rules]}


def _rules(remarks: Sequence[Remark], known: Sequence[Word]) -> list[Word]:
    """All rules, found or not, and what else a result names: the list changes with the tool, not with the code."""
    words = {word.id: word for word in (*known, *_EXPLANATIONS)}
    for remark in remarks:
        words.setdefault(remark.id, _unexplained(remark.id))
    return list(words.values())


def _unexplained(remark_id: str) -> Word:
    if remark_id.startswith(GATE_PREFIX):
        gate = plain(remark_id.removeprefix(GATE_PREFIX))
        return Word(remark_id, f"The gate `{gate}` failed.\n\nA value is past the limit that was set for it.")
    return Word(
        remark_id, f"A finding of Graphbound.\n\n`analyze explain {shell_word(plain(remark_id))}` says what it means."
    )


def _descriptor(rule: Word) -> dict[str, Any]:
    title, _, body = rule.doc.strip().partition("\n")
    rule_id = plain(rule.id) or NAMELESS
    name = "".join(part.capitalize() for part in rule_id.split("_"))
    descriptor = {
        "id": rule_id,
        "shortDescription": {"text": plain(title, _SHORT_LIMIT)},
        "fullDescription": {"text": plain(_first_paragraph(body) or title, _SHORT_LIMIT)},
        "help": {"text": plain_lines(body.strip(), _DOC_LINES) or title, "markdown": _help_markdown(rule.doc)},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["performance", "pytorch"]},
    }
    # A name that says no more than the id is one too many (SARIF1001).
    return descriptor if name.lower() == rule_id.lower() else {**descriptor, "name": name}


def _first_paragraph(body: str) -> str:
    """What a rule finds, without the title of that section."""
    paragraph = body.strip().partition("\n\n")[0]
    title, _, rest = paragraph.partition("\n")
    return rest.strip() if rest.startswith(" ") else f"{title}\n{rest}".strip()


def _help_markdown(doc: str) -> str:
    """The sections of an explanation with their titles in bold; its words are ours, and are Markdown enough."""
    lines = doc.strip().splitlines()[1:]
    shown = [
        f"**{line}**\n" if line and not line.startswith(" ") and _is_title(lines, i) else line.strip()
        for i, line in enumerate(lines)
    ]
    return "\n".join(shown).strip() or doc.strip()


def _is_title(lines: Sequence[str], index: int) -> bool:
    return index + 1 < len(lines) and lines[index + 1].startswith(" ")


def _result(remark: Remark, rule_ids: Sequence[str]) -> dict[str, Any]:
    properties = {
        "model": plain(remark.model),
        "count": remark.count,
        "nsPerStep": remark.ns_per_step,
        "confidence": None if remark.confidence is None else remark.confidence.value,
    }
    result = {
        "ruleId": plain(remark.id) or NAMELESS,
        "ruleIndex": rule_ids.index(remark.id),
        "level": remark.level.value,
        "message": {"text": _message(remark)},
        "locations": [{"physicalLocation": _physical(remark)}],
        "partialFingerprints": {FINGERPRINT: remark.fingerprint},
        "properties": {name: value for name, value in properties.items() if value is not None},
    }
    if remark.is_silenced:
        result["suppressions"] = [{"kind": "inSource", "justification": "graphbound: ignore, on its line"}]
    return result


def _physical(remark: Remark) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": uri(remark.place.path or ""), "uriBaseId": ROOT},
        "region": {"startLine": remark.place.line or 1},
    }


def uri(path: str) -> str:
    """A path in the repository as a relative reference: a `:` in it begins no scheme."""
    try:
        return quote(path.encode(errors="surrogateescape"))
    except UnicodeEncodeError:
        return quote(plain_command(path, PATH_LIMIT))


def _message(remark: Remark) -> str:
    text = told(remark)
    # `[text](target)` in a message is a link (SARIF 2.1.0, 3.11.6).
    return f"{text[:1].upper()}{text[1:]}".replace("](", "] (")


def _elsewhere(remark: Remark) -> str:
    return f"{remark.id} at {place(remark.where)}, outside of the repository: {remark.message}"


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"level": level, "message": {"text": plain(text, MESSAGE_LIMIT) or "nothing was said"}}


RENDERER: Final = Renderer(
    id="sarif",
    summary="SARIF 2.1.0 for code scanning",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
