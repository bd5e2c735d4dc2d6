"""Opens a source as a stream of bytes; members of an archive are read in place and never written anywhere."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import BinaryIO, Final, cast

from analyzer.core.errors import UnreadableFileError
from collectors.readers.inflating import UNPACK, Text
from collectors.readers.settings import Limits
from collectors.readers.sources import HEAD_BYTES, ZIP_NAME, Source, is_tar, is_zip

_ARCHIVE_ERRORS: Final = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError)


@contextmanager
def opened(source: Source, limits: Limits) -> Iterator[BinaryIO]:
    """The packed bytes of one trace. Raises UnreadableFileError for what is absent or no regular file."""
    if source.member is None:
        with _file(source) as file:
            yield file
        return
    with archive_opened(source) as archive, ExitStack() as stack:
        try:
            member = stack.enter_context(_member(archive, source, limits))
        except _ARCHIVE_ERRORS as error:
            raise UnreadableFileError(f"{source}: cannot be read: {error}") from error
        yield member


@contextmanager
def archive_opened(source: Source) -> Iterator[tarfile.TarFile | zipfile.ZipFile]:
    """The archive at a source's location, packed as it may be. It is streamed where it cannot be sought in."""
    with _file(source) as file, ExitStack() as stack:
        try:
            head = file.read(HEAD_BYTES)
            file.seek(0)
            if is_zip(head) or (ZIP_NAME.fullmatch(source.location) and not is_tar(head)):
                yield stack.enter_context(zipfile.ZipFile(file))
                return
            yield stack.enter_context(_tar(file, str(source), is_plain=is_tar(head)))
        except tarfile.ReadError as error:
            raise UnreadableFileError(f"{source}: not a readable archive: {error}") from error


def _tar(file: BinaryIO, name: str, *, is_plain: bool) -> tarfile.TarFile:
    if is_plain:
        return tarfile.open(fileobj=file, mode="r:")
    return tarfile.open(fileobj=cast(BinaryIO, _Blocks(Text(file, name, Limits()))), mode="r|")


def _file(source: Source) -> BinaryIO:
    if source.is_url:
        # Optional, and 0.2 s to import: only for who gives a URL.
        from collectors.readers.remote import opened_url

        return opened_url(source.location)
    try:
        # A pipe or a device would never end, or never begin.
        if not stat.S_ISREG(os.stat(source.location).st_mode):
            raise UnreadableFileError(
                f"{source.location}: cannot be read: not a regular file", hint="write what it gives to a file first"
            )
        return open(source.location, "rb")
    except OSError as error:
        raise UnreadableFileError(f"{source.location}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UnreadableFileError(f"{source.location!r}: cannot be read: {error}") from error


def _member(archive: tarfile.TarFile | zipfile.ZipFile, source: Source, limits: Limits) -> BinaryIO:
    name = source.member or ""
    if isinstance(archive, zipfile.ZipFile):
        info = archive.getinfo(name)
        if info.file_size > max(limits.free_bytes, limits.ratio * info.compress_size):
            raise UnreadableFileError(
                f"{source}: its text is over {limits.ratio} times its packed size, as in a decompression bomb",
                hint=UNPACK,
            )
        return cast(BinaryIO, archive.open(info))
    for member in archive:
        if member.name == name and member.isfile():
            file = archive.extractfile(member)
            if file is not None:
                return cast(BinaryIO, _Pieces(cast(BinaryIO, file)))
    raise UnreadableFileError(f"{source}: no such file in the archive")


class _Pieces(io.RawIOBase):
    """A member of a tar, in pieces: where the archive is cut, a read that goes past that gives nothing at all."""

    def __init__(self, member: BinaryIO) -> None:
        self._member = member

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        return self._member.read(min(size, _PIECE_BYTES) if size >= 0 else _PIECE_BYTES)

    def close(self) -> None:
        self._member.close()
        super().close()


_PIECE_BYTES: Final = 16 << 10


class _Blocks(io.RawIOBase):
    """A text's blocks as a stream, for a tar inside gzip or zstd: with the same limits as a trace."""

    def __init__(self, text: Text) -> None:
        self._blocks = text.raw_blocks()
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        if not self._rest:
            self._rest = next(self._blocks, b"")
        data, self._rest = self._rest[:size], self._rest[size:]
        return data
