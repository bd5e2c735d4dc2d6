"""Traces read before, by what is in the file: the second look maps columns into memory instead of decoding text.

One folder a trace: `columns.npy` and `masks.npy`, uncompressed so that they can be mapped, and `tables.msgpack` with
the names and the rest. Plain numpy does in 20 ms what Parquet would need a 100 MB package for. Nothing in it is code:
no pickle is read or written.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from analyzer.core.trace import OpDetail, Trace
from analyzer.core.trace_facts import TraceFacts
from collectors.readers.settings import ReadSettings
from collectors.readers.sources import Source

VERSION: Final = 5
"""Of the reader's columns and tables: raise it whenever the same file would read otherwise."""
MOST_BYTES: Final = 8 << 30
"""Of all kept traces together: 80 of a million events. The least lately used go first."""
_KEPT: Final = re.compile(r"[0-9a-f]+-[0-9-]+-v\d+")
_COLUMNS: Final = (
    "name_id", "kind", "start_ns", "duration_ns", "thread", "device", "stream", "correlation", "detail_id",
    "external_id",
)  # fmt: skip
_MASKS: Final = ("has_stream", "has_correlation", "has_detail", "has_external_id")


class _Tables(msgspec.Struct):
    names: tuple[str, ...]
    details: tuple[OpDetail, ...]
    base_ns: str
    device_name: str | None
    notes: tuple[str, ...]
    facts: TraceFacts


@dataclass(frozen=True, slots=True)
class Key:
    """Where a trace is kept, or would be; and what its file was when it was looked at: size, time, and place."""

    folder: Path
    file: str
    state: tuple[int, int, int]


def key_of(source: Source, settings: ReadSettings) -> Key | None:
    """By a hash of every byte of the file as it lies there, packed, and of the reader's version. SHA-256, which
    processors have had instructions for since about 2018: 1 GB/s where BLAKE2b comes to half of that.

    None without a cache, and for members and URLs: to hash those, all of them has to be fetched or unpacked anyway.
    """
    if settings.cache is None or source.member is not None or source.is_url:
        return None
    try:
        state = _state(source.location)
        if not os.path.isfile(source.location) or state[0] < settings.least_cached_bytes:
            return None
        with open(source.location, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        # Reading the file will say what is wrong with it.
        return None
    limits = "-".join(str(getattr(settings.limits, f.name)) for f in fields(settings.limits))
    return Key(settings.cache / f"{digest}-{limits}-v{VERSION}", source.location, state)


def _state(file: str) -> tuple[int, int, int]:
    found = os.stat(file)
    return found.st_size, found.st_mtime_ns, found.st_ino


def kept(key: Key) -> Trace | None:
    """The trace kept under a key; None where there is none, or where something has happened to it."""
    try:
        tables = msgspec.msgpack.decode((key.folder / "tables.msgpack").read_bytes(), type=_Tables)
        columns = np.load(key.folder / "columns.npy", mmap_mode="r", allow_pickle=False)
        masks = np.load(key.folder / "masks.npy", mmap_mode="r", allow_pickle=False)
        rows = columns.shape[1] if columns.ndim == 2 else -1
        if columns.shape != (len(_COLUMNS), rows) or masks.shape != (len(_MASKS), rows):
            return None
        if columns.dtype != np.int64 or masks.dtype != np.bool_:
            return None
        os.utime(key.folder)
    except (OSError, ValueError, EOFError, msgspec.MsgspecError):
        return None
    values = {name: np.asarray(columns[i]) for i, name in enumerate(_COLUMNS)}
    values |= {name: np.asarray(masks[i]) for i, name in enumerate(_MASKS)}
    return Trace(
        names=tables.names,
        details=tables.details,
        base_ns=int(tables.base_ns),
        device_name=tables.device_name,
        notes=tables.notes,
        facts=tables.facts,
        **values,
    )


def keep(key: Key, trace: Trace) -> None:
    """Writes a trace beside the others, all of it or nothing. A full or read-only disk is no error: nothing is kept.
    Nor is anything of a file that was written to, or put in another's place, since its key was made.
    """
    if trace.external_id is None or trace.has_external_id is None:
        return
    try:
        if _state(key.file) != key.state:
            return
    except OSError:
        return
    tables = _Tables(trace.names, trace.details, str(trace.base_ns), trace.device_name, trace.notes, trace.facts)
    try:
        key.folder.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".writing-", dir=key.folder.parent))
    except OSError:
        return
    try:
        (folder / "tables.msgpack").write_bytes(msgspec.msgpack.encode(tables))
        np.save(folder / "columns.npy", np.stack([getattr(trace, name) for name in _COLUMNS]))
        np.save(folder / "masks.npy", np.stack([getattr(trace, name) for name in _MASKS]))
        folder.rename(key.folder)
        _prune(key.folder)
    except OSError:
        # Another process may have been faster, or the disk is full.
        shutil.rmtree(folder, ignore_errors=True)


def _prune(newest: Path) -> None:
    # Those of other versions of the reader too, which no one else would ever remove.
    folders = [f for f in newest.parent.iterdir() if f.is_dir() and _KEPT.fullmatch(f.name) and f != newest]
    sizes = {f: sum(p.stat().st_size for p in f.iterdir()) for f in (*folders, newest)}
    total = sum(sizes.values())
    for folder in sorted(folders, key=lambda f: f.stat().st_mtime):
        if total <= MOST_BYTES:
            return
        shutil.rmtree(folder, ignore_errors=True)
        total -= sizes[folder]
