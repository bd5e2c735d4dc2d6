"""Takes the folders of a machine out of what is published: an error's text names files where they lay."""

from __future__ import annotations

import re
from typing import Final

_NAME: Final = r"[\w.+@%~-]"
_POSIX: Final = re.compile(rf"(?<![\w.:/~-])(?:file://|~)?/(?:{_NAME}+/)+(?P<name>{_NAME}*)")
_WINDOWS: Final = re.compile(r"\b[A-Za-z]:(?:\\{1,2}[^\\\s\"':|<>]+)*\\{1,2}(?P<name>[^\\\s\"':|<>]*)")
"""One backslash or, as JSON writes it, two."""


def without_paths(text: str) -> str:
    """`text` with every absolute path of two parts or more cut to its last part. URLs and relative paths stay."""
    for pattern in (_POSIX, _WINDOWS):
        text = pattern.sub(_last, text)
    return text


def _last(path: re.Match[str]) -> str:
    return path["name"] or "…"
