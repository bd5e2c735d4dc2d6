"""A sentence of the program as it stands on the page: what it has between backticks is set as code."""

from __future__ import annotations

import re
from typing import Any, Final

from dash import html

_CODE: Final = re.compile(r"`([^`\n]+)`")


def prose(text: str) -> Any:
    """The children of an element: the text itself where it has nothing between backticks, else its pieces in order."""
    pieces = _CODE.split(text)
    if len(pieces) == 1:
        return text
    # `split` gives what lies between matches at even places and the group of each match at odd ones.
    return [html.Code(piece) if at % 2 else piece for at, piece in enumerate(pieces) if piece]
