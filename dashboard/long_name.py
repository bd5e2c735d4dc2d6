"""A name that is too long for its place: what tells it from others stands there, the whole of it is folded below."""

from __future__ import annotations

import re
from typing import Any, Final

from dash import html

from analyzer.reporting.plain_text import ELLIPSIS, WHOLE_NAME, plain

FOLDED: Final = 90
"""Characters from which a name is folded: five lines of the first column of a table on a telephone."""

_SAID_OFTEN: Final = re.compile(r"^void |\bat::native::|\(anonymous namespace\)::|\bc10::|\bstd::")
"""What begins most names of PyTorch's kernels, and tells none of them from another."""


def name_parts(name: str) -> list[Any]:
    """The children of an element that shows this name: its text, or a fold with the whole of it where it is long."""
    whole = plain(name, WHOLE_NAME)
    if len(whole) <= FOLDED:
        return [whole]
    summary = html.Summary(short_name(whole), title=whole)
    return [html.Details([summary, html.Div(whole, className="gb-whole", tabIndex=0)], className="gb-long")]


def short_name(name: str) -> str:
    """A name in at most FOLDED characters, ending in an ellipsis where something of it is missing."""
    whole = plain(name, WHOLE_NAME)
    if len(whole) <= FOLDED:
        return whole
    told = _SAID_OFTEN.sub("", whole)
    return plain(told, FOLDED) if len(told) > FOLDED else told[: FOLDED - 1] + ELLIPSIS
