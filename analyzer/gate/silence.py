"""`# graphbound: ignore[RULE]` on a line of the user's source takes the findings of that rule at that line out."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from analyzer.core.gate import SilencedFinding
from analyzer.core.graphs import SourceLine
from analyzer.core.report import Report
from analyzer.core.spelling import did_you_mean

_COMMENT: Final = re.compile(r"#\s*graphbound\s*:\s*ignore\b(?:\s*\[(?P<rules>[^\]]*)\])?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Silence:
    """One comment: the rules it names at its line."""

    where: SourceLine
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Silences:
    """`notes` are the comments that do nothing, and why."""

    found: tuple[Silence, ...] = ()
    notes: tuple[str, ...] = ()

    def holds(self, rule: str, where: SourceLine | None) -> bool:
        return where is not None and any(
            (silence.where.file, silence.where.line) == (where.file, where.line) and rule in silence.rules
            for silence in self.found
        )

    def of(self, report: Report) -> tuple[SilencedFinding, ...]:
        return tuple(
            SilencedFinding(finding.rule, finding.where)
            for finding in report.findings
            if finding.where is not None and self.holds(finding.rule, finding.where)
        )


def read_silences(file: str, source: str, known: Iterable[str]) -> Silences:
    """The comments in one file. Only a comment counts, no text that looks like one; a file that is no Python has none.

    `known` are the ids of all rules.
    """
    found: list[Silence] = []
    notes: list[str] = []
    rules = tuple(known)
    for line, comment in _comments(source):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        named = tuple(name.strip() for name in (match["rules"] or "").split(",") if name.strip())
        if not named:
            notes.append(f"{file}:{line}: `graphbound: ignore` names no rule, and silences none: write ignore[RULE]")
        notes += [_unknown(f"{file}:{line}", name, rules) for name in named if name not in rules]
        found.append(Silence(SourceLine(file, line), tuple(name for name in named if name in rules)))
    return Silences(tuple(found), tuple(notes))


def joined(parts: Iterable[Silences]) -> Silences:
    every = tuple(parts)
    return Silences(
        tuple(silence for part in every for silence in part.found), tuple(note for part in every for note in part.notes)
    )


def _comments(source: str) -> list[tuple[int, str]]:
    comments: list[tuple[int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError):  # what came before it still counts
        return comments
    return comments


def _unknown(place: str, name: str, known: tuple[str, ...]) -> str:
    hint = did_you_mean(name, known) or "`analyze explain` lists the rules"
    return f"{place}: there is no rule {name!r} to ignore: {hint}"
