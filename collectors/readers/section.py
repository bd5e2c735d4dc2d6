"""The array of events in a file: cut into chunks, decoded, and mended where it is broken."""

from __future__ import annotations

import re
from collections import deque
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby, islice, pairwise
from operator import itemgetter
from typing import Final

from analyzer.core.trace_facts import Damage
from collectors.readers.assembly import Gathered
from collectors.readers.borders import LOOSE, guessed_border, structure
from collectors.readers.chunks import Piecewise, whole_parts
from collectors.readers.columns import Part
from collectors.readers.mending import Mender
from collectors.readers.pool import DecodingPool
from collectors.readers.settings import ReadSettings
from collectors.readers.window import Window

_RESTART: Final = re.compile(rb'"(?:traceEvents|schemaVersion)"\s*+:')
_ARRAY_END: Final = re.compile(rb"\}\s*+\]")
_ANY_BORDER: Final = re.compile(rb"\}\s*+,?+\s*+(?=\{)")
_AROUND: Final = b" \t\r\n,\0"
_MOST_JOINS: Final = 4
"""How many pieces an event may fall into at borders that are inside it: objects in its arguments."""


class Section:
    """Reads from behind the array's opening bracket to behind its closing one, into `gathered`.

    `damage` is None where the closing bracket was met.
    """

    def __init__(self, window: Window, gathered: Gathered, settings: ReadSettings) -> None:
        self.damage: Damage | None = None
        self._window = window
        self._gathered = gathered
        self._settings = settings
        self._mender = Mender()

    def read(self, pool: DecodingPool | None) -> None:
        while True:
            if pool is not None:
                self._read_ahead(pool)
            if not self._step():
                return

    def _read_ahead(self, pool: DecodingPool) -> None:
        """Chunks that end at guessed borders, side by side. At the first that does not decode, the window is put back
        to where it begins.
        """
        window = self._window
        waiting: deque[tuple[bytes, Future[list[Part] | None]]] = deque()
        while True:
            while len(waiting) <= pool.width and (taken := self._guessed_chunk()) is not None:
                try:
                    waiting.append((taken, pool.submit(taken)))
                except BrokenProcessPool:
                    window.give_back(b"".join((*(text + b"," for text, _ in waiting), taken + b",")))
                    return
            if not waiting:
                return
            parts = _result(waiting[0][1])
            if parts is None:
                for _, other in waiting:
                    other.cancel()
                window.give_back(b"".join(text + b"," for text, _ in waiting))
                return
            waiting.popleft()
            self._gathered.add(parts)

    def _guessed_chunk(self) -> bytes | None:
        self._window.fill(self._settings.chunk_bytes)
        if self._window.is_over:
            return None
        text = self._window.text()
        border = guessed_border(text)
        if border is None:
            return None
        self._window.skip(border + 1)
        return text[:border]

    def _step(self) -> bool:
        """Reads one chunk; False when the array, or what can be read of it, is over."""
        window = self._window
        # A gigabyte of spaces is no row: they go one block after another.
        window.peek()
        window.fill(self._settings.chunk_bytes)
        text = window.text()
        border = guessed_border(text)
        if border is not None and self._decoded(text, border):
            return True
        shape = structure(text)
        if shape.array_end is not None:
            if self._decoded(text, shape.array_end):
                return False
        elif not window.is_over:
            if shape.last_border is not None and self._decoded(text, shape.last_border):
                return True
            if shape.last_border is None and len(text) <= self._settings.limits.value_bytes:
                window.fill(len(text) * 2)
                return True
        return self._pieces(text)

    def _decoded(self, text: bytes, end: int) -> bool:
        parts = whole_parts(text, end, self._gathered.tables)
        if parts is None:
            return False
        self._gathered.add(parts)
        self._window.skip(end + 1)
        return True

    def _pieces(self, text: bytes) -> bool:
        """Broken or cut text, event by event: 5 µs each, 50 µs where it has to be mended."""
        window, found = self._window, Piecewise(self._mender)
        begins = [0, *(m.end() for m in LOOSE.finditer(text))]
        if not window.is_over and len(begins) == 1:
            self.damage = Damage(window.at, f"a row of over {len(text) >> 20} MiB begins at byte {window.at}")
            return False
        ends = [*begins[1:], len(text)] if window.is_over else begins[1:]
        i, goes_on = 0, True
        while i < len(ends) and goes_on:
            used = 1
            piece = text[begins[i] : ends[i]]
            restart = _RESTART.search(piece)
            if restart:
                byte = window.at + begins[i] + restart.start()
                self.damage = Damage(byte, f"a second trace begins at byte {byte}, and was left out")
                goes_on = False
                piece = piece[: restart.start()]
            if piece.strip(_AROUND) and not found.try_one(piece.strip(_AROUND), window.at + begins[i]):
                ended = self._array_end(piece, begins[i], found)
                if ended is not None:
                    self._take(found)
                    window.skip(ended)
                    return False
                used = self._joined(text, begins, ends, i, found)
            i += used
        if goes_on and window.is_over:
            self.damage = self.damage or Damage(window.end, f"cut: it stops at byte {window.end}")
            goes_on = False
        window.skip(ends[-1] if ends else 0)
        self._take(found)
        return goes_on

    def _array_end(self, piece: bytes, begin: int, found: Piecewise) -> int | None:
        """Where the array ended, counted from the window's begin, if this piece holds its last event and its end."""
        match = _ARRAY_END.search(piece)
        if match is None:
            if piece.lstrip(_AROUND)[:1] == b"]":
                return begin + piece.index(b"]") + 1
            return None
        head = piece[: match.start() + 1].strip(_AROUND)
        if not found.try_one(head, self._window.at + begin):
            return None
        return begin + match.end()

    def _joined(self, text: bytes, begins: list[int], ends: list[int], i: int, found: Piecewise) -> int:
        """How many pieces, from `i` on, are one event, or 1 for one that is lost."""
        byte = self._window.at + begins[i]
        if not self._mender.has_given_up:
            for more in range(1, min(_MOST_JOINS, len(ends) - i)):
                whole = text[begins[i] : ends[i + more]].strip(_AROUND)
                if whole.count(b"{") <= whole.count(b"}") and found.try_one(whole, byte):
                    return more + 1
        if self._mender.has_given_up:
            found.lose_one(byte, ends[i] - begins[i])
        else:
            self._salvaged(text[begins[i] : ends[i]], byte, found)
        return 1

    def _salvaged(self, piece: bytes, byte: int, found: Piecewise) -> None:
        """A broken row whose own beginning is lost hangs on the one before it: what is whole in them is read."""
        borders = [0, *(m.end() for m in islice(_ANY_BORDER.finditer(piece), _MOST_JOINS)), len(piece)]
        if len(borders) == 2:
            found.lose_one(byte, len(piece))
            return
        spans = list(pairwise(borders))
        texts = [piece[begin:end].strip(_AROUND) for begin, end in spans]
        whole = [bool(text) and found.try_one(text, byte + span[0]) for text, span in zip(texts, spans, strict=True)]
        # Objects inside one row's arguments are lost with it, not beside it.
        for is_whole, run in groupby(zip(whole, spans, strict=True), key=itemgetter(0)):
            if not is_whole:
                found.lose_one(byte, sum(end - begin for _, (begin, end) in run))

    def _take(self, found: Piecewise) -> None:
        self._gathered.add((found.part(self._gathered.tables),))
        self._gathered.lost_bytes += found.lost_bytes
        for what, byte in found.first_byte.items():
            self._gathered.first_byte.setdefault(what, byte)


def _result(future: Future[list[Part] | None]) -> list[Part] | None:
    try:
        return future.result()
    except BrokenProcessPool:
        return None
