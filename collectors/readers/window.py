"""A window that moves over a text, and reads JSON values one after another without holding more than one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_SPACE: Final = re.compile(rb"[ \t\r\n\0]*+")
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_BRACKET: Final = re.compile(rb'(?:[^\[\]{}"]++|' + _STRING.pattern + rb')*+([\[\]{}"]|\Z)', re.DOTALL)
"""The next bracket outside of strings, the quote that opens one without an end, or the end: not to match at
all would have it tried again from each character on."""
_PLAIN: Final = re.compile(rb"[^\s,\]}\"\[{:]++")
_STEP: Final = 1 << 16
_DEEPEST: Final = 500
"""Levels of nesting, past which no decoder would read the value: Python stops at 1,000."""


class NotJsonError(Exception):
    """`byte` is where, in the text; `is_cut` whether the text simply ends there."""

    def __init__(self, byte: int, *, is_cut: bool = False) -> None:
        super().__init__(byte)
        self.byte = byte
        self.is_cut = is_cut


class Window:
    """`at` is the byte of the whole text that the window begins with."""

    def __init__(self, blocks: Iterator[bytes], longest_value: int) -> None:
        self._buffer = b""
        # What lies before it was read already; cut off when more is taken in, as cutting copies.
        self._begin = 0
        self._buffer_at = 0
        self._blocks = blocks
        self._longest_value = longest_value
        self.is_over = False
        """Whether the window reaches to the end of the text."""
        self.hole_bytes = 0
        """NUL characters between values, as a file has them where nothing was written."""

    @property
    def at(self) -> int:
        return self._buffer_at + self._begin

    @property
    def end(self) -> int:
        """The byte of the whole text that the window ends before."""
        return self._buffer_at + len(self._buffer)

    def __len__(self) -> int:
        return len(self._buffer) - self._begin

    def text(self) -> bytes:
        return self._buffer[self._begin :] if self._begin else self._buffer

    def fill(self, size: int) -> None:
        """Makes the window at least this long, where the text is."""
        missing = size - len(self)
        if missing <= 0 or self.is_over:
            return
        self._buffer_at += self._begin
        pieces = [self._buffer[self._begin :]]
        self._begin = 0
        while missing > 0:
            block = next(self._blocks, None)
            if block is None:
                self.is_over = True
                break
            pieces.append(block)
            missing -= len(block)
        self._buffer = b"".join(pieces)

    def skip(self, count: int) -> None:
        self._begin += count

    def give_back(self, text: bytes) -> None:
        """Puts text in front that was taken before."""
        self._buffer_at = self.at - len(text)
        self._buffer = text + self._buffer[self._begin :]
        self._begin = 0

    def peek(self) -> bytes:
        """The next character that is no space, and the window begins with it; empty at the end."""
        while True:
            self.fill(_STEP)
            end = _SPACE.match(self._buffer, self._begin).end()  # type: ignore[union-attr]
            self.hole_bytes += self._buffer.count(b"\0", self._begin, end)
            self._begin = end
            if self._begin < len(self._buffer) or self.is_over:
                return self._buffer[self._begin : self._begin + 1]

    def take(self, character: bytes) -> None:
        """Skips this character. Raises NotJsonError where another stands."""
        found = self.peek()
        if found != character:
            raise NotJsonError(self.at, is_cut=not found)
        self.skip(1)

    def value(self) -> bytes:
        """The next JSON value's text. Its inside is not looked at. Raises NotJsonError."""
        first = self.peek()
        while True:
            end = self._end_of_value(first)
            # A number or word at the very end of the window may go on.
            if end is not None and (end < len(self._buffer) or self.is_over):
                text = self._buffer[self._begin : end]
                self._begin = end
                return text
            if self.is_over or len(self) > self._longest_value:
                raise NotJsonError(self.end, is_cut=self.is_over)
            self.fill(max(len(self) * 2, _STEP))

    def _end_of_value(self, first: bytes) -> int | None:
        """Its place in the buffer; None where the window ends before it."""
        if first == b'"':
            found = _STRING.match(self._buffer, self._begin)
            return found.end() if found else None
        if first not in (b"{", b"["):
            found = _PLAIN.match(self._buffer, self._begin)
            if not found:
                raise NotJsonError(self.at, is_cut=not first)
            return found.end()
        depth = 0
        # 0.2 µs a bracket, for what stands beside the events: a few kilobytes.
        for bracket in _BRACKET.finditer(self._buffer, self._begin):
            match bracket[1]:
                case b"{" | b"[":
                    depth += 1
                    if depth > _DEEPEST:
                        raise NotJsonError(self._buffer_at + bracket.start(1))
                case b"}" | b"]":
                    depth -= 1
                    if not depth:
                        return bracket.end()
                case _:
                    # The window has not the end of a string, or of the value.
                    return None
        return None
