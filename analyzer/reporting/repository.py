"""Which file of the user's repository a source line is in, as a code host writes it. Reads no file: whoever renders
says where the repository lies, and what its lines say.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import SourceLine

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""An environment may lie inside the checkout; what is installed there is nobody's to change."""


@dataclass(frozen=True, slots=True)
class LineText:
    """What a line of the user's source says, without the white space around it."""

    where: SourceLine
    text: str


@dataclass(frozen=True, slots=True)
class Repository:
    """`roots` are the absolute paths of its root, as it is reached and with links resolved; empty: it is not known.
    `folder` is the absolute one that relative paths start from. `lines` are those whose text is known.
    """

    roots: tuple[str, ...] = ()
    folder: str = "/"
    lines: tuple[LineText, ...] = ()

    def path(self, file: str) -> str | None:
        """The path of a file from the root, with `/`. None for one that lies elsewhere, is installed or is no file."""
        if not file or file.startswith("<"):  # `<string>`, `<eval_with_key>.1`
            return None
        whole = posixpath.normpath(posixpath.join(self.folder, file))
        for root in self.roots:
            inside = whole.removeprefix(root.rstrip("/") + "/")
            if inside != whole:
                return None if INSTALLED.intersection(inside.split("/")) else inside
        return None

    def text(self, where: SourceLine) -> str | None:
        """What the line says; None where it was not read."""
        return next((line.text for line in self.lines if line.where == where), None)


NO_REPOSITORY: Final = Repository()
