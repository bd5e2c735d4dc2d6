"""Recordings as gzipped JSON: written whole or not at all, so that a run ended early leaves what it had."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from analyzer.core.errors import UnreadableFileError

_T = TypeVar("_T")


def write(value: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    # mtime 0: the same facts give the same bytes.
    partial.write_bytes(gzip.compress(msgspec.json.encode(value), mtime=0))
    os.replace(partial, path)


def read(path: Path, kind: type[_T]) -> _T:
    """The recording in a file. Raises UnreadableFileError where it is none of this kind."""
    try:
        return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=kind)
    except (OSError, EOFError, msgspec.MsgspecError) as error:
        raise UnreadableFileError(f"{path}: not a recording: {error}", hint="record it again") from error


def today() -> str:
    return time.strftime("%Y-%m-%d")
