"""Names as they stand beside each other on a page: those that would look alike are written so that they do not.

Escapes nothing for HTML.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from analyzer.reporting.plain_text import escaped, plain

SPACE: Final = "␣"
"""U+2423, made for this."""
SHORT: Final = 80
"""Characters of a name among others; a file system takes 255 bytes of one."""
LONGEST: Final = 2_000
"""Of a name that is escaped: each of its bytes may become ten characters."""
_PRINTED: Final = range(0x21, 0x7F)
"""ASCII without the space and the controls."""


@dataclass(frozen=True, slots=True)
class ToldApart:
    """How each of some names is shown; `of` any other as if it stood alone."""

    shown: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        return self.shown.get(name) or plain(name, SHORT)


ALONE: Final = ToldApart()
"""Each as if it stood alone."""


def told_apart(names: Iterable[str], most: int = SHORT) -> ToldApart:
    """Each in at most `most` characters where that tells it from the others; else with its white space seen and as long
    as it is; else with all that is not plain ASCII as an escape, which no two names of a file share.
    """
    left = each = list(dict.fromkeys(names))
    shown: dict[str, str] = {}
    for way, longest in ((_as_ever, most), (_with_spaces, LONGEST)):
        looks = {name: way(name, longest) for name in left}
        seen = Counter(_look(text) for text in [*looks.values(), *shown.values()])
        shown |= {name: text for name, text in looks.items() if text and seen[_look(text)] == 1}
        left = [name for name in left if name not in shown]
    shown |= {name: _escaped(name) for name in left}
    if len({_look(text) for text in shown.values()}) < len(each):  # one is called what another is written as
        shown = {name: _escaped(name) for name in each}
    return ToldApart(shown)


def _as_ever(name: str, most: int) -> str:
    return plain(name, most)


def _with_spaces(name: str, most: int) -> str:
    """Spaces as SPACE, other white space as its escape, the rest as ever."""
    parts = [SPACE if c == " " else escaped(c) if c.isspace() else c for c in name]
    return plain("".join(parts), most)


def _escaped(name: str) -> str:
    """Without ambiguity: a backslash is doubled, so that none is taken for the beginning of an escape."""
    parts = [
        "\\\\" if c == "\\" else SPACE if c == " " else c if ord(c) in _PRINTED else escaped(c) for c in name[:LONGEST]
    ]
    return "".join(parts)[:LONGEST]


def _look(text: str) -> str:
    """What two texts that a person cannot tell apart have in common, as composed and decomposed letters."""
    return unicodedata.normalize("NFKC", text)
