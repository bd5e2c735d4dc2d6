"""Reads a Chrome trace written by torch.profiler, or a relative of it, into a `Trace`. Derives nothing."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from analyzer.core.errors import UnreadableFileError
from analyzer.core.trace import Trace
from collectors.readers.columns import assemble
from collectors.readers.events import DeviceProperties, Event

GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_RECORD_HINT: Final = "export it again with torch.profiler's export_chrome_trace"


_T = TypeVar("_T")


class _File(msgspec.Struct):
    # Fields are named as in the file.
    traceEvents: msgspec.Raw = msgspec.Raw()
    deviceProperties: msgspec.Raw = msgspec.Raw()
    baseTimeNanoseconds: msgspec.Raw = msgspec.Raw()


def read_trace(path: Path) -> Trace:
    """The trace in a `.json` or `.json.gz` file, whose top level is an object with `traceEvents`, or their array.

    Raises UnreadableFileError, with the byte offset where there is one, when the file is absent, cut, not JSON or
    not a trace. Rows that carry no time, or a time that makes no sense, are left out and counted in `notes`.
    """
    notes: list[str] = []
    data = _utf8(_content(path), notes)
    file = _top_level(data, path)
    text = bytes(file.traceEvents)
    if not text:
        raise UnreadableFileError(f"{path}: JSON, but not a trace: it has no traceEvents", hint=_RECORD_HINT)
    events = _events(text, path, notes)
    return assemble(events, _device_properties(file.deviceProperties), bytes(file.baseTimeNanoseconds), notes)


def _content(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not data.startswith(GZIP_MAGIC):
        return data
    unzipped = bytearray()
    rest = data
    while rest:
        # One stream at a time: a gzip file may hold several, and a cut one must say where.
        stream = zlib.decompressobj(_GZIP_WINDOW)
        try:
            unzipped += stream.decompress(rest)
        except zlib.error as error:
            raise UnreadableFileError(
                f"{path}: not valid gzip in the stream at byte {len(data) - len(rest)}: {error}", hint=_RECORD_HINT
            ) from error
        if not stream.eof:
            raise UnreadableFileError(
                f"{path}: cut: its gzip data stop at byte {len(data)} without an end", hint=_RECORD_HINT
            )
        rest = stream.unused_data.lstrip(b"\0")
    return bytes(unzipped)


def _utf8(data: bytes, notes: list[str]) -> bytes:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.append(f"names that are not UTF-8, the first at byte {error.start}, had those bytes replaced")
        return data.decode("utf-8", "replace").encode()
    return data


def _top_level(data: bytes, path: Path) -> _File:
    if data.lstrip()[:1] == b"[":
        return _File(traceEvents=_decode(data, msgspec.Raw, data, path))
    return _decode(data, _File, data, path)


def _decode(text: bytes, kind: type[_T], data: bytes, path: Path) -> _T:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as error:
        raise UnreadableFileError(f"{path}: JSON, but not a trace: {error}", hint=_RECORD_HINT) from error
    except msgspec.DecodeError as error:
        where = f"cut: it stops at byte {len(data)}" if "truncated" in str(error) else f"not JSON: {error}"
        raise UnreadableFileError(f"{path}: {where}", hint=_RECORD_HINT) from error


def _events(text: bytes, path: Path, notes: list[str]) -> Iterable[Event]:
    try:
        return msgspec.json.decode(text, type=list[Event])
    except msgspec.ValidationError:
        return _events_one_by_one(_decode(text, list[msgspec.Raw], text, path), notes)


def _events_one_by_one(rows: list[msgspec.Raw], notes: list[str]) -> list[Event]:
    """For files in which some row has a field of another type: 0.7 µs a row more than decoding all at once."""
    decoder = msgspec.json.Decoder(Event)
    events: list[Event] = []
    for row in rows:
        try:
            events.append(decoder.decode(row))
        except msgspec.ValidationError:
            continue
    if len(events) < len(rows):
        notes.append(f"{len(rows) - len(events)} rows are not events (a field has another type) and were left out")
    return events


def _device_properties(text: msgspec.Raw) -> tuple[DeviceProperties, ...]:
    try:
        return msgspec.json.decode(text, type=tuple[DeviceProperties, ...])
    except msgspec.DecodeError:
        return ()
