"""One word of the report and its explanation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """`id` is the word as reports print it; `doc` a title, an empty line, and the sections that rules have."""

    id: str
    doc: str

    @property
    def title(self) -> str:
        return self.doc.strip().partition("\n")[0]
