"""Which traces a path means: a file, a folder or glob of them, the members of a tar or zip, or what a URL names."""

from __future__ import annotations

import glob
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from analyzer.core.errors import UnreadableFileError

TRACE_NAME: Final = re.compile(r".+\.json(?:\.gz|\.gzip|\.zst|\.zstd|\.bz2|\.xz)?", re.IGNORECASE)
_SURE_NAME: Final = re.compile(r".+\.(?:pt\.)?trace\.json(?:\.\w+)?", re.IGNORECASE)
TAR_NAME: Final = re.compile(r".+\.(?:tar(?:\.gz|\.bz2|\.xz|\.zst)?|tgz|tzst)", re.IGNORECASE)
ZIP_NAME: Final = re.compile(r".+\.zip", re.IGNORECASE)
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_RANK: Final = re.compile(r"(?:rank|worker|TP|DP|PP|EP)[-_.]?(\d{1,7})(?!\d)", re.IGNORECASE)
_DIGITS: Final = re.compile(r"(\d+)")
_GLOB: Final = re.compile(r"[*?\[]")
_MEMBER: Final = "!"
_MOST_MEMBERS: Final = 100_000
"""Entries of an archive that are looked at: a hundred times the largest job seen in public."""
_HINT: Final = "give a .json, .json.gz or .json.zst file, a folder or tar of them, a glob or a URL"


@dataclass(frozen=True, slots=True)
class Source:
    """One trace: a file or URL, and the member of it where that is an archive. `size` is packed, None if unknown."""

    location: str
    member: str | None = None
    size: int | None = None

    def __str__(self) -> str:
        return self.location if self.member is None else f"{self.location}{_MEMBER}{self.member}"

    @property
    def is_url(self) -> bool:
        return _URL.match(self.location) is not None

    @property
    def label(self) -> str:
        """The file's or member's own name."""
        return PurePosixPath((self.member or self.location).replace("\\", "/")).name

    @property
    def rank_hint(self) -> int | None:
        """The rank that the name speaks of (`rank-3`, `worker3`, `TP-0`); None where it speaks of none."""
        found = _RANK.search(self.label)
        return int(found.group(1)) if found else None


@dataclass(frozen=True, slots=True)
class Refused:
    """A file or member that was not taken, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The traces of a path in natural order (`rank2` before `rank10`)."""

    sources: tuple[Source, ...]
    refused: tuple[Refused, ...] = ()


def source_of(path: Path | str) -> Source:
    """The one trace that a path or URL is; `archive.tar!member` is a member, unless a file is called so."""
    location = os.fspath(path)
    archive, mark, member = location.partition(_MEMBER)
    is_named = TAR_NAME.fullmatch(archive) or ZIP_NAME.fullmatch(archive)
    is_member = mark and not os.path.exists(location) and (is_named or is_archive(archive))
    return Source(archive, member) if is_member else Source(location)


def list_sources(path: Path | str) -> Listing:
    """The traces of a file, folder, glob, tar, zip or URL. Nothing is unpacked, and no link is followed.

    Raises UnreadableFileError where there is no trace, MissingExtraError where a package is missing.
    """
    location = os.fspath(path)
    source = source_of(location)
    if source.is_url:
        listing = _of_url(source)
    elif os.path.isdir(location):
        listing = _of_folder(location)
    elif os.path.exists(location) or source.member is not None:
        listing = _of_file(source)
    elif _GLOB.search(location):
        listing = _of_glob(location)
    else:
        raise UnreadableFileError(f"{location}: cannot be read: No such file or directory")
    if not listing.sources:
        why = f" ({listing.refused[0].name}: {listing.refused[0].reason})" if listing.refused else ""
        raise UnreadableFileError(f"{location}: no trace in it{why}", hint=_HINT)
    return Listing(tuple(sorted(listing.sources, key=lambda s: _natural(str(s)))), listing.refused)


def _of_file(source: Source) -> Listing:
    if source.member is None and is_archive(source.location):
        return _of_archive(source)
    return Listing((source if source.member else Source(source.location, None, os.path.getsize(source.location)),))


def _of_folder(location: str) -> Listing:
    found, refused = [], []
    root = os.path.realpath(location)
    for folder, folders, files in os.walk(location):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in files:
            path = os.path.join(folder, name)
            if name.startswith(".") or not TRACE_NAME.fullmatch(name):
                continue
            if not os.path.realpath(path).startswith(root + os.sep):
                refused.append(Refused(path, "a link that leaves the folder"))
            elif not os.path.isfile(path):
                refused.append(Refused(path, "not a regular file"))
            else:
                found.append(Source(path, None, os.path.getsize(path)))
    # Beside traces that say so by name lie reports, plans and settings that do not.
    sure = [s for s in found if _SURE_NAME.fullmatch(s.label)]
    return Listing(tuple(sure or found), tuple(refused))


def _of_glob(pattern: str) -> Listing:
    listings = [_of_file(source_of(path)) for path in glob.glob(pattern, recursive=True) if os.path.isfile(path)]
    return Listing(
        tuple(s for found in listings for s in found.sources), tuple(r for found in listings for r in found.refused)
    )


def _of_url(source: Source) -> Listing:
    # Optional, and 0.2 s to import: only for who gives a URL.
    from collectors.readers.remote import expanded

    if source.member is not None:
        return Listing((source,))
    found = [Source(url) for url in expanded(source.location)]
    archives = [s for s in found if TAR_NAME.fullmatch(s.location) or ZIP_NAME.fullmatch(s.location)]
    listings = [_of_archive(s) for s in archives]
    plain = [s for s in found if s not in archives]
    return Listing(
        (*plain, *(s for listing in listings for s in listing.sources)),
        tuple(r for listing in listings for r in listing.refused),
    )


def is_archive(path: str) -> bool:
    """By content, whatever it is called; and by name for a packed tar, and an old one, which has no sign of its own."""
    if TAR_NAME.fullmatch(path):
        return True
    try:
        if not os.path.isfile(path):
            return False
        with open(path, "rb") as file:
            return is_zip(head := file.read(HEAD_BYTES)) or is_tar(head)
    except OSError:
        return False  # to read it will say what is wrong with it


HEAD_BYTES: Final = 512
"""Of a file, enough to know it by: a tar's first block."""
_USTAR_AT: Final = 257
"""Where POSIX tar says what it is."""


def is_zip(head: bytes) -> bool:
    """Whether a file that begins so is a zip, which a cut one still says."""
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_tar(head: bytes) -> bool:
    return head[_USTAR_AT:].startswith(b"ustar")


def _of_archive(source: Source) -> Listing:
    # Imports this module for `Source`.
    from collectors.readers.opening import archive_opened

    found, refused = [], []
    try:
        with archive_opened(source) as archive:
            entries = _tar_entries(archive) if isinstance(archive, tarfile.TarFile) else _zip_entries(archive)
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise UnreadableFileError(f"{source}: not a readable archive: {error}") from error
    for name, size, why_not in entries:
        if why_not is None:
            found.append(Source(source.location, name, size))
        elif why_not:
            refused.append(Refused(name, why_not))
    return Listing(tuple(found), tuple(refused))


_Entry = tuple[str, int, str | None]
"""Name, size, and why it is refused: None for a trace, empty for what is none and needs no word."""


def _tar_entries(archive: tarfile.TarFile) -> list[_Entry]:
    entries: list[_Entry] = []
    for count, member in enumerate(_members(archive, entries)):
        if count >= _MOST_MEMBERS:
            entries.append((member.name, 0, f"more than {_MOST_MEMBERS} members"))
            break
        is_special = None if member.isfile() else ("" if member.isdir() else "a link or device, not a file")
        entries.append((member.name, member.size, is_special if is_special is not None else _why_not(member.name)))
    return entries


def _members(archive: tarfile.TarFile, entries: list[_Entry]) -> Iterator[tarfile.TarInfo]:
    """Those before the archive is cut or broken, which is then an entry too. Raises where that is at its begin."""
    try:
        yield from archive
    except (tarfile.TarError, EOFError, OSError) as error:
        if not entries:
            raise
        entries.append(("the rest of the archive", 0, f"it cannot be read behind {entries[-1][0]}: {error}"))


def _zip_entries(archive: zipfile.ZipFile) -> list[_Entry]:
    entries: list[_Entry] = []
    for info in archive.infolist()[:_MOST_MEMBERS]:
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        why = "a link or device, not a file" if is_link else ("" if info.is_dir() else _why_not(info.filename))
        entries.append((info.filename, info.compress_size, why))
    return entries


def _why_not(name: str) -> str | None:
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "a path that leaves the archive"
    if parts[-1].startswith(".") or not TRACE_NAME.fullmatch(parts[-1]):
        return ""
    return None


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    # Numbers by value, with their digits behind for `01` against `1`.
    return tuple((int(p) if p.isdigit() else -1, p) for p in _DIGITS.split(text))
