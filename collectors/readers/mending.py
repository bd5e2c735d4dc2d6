"""Mends the text of one event that is not JSON, in the ways in which profilers are known to break it."""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from collectors.readers.events import FAILURES, Event, decode_one

LONGEST: Final = 1 << 18
"""Bytes of one event that is worth mending; the longest real one seen has 60 kB."""
MOST_FAILURES: Final = 500
"""Rows of a file that nothing mends, 0.2 ms each, after which it is taken for garbage."""

_CONTROLS: Final = bytes(range(32))
_TO_SPACES: Final = bytes.maketrans(_CONTROLS, b" " * len(_CONTROLS))
_BAD_ESCAPE: Final = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_SURROGATES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_BROKEN_FRACTION: Final = re.compile(rb"(?<=[:\s])(-?)([0-9]{1,20})\.-([0-9]{1,9})(?=\s*+[,}])")
_LOST_QUOTE: Final = re.compile(rb'([,{]\s*+)((?:tid|pid|ts|dur|name|cat|ph|args)"\s*+:)')
_NO_NUMBER: Final = re.compile(rb"(?<=[:,\[\s])-?(?:NaN|nan|Infinity|inf|Inf)(?=\s*+[,}\]])")
_NO_NUMBERS: Final = (b"NaN", b"nan", b"Inf", b"inf")
_SPARE_COMMA: Final = re.compile(rb",(\s*+[}\]])")
_NAME: Final = re.compile(
    rb'("name"\s*+:\s*+")(.{0,20000}?)("\s*+(?:\}|,\s*+"(?:ph|cat|pid|tid|ts|dur|args|id|s|bp)"\s*+:))', re.DOTALL
)
_BARE_QUOTE: Final = re.compile(rb'(?<!\\)"')


@dataclass(slots=True)
class Mender:
    """Mends rows of one file. It tries first what helped last: a file is broken in one way throughout, if at all."""

    failures: int = 0
    _favourite: tuple[int, ...] = ()

    @property
    def has_given_up(self) -> bool:
        """Whether so many rows could not be mended that trying more would only cost time."""
        return self.failures >= MOST_FAILURES

    def mend(self, text: bytes) -> tuple[Event | None, tuple[str, ...]] | None:
        """The event in this text, and what had to be mended, a clause each that reads on after a number of rows.

        The event is None where the text is JSON but no event. None altogether where nothing helps.
        """
        if len(text) > LONGEST or self.has_given_up:
            return None
        for order in (self._favourite, _EVERY) if self._favourite else (_EVERY,):
            found = _tried(text, order)
            if found is not None:
                event, self._favourite = found
                return event, tuple(_MENDS[i][0] for i in self._favourite)
        self.failures += 1
        return None


def _tried(text: bytes, order: tuple[int, ...]) -> tuple[Event | None, tuple[int, ...]] | None:
    done = []
    for i in order:
        changed = _MENDS[i][1](text)
        if changed == text:
            continue
        text = changed
        done.append(i)
        try:
            return decode_one(text), tuple(done)
        except FAILURES:
            continue
    return None


def _escapes(text: bytes) -> bytes:
    return _BAD_ESCAPE.sub(lambda m: m[0] if len(m[0]) > 1 else rb"\\", text)


def _surrogates(text: bytes) -> bytes:
    lone, replacement = len(rb"\ud800"), rb"\ufffd"
    return _SURROGATES.sub(lambda m: replacement if len(m[0]) == lone else m[0], text)


def _quotes(text: bytes) -> bytes:
    return _NAME.sub(lambda m: m[1] + _BARE_QUOTE.sub(rb'\\"', m[2]) + m[3], text)


def _numbers(text: bytes) -> bytes:
    # A search that begins with what stands before it looks at every character: 40 ns for each of a hostile hundred
    # thousand.
    if not any(word in text for word in _NO_NUMBERS):
        return text
    return _NO_NUMBER.sub(b"null", text)


def _fraction(text: bytes) -> bytes:
    if b".-" not in text:
        return text
    # Whole and fraction were each printed with a sign (kineto PR#910): -0.660 came out as `0.-660`.
    return _BROKEN_FRACTION.sub(_sum, text)


def _sum(parts: re.Match[bytes]) -> bytes:
    whole, fraction = (decimal.Decimal(part.decode("ascii")) for part in (parts[1] + parts[2], b"0." + parts[3]))
    return str(whole - fraction).encode("ascii")


_MENDS: Final[tuple[tuple[str, Callable[[bytes], bytes]], ...]] = (
    ("names held raw control characters, which became spaces", lambda t: t.translate(_TO_SPACES)),
    ("names held bytes that are not UTF-8, which were replaced", lambda t: t.decode("utf-8", "replace").encode()),
    ("names held backslashes that are no escape, which were kept", _escapes),
    ("names held half a surrogate pair, which was replaced", _surrogates),
    ("times had a fraction with a sign of its own (`0.-660`), which was subtracted", _fraction),
    ("rows had a key without its opening quote", lambda t: _LOST_QUOTE.sub(rb'\1"\2', t)),
    ("rows held NaN or Infinity, which were read as absent", _numbers),
    ("rows had a comma too many", lambda t: _SPARE_COMMA.sub(rb"\1", t)),
    ("names held quotes that were not escaped", _quotes),
)
_EVERY: Final = tuple(range(len(_MENDS)))
