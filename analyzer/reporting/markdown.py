"""The report for a pull request: a comment, or the summary of a job. Its first line is the answer.

Never longer than the host takes, which drops a longer one whole: what is left out is counted, the worst is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from analyzer.core import quantities
from analyzer.core.gate import GateResult, ModelGate
from analyzer.core.model_runs import ModelRuns
from analyzer.core.report import Report
from analyzer.core.shell import shell_path
from analyzer.core.trial import Change
from analyzer.reporting.markdown_details import model_details
from analyzer.reporting.markdown_models import model_table
from analyzer.reporting.markdown_text import code, command, folded, text
from analyzer.reporting.plain_text import COMMAND_LIMIT, plain_command
from analyzer.reporting.remarks import (
    PARTIAL,
    Remark,
    cost_text,
    gate_remarks,
    report_remarks,
    where_text,
    without_gates,
)
from analyzer.reporting.renderer import Page, Renderer
from analyzer.reporting.repository import Repository

COMMENT_BYTES: Final = 65_536
"""What GitHub takes as the body of a comment, in characters; in bytes it is never more."""

MARKER: Final = "<!-- graphbound -->"
"""In every comment of ours, and not shown: whoever posts the next one finds the last one by it, and replaces it."""

ANSWER_LIMIT: Final = 400
"""Characters of the first line."""
_REST_BYTES: Final = 200
"""Kept free for the line that says what was left out."""
_NOTES: Final = 20
MOST_HONESTY: Final = 3
WARNING_LIMIT: Final = 400
"""Of a model: they stand before its findings, and must not take their place. Characters of each."""


MOST_OTHERS: Final = 50
"""Findings that no gate is about, in one folded section."""

Piece = Callable[[], str]


@dataclass(frozen=True, slots=True)
class _Page:
    """The pieces of a page in their order. Where there is no room, those of `foldable` are dropped from the end, and
    `items` if that is not enough. What is dropped is never written: a thousand findings take as long as what fits.
    """

    head: Sequence[str]
    items: Sequence[Piece]
    foldable: Sequence[Piece]
    tail: Sequence[str]


def render(report: Report, page: Page) -> str:
    alone = ModelGate(report.workload.name, report, ())
    remarks = [remark for remark in report_remarks(report, page.repository) if remark.id != PARTIAL]
    first = answer(report)
    bound = [text(report.headline)] if first != report.headline else []
    head = [_first_line(first), *bound, model_table((alone,), is_gated=False)]
    items: list[Piece] = [*_warnings((alone,)), *(partial(_item, remark, has_models=False) for remark in remarks)]
    pieces = _Page(head, items, [partial(_details, alone)], _tail(again(report, page.repository)))
    return _fitted(pieces, page.most_bytes or COMMENT_BYTES)


def render_gate(gate: GateResult, page: Page) -> str:
    remarks = [each for each in gate_remarks(gate, page.repository) if not each.is_silenced and each.id != PARTIAL]
    has_models = len(gate.models) > 1
    gated = [partial(_item, remark, has_models=has_models) for remark in remarks if remark.is_gated]
    others = [partial(_item, remark, has_models=has_models) for remark in remarks if not remark.is_gated]
    head = [_first_line(gate.headline), _held_against(gate), model_table(gate.models, is_gated=True)]
    foldable: list[Piece] = [partial(_others, others)] if others else []
    foldable += [partial(_accepting, gate)] if gate.accept is not None else []
    foldable += [partial(_details, model) for model in gate.models]
    foldable += [partial(folded, "Notes", _list(gate.notes))] if gate.notes else []
    pieces = _Page(head, [*gated, *_warnings(gate.models)], foldable, _tail(gate.command))
    return _fitted(pieces, page.most_bytes or COMMENT_BYTES)


def render_runs(runs: ModelRuns, page: Page) -> str:
    """A table of the models, then what did not run and what was found, the worst first."""
    models = without_gates(runs).models
    remarks = [each for each in gate_remarks(without_gates(runs), page.repository) if each.id != PARTIAL]
    head = [_first_line(runs.headline), model_table(models, is_gated=False)]
    failed = [partial(_item, remark, has_models=True) for remark in remarks if remark.is_gated]
    found = [partial(_item, remark, has_models=True) for remark in remarks if not remark.is_gated]
    foldable = [partial(_details, model) for model in models if model.report is not None]
    pieces = _Page(head, [*failed, *_warnings(models), *found], foldable, _tail(runs.command))
    return _fitted(pieces, page.most_bytes or COMMENT_BYTES)


def answer(report: Report) -> str:
    """`2.8× faster with the attached plan` where that was measured; else the headline."""
    comparison = report.comparison
    is_faster = comparison is not None and comparison.outcome is Change.FASTER and not report.is_left_alone
    if comparison is None or not is_faster or report.partial is not None:
        return report.headline
    return f"{quantities.ratio(comparison.ratio)} faster with the attached plan"


def again(report: Report, repository: Repository) -> str:
    """The command that makes such a report at the root of the repository, as far as a report says how it was made."""
    source = repository.path(report.workload.source) or report.workload.source
    target = shell_path(source)
    mode = " --mode training" if report.workload.mode == "training" and not report.is_recorded else ""
    return f"analyze {target}{mode}"


def _first_line(words: str) -> str:
    return f"### {text(words, ANSWER_LIMIT)}"


def _item(remark: Remark, *, has_models: bool) -> str:
    facts = [f"**{remark.level.value}**"] if remark.is_gated else []
    if not remark.is_gated or remark.ns_per_step is not None:
        facts.append(f"**{text(cost_text(remark) or 'cost not known')}**")
    facts += [f"{quantities.count(remark.count)} times"] if remark.count > 1 else []
    facts += [remark.confidence.value] if remark.confidence is not None else []
    of = [code(remark.model, 60)] if has_models else []
    lines = [f"- {' '.join((*of, code(where_text(remark)), code(remark.id)))}: {', '.join(facts)}"]
    lines.append(f"  {text(remark.message)}")
    lines += [f"  *Suggestion:* {text(remark.remedy)}"] if remark.remedy else []
    return "<br>\n".join(lines)


def _details(model: ModelGate) -> str:
    return "\n\n".join(model_details(model))


def _others(items: Sequence[Piece]) -> str:
    more = len(items) - MOST_OTHERS
    lines = [item() for item in items[:MOST_OTHERS]] + ([f"- and {quantities.count(more)} more"] if more > 0 else [])
    return folded(f"Findings that no gate is about: {quantities.count(len(items))}", "\n".join(lines))


def _warnings(models: Sequence[ModelGate]) -> list[Piece]:
    """That a run ended early, and what of a trace cannot be believed."""
    said: list[Piece] = []
    for name, report in ((model.name, model.report) for model in models):
        of = name if len(models) > 1 else None
        if report is not None and report.partial is not None:
            said.append(partial(_warning, "Partial report", report.partial, of))
        honesty = report.honesty[:MOST_HONESTY] if report is not None else ()
        said += [partial(_warning, "To know", sentence, of) for sentence in honesty]
    return said


def _warning(title: str, words: str, of: str | None) -> str:
    return f"- {'' if of is None else f'{code(of, 60)} '}**{title}:** {text(words, WARNING_LIMIT)}"


def _held_against(gate: GateResult) -> str:
    return "Held against nothing yet." if gate.against is None else f"Held against {code(gate.against)}."


def _accepting(gate: GateResult) -> str:
    """The new baseline, to be checked in by whoever agrees with it."""
    lines = [plain_command(line, COMMAND_LIMIT) for line in (gate.accept or "").splitlines()]
    longest = max((len(line) - len(line.lstrip("~")) for line in (line.lstrip() for line in lines)), default=0)
    fence = "~" * max(3, longest + 1)
    body = "\n".join((f"Put this into {code(gate.accept_file or 'the baseline file')}:", "", fence, *lines, fence))
    return folded("The new baseline, to accept what changed", body)


def _list(sentences: Sequence[str]) -> str:
    return "\n".join(f"- {text(sentence)}" for sentence in sentences[:_NOTES])


def _tail(reproduce: str) -> list[str]:
    return [f"Reproduce:\n\n{command(reproduce)}", MARKER]


def _fitted(page: _Page, most_bytes: int) -> str:
    """The page in at most so many bytes. The head and the tail are bounded, and always there."""
    room = most_bytes - _size(*page.head, *page.tail) - _REST_BYTES
    items, room = _that_fit(page.items, room)
    foldable, room = _that_fit(page.foldable, room)
    left = [f"{quantities.count(n)} {what}" for n, what in _missing(page, items, foldable)]
    rest = [f"Left out, for want of room: {' and '.join(left)}. They are in the report."] if left else []
    body = "\n".join(items)
    return "\n\n".join((*page.head, *((body,) if body else ()), *foldable, *rest, *page.tail)) + "\n"


def _missing(page: _Page, items: Sequence[str], foldable: Sequence[str]) -> list[tuple[int, str]]:
    counted = (
        (len(page.items) - len(items), "of these remarks"),
        (len(page.foldable) - len(foldable), "sections of details"),
    )
    return [(number, what) for number, what in counted if number]


def _that_fit(pieces: Sequence[Piece], room: int) -> tuple[list[str], int]:
    """The first ones, until one does not fit: a worse one is never left out for a lesser one."""
    kept: list[str] = []
    for piece in pieces:
        written = piece()
        room -= _size(written)
        if room < 0:
            return kept, 0
        kept.append(written)
    return kept, room


def _size(*pieces: str) -> int:
    return sum(len(piece.encode()) + 2 for piece in pieces)


RENDERER: Final = Renderer(
    id="markdown",
    summary="a comment on a pull request, or a job's summary",
    render=render,
    render_gate=render_gate,
    render_runs=render_runs,
)
