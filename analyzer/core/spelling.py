"""What was meant by a name that is none."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like it; None where none is near."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean eager?`; None where nothing is near."""
    near = nearest(name, known)
    return None if near is None else f"did you mean {near}?"
