"""The text of a file, block by block: unpacked, in UTF-8, and never more of it than asked for."""

from __future__ import annotations

import codecs
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO, Final

from analyzer.core.errors import UnreadableFileError
from collectors.readers.settings import Limits
from collectors.readers.unpacking import BLOCK, BrokenPackingError, Packed, unpacker

UNPACK: Final = "if you trust it, unpack it yourself (gzip -d, zstd -d, unzip, tar -x), and analyze what comes out"
MOST_LAYERS: Final = 3
"""How often a file may be packed: a server packs again what was packed already, and seldom more."""
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF32: Final = {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}
_UNMARKED: Final = {
    b"{\0\0\0": "utf-32-le", b"[\0\0\0": "utf-32-le", b"{\0": "utf-16-le", b"[\0": "utf-16-le",
    b"\0\0\0{": "utf-32-be", b"\0\0\0[": "utf-32-be", b"\0{": "utf-16-be", b"\0[": "utf-16-be",
}  # fmt: skip
_READ_ERRORS: Final = (OSError, EOFError, zlib.error, tarfile.TarError, zipfile.BadZipFile)


class Text:
    """The text of one file. `failure` is why it stopped before its end, None while it has not; `encoding` is what it
    was written in. Raises UnreadableFileError, out of the iteration, where it grows past a limit.
    """

    def __init__(self, raw: BinaryIO, name: str, limits: Limits) -> None:
        self.failure: str | None = None
        self.encoding = "utf-8"
        self._raw = _Counted(raw)
        self._name = name
        self._limits = limits

    def blocks(self) -> Iterator[bytes]:
        """Blocks of UTF-8 of about a megabyte, without a byte order mark."""
        blocks = self.raw_blocks()
        first = next(blocks, b"")
        marks = {**_UTF32, **_UTF16, **_UNMARKED}
        mark = next((m for m in marks if first.startswith(m)), None)
        if mark is None:
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from blocks
            return
        self.encoding = marks[mark]
        decoder = codecs.getincrementaldecoder(self.encoding)("replace")
        yield decoder.decode(first).removeprefix("\ufeff").encode("utf-8", "replace")
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "replace")
        yield decoder.decode(b"", final=True).encode("utf-8", "replace")

    def raw_blocks(self) -> Iterator[bytes]:
        """The unpacked blocks as they are, under the same limits."""
        return self._bounded(self._unpacked())

    def _unpacked(self) -> Iterator[bytes]:
        read = self._read
        first = read()
        for _ in range(MOST_LAYERS):
            unpack = unpacker(first)
            if unpack is None:
                break
            packed = Packed(self._name, first, read, lambda: self._raw.count)
            # What one layer makes of it is bounded too: the next may make nothing of that for ever.
            read = partial(next, self._bounded(self._until_broken(unpack(packed))), b"")
            first = read()
        while first:
            yield first
            first = read()

    def _bounded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        size, limits = 0, self._limits
        for block in blocks:
            size += len(block)
            if size > limits.text_bytes:
                raise UnreadableFileError(
                    f"{self._name}: over {limits.text_bytes >> 20} MiB of text, which is no trace of one process",
                    hint="record fewer steps; if it is one all the same, read it from Python: "
                    "read_trace(path, ReadSettings(limits=Limits(text_bytes=…)))",
                )
            if size > limits.free_bytes and size > limits.ratio * self._raw.count:
                raise UnreadableFileError(
                    f"{self._name}: its text is over {limits.ratio} times its packed size, as in a decompression bomb",
                    hint=UNPACK,
                )
            yield block

    def _until_broken(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from blocks
        except BrokenPackingError as broken:
            self.failure = self.failure or str(broken)

    def _read(self) -> bytes:
        try:
            return self._raw.read(BLOCK)
        except _READ_ERRORS as error:
            self.failure = f"cut: it cannot be read any further: {error}"
            return b""


class _Counted:
    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.count = 0

    def read(self, size: int, /) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data
