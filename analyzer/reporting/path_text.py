"""What a report says of the critical path of a recorded trace, the same on every page that has it."""

from __future__ import annotations

from typing import Final

from analyzer.core import quantities
from analyzer.core.critical_path import CriticalPath, PathKind
from analyzer.reporting.plain_text import plain

MOST_SHOWN: Final = 3
"""Rows of the path that are named; the rest are in report.json."""

_NAME_LENGTH: Final = 60
_NAMED: Final = (PathKind.UNKNOWN, PathKind.LAUNCH, PathKind.SYNC)
"""Kinds of time that the name of a row alone would be mistaken for its own."""


def path_lines(path: CriticalPath | None) -> list[str]:
    """What the path leads through, and what is most on it; or why it is not known. Nothing without one."""
    if path is None:
        return []
    if path.missing is not None:
        return [f"not known: {path.missing}"]
    if not path.elapsed_ns:
        return []
    parts = ", ".join(f"{part.kind.value} {quantities.share(part.ns / path.elapsed_ns)}" for part in path.parts)
    over = f"{quantities.count(path.steps)} steps" if path.steps > 1 else "a step" if path.steps else "the recording"
    lines = [f"{parts} of {quantities.duration(path.elapsed_ns)} ({over}){_guessed(path)}"]
    for row in path.rows[:MOST_SHOWN]:
        name = plain(row.name, _NAME_LENGTH)
        times = f" in {quantities.count(row.count)}" if row.count > 1 else ""
        kind = f" ({row.kind.value})" if row.kind in _NAMED else ""
        lines.append(f"{quantities.duration(row.ns)}{times}: {name}{kind}")
    return lines


def _guessed(path: CriticalPath) -> str:
    if not path.guessed:
        return ""
    rows = quantities.counted(path.guessed, "device row")
    return f"; the recording has no launch call of {rows} on it, and what was waited for is guessed"
