"""Makes names and messages of a user's program harmless on every page. Escapes for no format: that is the format's
own task.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

COMMAND_LIMIT: Final = 2_000
"""Characters of a command. It is to be copied: it is never cut, short of what a page could hold."""
NAME_LIMIT: Final = 200
"""Characters of a name that are shown; C++ kernel names pass 2,000 (trace quirk 40)."""

MESSAGE_LINES: Final = 40
MESSAGE_WIDTH: Final = 1_000
"""Lines and characters a line of an error message that are shown: torch's own can be pages long."""

ELLIPSIS: Final = "…"

WHOLE_NAME: Final = 4_000
"""Characters of a name where it is shown whole. The longest of the public traces has 2,200 (trace quirk 40)."""

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that draw nothing and may steer a terminal or reorder a line: controls and escapes, bidirectional
and zero-width marks, lone surrogates, private use, line and paragraph separators."""


_NONCHARACTER: Final = re.compile(
    f"[\ufdd0-\ufdef{''.join(chr(p << 16 | e) for p in range(17) for e in (0xFFFE, 0xFFFF))}]"
)
"""What no text may hold, and XML cannot."""


def plain(text: str, limit: int = NAME_LIMIT) -> str:
    """`text` on one line: white space as single spaces, what cannot be seen as `\\x1b` or `\\u202e`, at most `limit`
    characters, the last an ellipsis where something was cut.
    """
    # Cut before the loop too: a message can be a megabyte long. No character becomes less than one.
    words = " ".join(text[: 4 * limit].split())[: limit + 1]
    # What Python calls printable has none of the hidden categories, and is found a hundred times as fast.
    shown = words if words.isprintable() else "".join(escaped(c) if _is_hidden(c) else c for c in words)
    is_cut = len(shown) > limit or len(text) > 4 * limit
    return shown[: limit - 1] + ELLIPSIS if is_cut else shown


def plain_command(text: str, limit: int) -> str:
    """A command to copy: like `plain`, with its white space as it is, since two spaces may be in a name."""
    kept = text[:limit]
    shown = kept if kept.isprintable() else "".join(escaped(c) if _is_hidden(c) else c for c in kept)
    return shown[: limit - 1] + ELLIPSIS if len(text) > limit or len(shown) > limit else shown


def plain_lines(text: str, limit: int = MESSAGE_LINES) -> str:
    """Like `plain`, with the lines of `text` kept, at most `limit` of them."""
    lines = text.splitlines()
    shown = [plain(line, MESSAGE_WIDTH) for line in lines[:limit]]
    return "\n".join(shown + [f"{ELLIPSIS} ({len(lines) - limit} more lines)"] * (len(lines) > limit))


def plain_code(text: str) -> str:
    """Source code with its lines and white space, nothing cut: only what cannot be seen becomes an escape."""
    return "\n".join(
        line if line.isprintable() else "".join(escaped(c) if c != "\t" and _is_hidden(c) else c for c in line)
        for line in text.split("\n")
    )


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or _NONCHARACTER.match(character) is not None


def escaped(character: str) -> str:
    """The Python escape of one character: `\\x1b`, `\\u202e`, `\\U000e0001`."""
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def file_name(path: str) -> str:
    """The last part of a path of either kind of machine; the report may be read on another one."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2] or path
