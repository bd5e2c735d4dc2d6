"""`# graphbound: ignore[RULE]` on a line of the user's source takes the findings of that rule at that line out; on the
first or the last line of a statement of several lines, those of the whole statement."""

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

# After a quote or a backtick it is spoken of, and not meant.
_COMMENT: Final = re.compile(r"(?<![^\s#])#\s*graphbound\s*:\s*ignore\b(?:\s*\[(?P<rules>[^\]]*)\])?", re.IGNORECASE)

_NO_CODE: Final = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True)
class Silence:
    """One comment: the rules it names at its line, or on the lines from `where` to `last`."""

    where: SourceLine
    rules: tuple[str, ...]
    last: int | None = None

    def covers(self, where: SourceLine) -> bool:
        last = self.where.line if self.last is None else self.last
        return self.where.file == where.file and self.where.line <= where.line <= last


@dataclass(frozen=True, slots=True)
class Silences:
    """`notes` are the comments that do nothing, and why."""

    found: tuple[Silence, ...] = ()
    notes: tuple[str, ...] = ()

    def holds(self, rule: str, where: SourceLine | None) -> bool:
        return where is not None and any(silence.covers(where) and rule in silence.rules for silence in self.found)

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
    for line, comment, spoken_of in _comments(source):
        matches = tuple(_COMMENT.finditer(comment))
        if not matches:
            continue
        if spoken_of is None:
            if comment[: matches[0].start()].strip("# \t"):
                continue  # a sentence that mentions it, or a line of code that was taken out
            notes.append(
                f"{file}:{line}: `graphbound: ignore` stands on a line of its own, and silences none: put it at the "
                "end of the line that it is for"
            )
            continue
        texts = ",".join(match["rules"] or "" for match in matches)
        named = tuple(name.strip() for name in texts.split(",") if name.strip())
        if not named:
            notes.append(f"{file}:{line}: `graphbound: ignore` names no rule, and silences none: write ignore[RULE]")
        notes += [_unknown(f"{file}:{line}", name, rules) for name in named if name not in rules]
        first, last = spoken_of
        found.append(Silence(SourceLine(file, first), tuple(name for name in named if name in rules), last))
    return Silences(tuple(found), tuple(notes))


def joined(parts: Iterable[Silences]) -> Silences:
    every = tuple(parts)
    return Silences(
        tuple(silence for part in every for silence in part.found), tuple(note for part in every for note in part.notes)
    )


def _comments(source: str) -> list[tuple[int, str, tuple[int, int] | None]]:
    """Each comment with its line, and the lines that it speaks of: its own, or those of the statement that begins or
    ends there; None of one on a line of its own.
    """
    comments: list[tuple[int, str, bool]] = []
    statements: list[tuple[int, int]] = []
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                is_alone = not token.line[: token.start[1]].strip()
                comments.append((token.start[0], token.string, is_alone))
            elif token.type == tokenize.NEWLINE:
                statements += [(first, token.start[0])] if first is not None else []
                first = None
            elif token.type not in _NO_CODE and first is None:
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):  # what came before it still counts
        pass
    ends = {line: statement for statement in statements for line in statement}
    return [(line, text, None if is_alone else ends.get(line, (line, line))) for line, text, is_alone in comments]


def _unknown(place: str, name: str, known: tuple[str, ...]) -> str:
    hint = did_you_mean(name, known) or "`analyze explain` lists the rules"
    return f"{place}: there is no rule {name!r} to ignore: {hint}"
