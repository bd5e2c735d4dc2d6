"""The code that Inductor generated: as a session hands it over, and as a run folder keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.graphs import GraphKey


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """What Inductor wrote for one graph. `text` is its beginning, in whole lines, where less is kept than the
    `code_bytes` of all of it (UTF-8).
    """

    key: GraphKey
    text: str
    code_bytes: int


@dataclass(frozen=True, slots=True)
class StoredCode:
    """What a run folder keeps of the code of one graph under one candidate.

    `file` is a path within the folder, of gzip; None where the run's room for code was used up. `kept_bytes` of its
    `code_bytes` are in it, both before gzip.
    """

    key: GraphKey
    candidate: str
    file: str | None
    code_bytes: int
    kept_bytes: int

    @property
    def is_cut(self) -> bool:
        return self.kept_bytes < self.code_bytes
