"""What a lost process said last, out of its log: the line it died at where Python saw it die, else its last lines; of
one that hangs, the line that it is at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

LAST_LINES: Final = 3
LONGEST: Final = 400
"""Characters: a hint, not a log."""

_FATAL: Final = re.compile(r"^Fatal Python error: (?P<what>.+)$", re.M)
_ANY_THREAD: Final = re.compile(r"^(?:Current thread|Thread) [^\n]*\n(?P<frames>(?:  [^\n]*\n?)+)", re.M)
_THREAD: Final = re.compile(r"^Current thread [^\n]*\n(?P<frames>(?:  [^\n]*\n?)+)", re.M)
_FRAME: Final = re.compile(r'^  File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>.+)$', re.M)


def last_words(log: str, folder: Path | None) -> str:
    """One line. Of a fatal error (faulthandler's format) the innermost frame in `folder`, else the innermost of all."""
    fatal = list(_FATAL.finditer(log))
    if fatal:
        what = fatal[-1]["what"].strip()
        thread = _THREAD.search(log, fatal[-1].end())
        frames = list(_FRAME.finditer(thread["frames"])) if thread else []
        mine = [f for f in frames if folder is not None and Path(f["file"]).is_relative_to(folder)]
        at = next(iter(mine or frames), None)
        return what if at is None else f"{what} at {_shown(at['file'])}:{at['line']} in {at['function']}"
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return " | ".join(lines[-LAST_LINES:])[:LONGEST]


def hung_at(log: str, folder: Path | None) -> str:
    """`net.py:12 in forward`, of what faulthandler wrote when it was asked: the innermost frame in `folder` of any
    thread, else that of the main one, which it writes last. Empty where it wrote nothing.
    """
    threads = [list(_FRAME.finditer(thread["frames"])) for thread in _ANY_THREAD.finditer(log)]
    frames = [frame for thread in reversed(threads) for frame in thread]
    mine = [f for f in frames if folder is not None and Path(f["file"]).is_relative_to(folder)]
    at = next(iter(mine or frames), None)
    return "" if at is None else f"{_shown(at['file'])}:{at['line']} in {at['function']}"


def _shown(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file
