"""What a runner reads of a step: commands in its log, and the files that it writes values into."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MOST_OF_A_LEVEL: Final = 10
"""Annotations of one level that GitHub keeps of a step."""

_COMMAND: Final = re.compile(r"^::(?P<name>[a-z-]+)(?: (?P<properties>[^:]*(?::(?!:)[^:]*)*))?::(?P<message>.*)$")
_LEVELS: Final = ("error", "warning", "notice")


@dataclass(frozen=True, slots=True)
class Annotation:
    """`file` and `line` are None of one that belongs to no line."""

    level: str
    title: str
    message: str
    file: str | None
    line: int | None


def annotations(log: str) -> tuple[Annotation, ...]:
    """Those that are kept of a step, in order. Between `stop-commands` and its word nothing is one."""
    found: list[Annotation] = []
    kept: Counter[str] = Counter()
    stopped: str | None = None
    for line in log.splitlines():
        if stopped is not None:
            stopped = None if line == f"::{stopped}::" else stopped
            continue
        match = _COMMAND.match(line)
        if match is None:
            continue
        if match["name"] == "stop-commands":
            stopped = match["message"]
        elif match["name"] in _LEVELS and kept[match["name"]] < MOST_OF_A_LEVEL:
            kept[match["name"]] += 1
            found.append(_annotation(match["name"], match["properties"] or "", match["message"]))
    return tuple(found)


def file_values(path: Path) -> dict[str, str]:
    """The values of a file like `$GITHUB_OUTPUT`: `name=value`, or `name<<WORD` and lines until the word."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    values: dict[str, str] = {}
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        name, sign, rest = line.partition("<<") if "<<" in line.partition("=")[0] else line.partition("=")
        if not sign:
            raise ValueError(f"no value in {line!r}")
        if sign == "=":
            values[name] = rest
            continue
        end = lines.index(rest, at)
        values[name] = "\n".join(lines[at:end])
        at = end + 1
    return values


def _annotation(level: str, properties: str, message: str) -> Annotation:
    named = dict(part.partition("=")[::2] for part in properties.split(",") if part)
    line = named.get("line")
    return Annotation(
        level=level,
        title=_value(named.get("title", "")),
        message=_plain(message),
        file=_value(named["file"]) if "file" in named else None,
        line=int(line) if line else None,
    )


def _plain(text: str) -> str:
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")


def _value(text: str) -> str:
    return _plain(text.replace("%3A", ":").replace("%2C", ","))
