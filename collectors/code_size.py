"""How much code Inductor wrote for a graph, counted so that the same graph gives the same number anywhere."""

from __future__ import annotations

import re
from typing import Final

_PATH: Final = re.compile(r"(?<=['\"])/[^'\"\n]*(?=['\"])")
"""An absolute path in quotes: the cache folder of whoever compiled it."""

_HASH: Final = re.compile(r"\b(?:c[0-9a-z]{51}|[0-9a-f]{32,64})\b")
"""Names of cached files and hashes of the back end: of one length within a release, and no code."""


def code_bytes(code: str) -> int:
    """The bytes of its lines, without comments, paths, hashes, indentation and empty lines.

    Comments hold the user's source and paths: a renamed variable is no more code.
    """
    lines = (line.strip() for line in code.splitlines())
    kept = (
        line
        for line in lines
        if (line and not line.startswith(("#", "//"))) or line.startswith(("#include", "#pragma"))
    )
    return sum(len(_HASH.sub("", _PATH.sub("", line)).encode()) for line in kept)
