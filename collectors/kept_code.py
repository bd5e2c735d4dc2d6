"""The code that Inductor generated while a model was compiled, kept until somebody asks for it."""

from __future__ import annotations

from typing import Final

from analyzer.core.generated_code import GeneratedCode
from analyzer.core.graphs import GraphKey

MOST_CODE_BYTES: Final = 2 << 20
"""Of one graph: forty layers of a transformer have 0.5 MB. More is cut, and said."""

MOST_RUN_BYTES: Final = 16 << 20
"""Of all graphs of one compilation, some 2 MB in gzip."""


class KeptCode:
    """Keeps the first code of each graph: what a later capture of the same graph is given differs in names alone.

    With a `candidate`, only of what is compiled under it.
    """

    def __init__(self, candidate: str | None = None) -> None:
        self._candidate = candidate
        self._codes: dict[GraphKey, GeneratedCode] = {}
        self._left_bytes = MOST_RUN_BYTES

    def add(self, key: GraphKey, candidate: str, code: str) -> None:
        if key in self._codes or not self.is_of(candidate):
            return
        code_bytes = len(code.encode("utf-8", "replace"))
        text = _beginning(code, min(MOST_CODE_BYTES, self._left_bytes))
        self._left_bytes -= len(text.encode("utf-8", "replace"))
        self._codes[key] = GeneratedCode(key, text, code_bytes)

    def is_of(self, candidate: str) -> bool:
        return self._candidate in (None, candidate)

    def codes(self) -> tuple[GeneratedCode, ...]:
        return tuple(self._codes.values())


def _beginning(code: str, most_bytes: int) -> str:
    """All of it, or the whole lines that fit."""
    data = code.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return data.decode()
    return data[: data.rfind(b"\n", 0, most_bytes) + 1].decode()
