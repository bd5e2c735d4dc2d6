"""The words of a verdict and of a budget, explained: what `analyze explain` prints for those that are no rule's id."""

from __future__ import annotations

from typing import Final

from analyzer.reporting.word import Word
from analyzer.reporting.words_host import HOST_WORDS
from analyzer.reporting.words_parts import PART_WORDS
from analyzer.reporting.words_path import PATH_WORDS
from analyzer.reporting.words_search import SEARCH_WORDS
from analyzer.reporting.words_verdicts import VERDICT_WORDS

WORDS: Final[tuple[Word, ...]] = (*VERDICT_WORDS, *PART_WORDS, *HOST_WORDS, *PATH_WORDS, *SEARCH_WORDS)
"""Verdicts first, then parts of a budget, then what the host does in the starved one, then the critical path, then the
search. A word stands once: `compute`, `memory` and `latency` are a verdict and the part it is named after."""


def word(name: str) -> Word | None:
    """The word of this name, however it is written (`launch calls`, `Launch-Calls`, `launch_calls`), or None."""
    wanted = plain_name(name)
    return next((found for found in WORDS if plain_name(found.id) == wanted), None)


def plain_name(name: str) -> str:
    return "_".join(name.replace("-", " ").replace("_", " ").lower().split())
