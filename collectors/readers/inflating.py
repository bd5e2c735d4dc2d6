"""The text of a file, block by block: unpacked, in UTF-8, and never more of it than asked for."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final, Protocol, cast

from analyzer.core.errors import MissingExtraError, UnreadableFileError
from collectors.readers.settings import MIB, Limits

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_FRAME: Final = tuple(bytes((0x50 + i, 0x2A, 0x4D, 0x18)) for i in range(16))
"""What `zstd --seekable` and `pzstd` put before or between frames."""
ZSTD_INSTALL: Final = "pip install zstandard"
UNPACK: Final = "if you trust it, unpack it yourself (gzip -d, zstd -d, unzip, tar -x), and analyze what comes out"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_BLOCK: Final = 1 * MIB
_UTF16: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_UTF32: Final = {codecs.BOM_UTF32_LE: "utf-32-le", codecs.BOM_UTF32_BE: "utf-32-be"}
_UNMARKED: Final = {b"{\0\0\0": "utf-32-le", b"[\0\0\0": "utf-32-le", b"{\0": "utf-16-le", b"[\0": "utf-16-le"}


class _Reads(Protocol):
    def read(self, size: int, /) -> bytes: ...


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

    def _unpacked(self) -> Iterator[bytes]:
        first = self._read()
        if first.startswith(GZIP_MAGIC):
            yield from self._gunzipped(first)
        elif first.startswith((ZSTD_MAGIC, *_SKIPPABLE_FRAME)):
            yield from self._unzstd(first)
        else:
            while first:
                yield first
                first = self._read()

    def _read(self) -> bytes:
        try:
            return self._raw.read(_BLOCK)
        except (OSError, EOFError, zlib.error) as error:
            self.failure = f"cut: it cannot be read any further: {error}"
            return b""

    def _gunzipped(self, data: bytes) -> Iterator[bytes]:
        """A gzip file may hold several streams; what is no stream after the last is left alone, as gzip does."""
        stream = zlib.decompressobj(_GZIP_WINDOW)
        begun = 0
        while data:
            try:
                block = stream.decompress(data, _BLOCK)
            except zlib.error as error:
                self.failure = f"not valid gzip in the stream at byte {begun} of the file: {error}"
                return
            if block:
                yield block
            if not stream.eof:
                data = stream.unconsumed_tail or self._read()
                continue
            data = (stream.unused_data or self._read()).lstrip(b"\0")
            if data and not data.startswith(GZIP_MAGIC[: len(data)]):
                return
            begun = self._raw.count - len(data)
            stream = zlib.decompressobj(_GZIP_WINDOW) if data else stream
        if not stream.eof and self.failure is None:
            self.failure = f"cut: its gzip data stop at byte {self._raw.count} of the file without an end"

    def _unzstd(self, first: bytes) -> Iterator[bytes]:
        try:
            # Optional: CPython has it from 3.14 on, and few traces are packed so.
            import zstandard
        except ImportError:
            raise MissingExtraError(
                f"{self._name}: packed with zstd, which needs a package", hint=ZSTD_INSTALL
            ) from None
        # A window over 128 MiB, which `zstd --ultra --long` alone makes, would be memory at the sender's command.
        unpacker = zstandard.ZstdDecompressor(max_window_size=128 * MIB)
        reader: _Reads = unpacker.stream_reader(cast(BinaryIO, _Rest(first, self._raw)), read_across_frames=True)
        while True:
            try:
                block = reader.read(_BLOCK)
            except (zstandard.ZstdError, OSError) as error:
                self.failure = f"not valid zstd before byte {self._raw.count} of the file: {error}"
                return
            if not block:
                return
            yield block


class _Counted:
    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self.count = 0

    def read(self, size: int, /) -> bytes:
        data = self._raw.read(size)
        self.count += len(data)
        return data


class _Rest(io.RawIOBase):
    """A stream of which the first block has been read already."""

    def __init__(self, first: bytes, rest: _Counted) -> None:
        self._first = io.BytesIO(first)
        self._rest = rest

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._first.read(size) or self._rest.read(size if size >= 0 else _BLOCK)
