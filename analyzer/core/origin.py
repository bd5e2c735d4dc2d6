"""When a run began, and which commit of the user's repository it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHORT_HASH: Final = 7
"""Characters of a hash that are shown: git's own least."""


@dataclass(frozen=True, slots=True)
class Commit:
    """`hash` is whole. `is_dirty`: a file that git follows differed from it; None where that could not be asked.

    A file that git does not follow makes no commit dirty: the folders of runs are such.
    """

    hash: str
    is_dirty: bool | None

    @property
    def short(self) -> str:
        """`1a2b3c4`, with a `+` behind it where files differed from it."""
        return self.hash[:SHORT_HASH] + ("+" if self.is_dirty else "")


@dataclass(frozen=True, slots=True)
class Origin:
    """`began_s` counts seconds since 1970, UTC. `commit` None: the code lies in no repository, or git is not there."""

    began_s: int
    commit: Commit | None = None
