"""`analyze check --comment`: what was found, as one comment on the pull request, and a line on what became of it."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from analyzer.commands.output import print_text_to, surroundings

if TYPE_CHECKING:
    from analyzer.code_host.comment import Posted
    from analyzer.core.gate import GateResult


def comment_on(gate: GateResult, name: str) -> None:
    """Write the comment, or say on stderr why not. A change that did nothing begins none, and ends an older one."""
    # The network's modules: `analyze --help` does without.
    from analyzer.code_host.comment import marker, post_comment

    mark = marker(name, os.environ)
    posted = post_comment(comment_body(gate, mark, name), mark, os.environ, is_news=is_news(gate))
    text = said(posted)
    if text is not None and sys.stderr is not None:
        print_text_to(sys.stderr, text)


def comment_body(gate: GateResult, mark: str, name: str = "") -> str:
    """The Markdown of a gate with the mark of its job, no longer than the host takes. `name` is shown: the comments of
    a matrix are read beside each other.
    """
    from analyzer.reporting.markdown import COMMENT_BYTES
    from analyzer.reporting.markdown_text import code
    from analyzer.reporting.renderers import renderer

    render_gate = renderer("markdown").render_gate
    assert render_gate is not None
    end = f"{f'Of the job {code(name)}.{chr(10) * 2}' if name else ''}{mark}\n"
    page = replace(surroundings(gate), most_bytes=COMMENT_BYTES - len(end.encode()))
    return f"{render_gate(gate, page)}{end}"


def is_news(gate: GateResult) -> bool:
    """Whether anything failed, warned or became better."""
    from analyzer.core.gate import GateStatus

    return any(
        not model.has_passed
        or bool(model.warnings)
        or any(check.status is GateStatus.IMPROVED for check in model.checks)
        for model in gate.models
    )


def said(posted: Posted) -> str | None:
    """A line for the log, on a runner one that is shown on the page of the run; None where there is nothing to say."""
    from analyzer.code_host.comment import Outcome
    from analyzer.reporting.github import data
    from analyzer.reporting.plain_text import plain

    match posted.outcome:
        case Outcome.NOT_POSTED:
            text = f"no comment was written: {plain(posted.reason or 'the host did not say why')}"
            if os.environ.get("GITHUB_ACTIONS") == "true":
                return f"::notice title=Graphbound::{data(text)}\n"
            return f"note: {text}\n"
        case Outcome.CREATED | Outcome.UPDATED | Outcome.UNCHANGED:
            return f"comment {posted.outcome.value}{f': {plain(posted.url)}' if posted.url else ''}\n"
        case Outcome.NOT_NEEDED:
            return None
        case _:
            assert_never(posted.outcome)
