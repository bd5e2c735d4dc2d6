"""Unpacks gzip, zstd, bzip2 and xz, block by block. One table of formats; knows no limits and no text."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol, cast

from analyzer.core.errors import MissingExtraError
from collectors.readers.settings import MIB

GZIP_MAGIC: Final = b"\x1f\x8b"
ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
BZIP2_MAGIC: Final = b"BZh"
XZ_MAGIC: Final = b"\xfd7zXZ\0"
_SKIPPABLE_FRAME: Final = tuple(bytes((0x50 + i, 0x2A, 0x4D, 0x18)) for i in range(16))
"""What `zstd --seekable` and `pzstd` put before or between frames."""
ZSTD_INSTALL: Final = "pip install zstandard"
BLOCK: Final = 1 * MIB
XZ_MEMORY: Final = 128 * MIB
"""What `xz -9` needs to unpack is half of it: more would be memory at the sender's command."""
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


class BrokenPackingError(Exception):
    """Why what is packed cannot be unpacked any further, as a clause that names the byte of the file."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed stream: its first block, `read` for the following ones, empty at the end, and `count` for how many bytes
    of the file were read so far.
    """

    name: str
    first: bytes
    read: Callable[[], bytes]
    count: Callable[[], int]


Unpack = Callable[[Packed], Iterator[bytes]]
"""Yields blocks. Raises BrokenPackingError, and MissingExtraError where a package is missing."""


def unpacker(first: bytes) -> Unpack | None:
    """What unpacks a stream that begins so; None where it is not packed."""
    return next((unpack for magics, unpack in _FORMATS if first.startswith(magics)), None)


def _gunzipped(packed: Packed) -> Iterator[bytes]:
    """A gzip file may hold several streams; what is no stream after the last is left alone, as gzip does."""
    stream = zlib.decompressobj(_GZIP_WINDOW)
    data, begun = packed.first, 0
    while data:
        try:
            block = stream.decompress(data, BLOCK)
        except zlib.error as error:
            raise BrokenPackingError(f"not valid gzip in the stream at byte {begun} of the file: {error}") from error
        if block:
            yield block
        if not stream.eof:
            data = stream.unconsumed_tail or packed.read()
            continue
        data = (stream.unused_data or packed.read()).lstrip(b"\0")
        if data and not data.startswith(GZIP_MAGIC[: len(data)]):
            return
        begun = packed.count() - len(data)
        stream = zlib.decompressobj(_GZIP_WINDOW) if data else stream
    if not stream.eof:
        raise BrokenPackingError(f"cut: its gzip data stop at byte {packed.count()} of the file without an end")


def _unzstd(packed: Packed) -> Iterator[bytes]:
    try:
        # Optional: CPython has it from 3.14 on, and few traces are packed so.
        import zstandard
    except ImportError:
        raise MissingExtraError(f"{packed.name}: packed with zstd, which needs a package", hint=ZSTD_INSTALL) from None
    # A window over 128 MiB, which `zstd --ultra --long` alone makes, would be memory at the sender's command.
    decompressor = zstandard.ZstdDecompressor(max_window_size=128 * MIB)
    reader = decompressor.stream_reader(cast(BinaryIO, _Stream(packed)), read_across_frames=True)
    while True:
        try:
            block: bytes = reader.read(BLOCK)
        except (zstandard.ZstdError, OSError) as error:
            raise BrokenPackingError(f"not valid zstd before byte {packed.count()} of the file: {error}") from error
        if not block:
            return
        yield block


def _bunzipped(packed: Packed) -> Iterator[bytes]:
    try:
        import bz2  # a Python may be built without it
    except ImportError:
        raise MissingExtraError(f"{packed.name}: packed with bzip2", hint="unpack it first: bzip2 -d") from None
    return _streams(packed, ("bzip2", BZIP2_MAGIC), bz2.BZ2Decompressor, OSError)


def _unxz(packed: Packed) -> Iterator[bytes]:
    try:
        import lzma  # as above
    except ImportError:
        raise MissingExtraError(f"{packed.name}: packed with xz", hint="unpack it first: xz -d") from None
    return _streams(packed, ("xz", XZ_MAGIC), lambda: lzma.LZMADecompressor(memlimit=XZ_MEMORY), lzma.LZMAError)


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def _streams(
    packed: Packed, kind: tuple[str, bytes], begin: Callable[[], _Decompressor], broken: type[Exception]
) -> Iterator[bytes]:
    """One stream after another, as bzip2 and xz write them; `kind` is its name and how a stream begins."""
    name, magic = kind
    stream, data = begin(), packed.first
    while data or not stream.needs_input:
        try:
            block = stream.decompress(data, BLOCK)
        except broken as error:
            raise BrokenPackingError(f"not valid {name} before byte {packed.count()} of the file: {error}") from error
        if block:
            yield block
        if not stream.eof:
            data = packed.read() if stream.needs_input else b""
            continue
        data = (stream.unused_data or packed.read()).lstrip(b"\0")
        if not data.startswith(magic[: max(1, len(data))]):
            return
        stream = begin()
    raise BrokenPackingError(f"cut: its {name} data stop at byte {packed.count()} of the file without an end")


class _Stream(io.RawIOBase):
    """What is packed, as a stream."""

    def __init__(self, packed: Packed) -> None:
        self._block = io.BytesIO(packed.first)
        self._read = packed.read

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._block.read(size)
        if not data:
            self._block = io.BytesIO(self._read())
            data = self._block.read(size)
        return data


_FORMATS: Final[tuple[tuple[tuple[bytes, ...], Unpack], ...]] = (
    ((GZIP_MAGIC,), _gunzipped),
    ((ZSTD_MAGIC, *_SKIPPABLE_FRAME), _unzstd),
    ((BZIP2_MAGIC,), _bunzipped),
    ((XZ_MAGIC,), _unxz),
)
"""How a file begins, and what unpacks it."""
