"""Reads a Chrome trace written by torch.profiler, or a relative of it, into a `Trace`. Derives nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from analyzer.core.collection import without_collection
from analyzer.core.errors import NotATraceError, UnreadableFileError
from analyzer.core.trace import Trace
from analyzer.core.trace_facts import Damage, RowCount
from collectors.readers.assembly import Gathered, assemble
from collectors.readers.cache import keep, kept, key_of
from collectors.readers.chunks import NO_EVENTS
from collectors.readers.columns import NO_START, UNTIMED
from collectors.readers.details import op_detail
from collectors.readers.facts import WANTED, Header, base_time_ns, busiest_device, facts
from collectors.readers.inflating import Text
from collectors.readers.opening import opened
from collectors.readers.pool import DecodingPool, decoding_pool
from collectors.readers.section import Section
from collectors.readers.settings import DEFAULTS, ReadSettings
from collectors.readers.sources import HEAD_BYTES, Source, source_of
from collectors.readers.strangers import known_stranger
from collectors.readers.window import NotJsonError, Window

_RECORD_HINT: Final = "export it again with torch.profiler's export_chrome_trace"
NANOSECONDS: Final = f"{NO_START}, as of nanoseconds where the format has microseconds,"
"""What is said where it is most rows: 19 digits of the time of day are nanoseconds."""
_EVENTS_KEY: Final = b'"traceEvents"'


def read_trace(path: Path | str | Source, settings: ReadSettings = DEFAULTS) -> Trace:
    """The trace in a `.json`, `.json.gz` or `.json.zst` file, in a member of a tar or zip, or at a URL.

    Its top level is an object with `traceEvents`, or their array. What is broken or cut is mended or left out, counted
    in `facts`, and said in `notes`; the rest is read. Raises UnreadableFileError, with the byte offset where there is
    one, when nothing can be read, and MissingExtraError where a package is missing that unpacks or fetches it.
    """
    source = path if isinstance(path, Source) else source_of(path)
    key = key_of(source, settings)
    if key is not None and (known := kept(key)) is not None:
        return known
    with without_collection(), opened(source, settings.limits) as raw, decoding_pool(settings.workers) as pool:
        text = Text(raw, str(source), settings.limits)
        trace = _read(text, str(source), settings, pool)
    if key is not None:
        keep(key, trace)
    return trace


@dataclass(slots=True)
class _Reading:
    """What was read so far. Private to this module."""

    gathered: Gathered = field(default_factory=Gathered)
    header: Header = field(default_factory=dict)
    has_events: bool = False
    has_all_rows: bool = False
    damage: Damage | None = None


def _read(text: Text, name: str, settings: ReadSettings, pool: DecodingPool | None) -> Trace:
    window = Window(text.blocks(), settings.limits.value_bytes)
    reading = _Reading()
    first = window.peek()
    if first == b"[":
        reading.has_events = True
        window.skip(1)
        _section(window, reading, settings, pool)
    elif first == b"{":
        window.skip(1)
        _members(window, reading, settings, pool, name)
    elif first:
        _refuse_other(window, name)
    else:
        is_empty = not window.end
        reading.damage = Damage(window.end, "it is empty" if is_empty else f"cut: it stops at byte {window.end}")
    _end(window, text, reading)
    _refuse_nothing(reading, name)
    lost_share = _lost_share(reading.gathered, window)
    left_out = reading.gathered.left_out
    if left_out[NO_START] > reading.gathered.rows:
        left_out[NANOSECONDS] = left_out.pop(NO_START)
    return _trace(reading, text.encoding, lost_share)


def _members(window: Window, reading: _Reading, settings: ReadSettings, pool: DecodingPool | None, name: str) -> None:
    """The top level's keys and values, up to its closing brace or to what cannot be read."""
    try:
        if window.peek() == b"}":
            window.skip(1)
            return
        while True:
            key = window.value()
            window.take(b":")
            if key == _EVENTS_KEY:
                if not _events_member(window, reading, settings, pool, name):
                    return
            else:
                value = window.value()
                if key.strip(b'"') in WANTED:
                    reading.header[key.strip(b'"')] = value
            if window.peek() == b"}":
                window.skip(1)
                return
            window.take(b",")
    except NotJsonError as broken:
        _resume(window, broken, reading, settings, pool)


def _events_member(
    window: Window, reading: _Reading, settings: ReadSettings, pool: DecodingPool | None, name: str
) -> bool:
    if reading.has_events:
        byte = window.at
        reading.damage = Damage(byte, f"a second list of events begins at byte {byte}, and was left out")
        reading.has_all_rows = False
        return False
    if window.peek() not in (b"[", b""):
        raise NotATraceError(f"{name}: JSON, but not a trace: traceEvents is no list", hint=_RECORD_HINT)
    window.take(b"[")
    reading.has_events = True
    _section(window, reading, settings, pool)
    return reading.damage is None


def _section(window: Window, reading: _Reading, settings: ReadSettings, pool: DecodingPool | None) -> None:
    section = Section(window, reading.gathered, settings)
    section.read(pool)
    reading.damage, reading.has_all_rows = section.damage, section.damage is None


def _resume(
    window: Window, broken: NotJsonError, reading: _Reading, settings: ReadSettings, pool: DecodingPool | None
) -> None:
    """Behind a broken member: the events are looked for by their key; without them or after them, reading ends."""
    if not reading.has_events:
        window.fill(settings.chunk_bytes)
        text = window.text()
        at = text.find(_EVENTS_KEY)
        bracket = text.find(b"[", at) if at >= 0 else -1
        if bracket >= 0 and not text[at + len(_EVENTS_KEY) : bracket].strip(b" \t\r\n:"):
            reading.gathered.mended["values beside the events are not JSON and were skipped"] += 1
            reading.gathered.first_byte["values beside the events are not JSON and were skipped"] = broken.byte
            window.skip(bracket + 1)
            reading.has_events = True
            _section(window, reading, settings, pool)
            return
    where = f"byte {broken.byte}"
    reading.damage = Damage(broken.byte, f"cut: it stops at {where}" if broken.is_cut else f"not JSON at {where}")


def _refuse_other(window: Window, name: str) -> None:
    try:
        word = window.value()
    except NotJsonError:
        word = b"?"
    is_json = word in (b"true", b"false", b"null") or word[:1] in b'"-0123456789'
    what = "JSON, but not a trace" if is_json else f"not JSON (byte {window.at - len(word) if word else 0})"
    known = None if is_json else known_stranger(word + window.text()[:HEAD_BYTES])
    if known is not None:
        raise UnreadableFileError(f"{name}: {what}: it is {known.what}", hint=known.hint)
    kind = NotATraceError if is_json else UnreadableFileError
    raise kind(f"{name}: {what}", hint=_RECORD_HINT)


def _end(window: Window, text: Text, reading: _Reading) -> None:
    """Why the text stopped, where its packing says more; and what comes after the trace."""
    if reading.damage is None and window.peek():
        byte = window.at
        what = "a second trace begins" if window.peek() in (b"{", b"[") else "something else begins"
        reading.damage = Damage(byte, f"{what} at byte {byte}, and was left out")
    if text.failure is not None:
        reading.damage = Damage(window.end, text.failure)
    if reading.damage is not None:
        reading.damage = replace(reading.damage, is_after_rows=reading.has_all_rows)


def _refuse_nothing(reading: _Reading, name: str) -> None:
    if reading.damage is not None and not reading.gathered.rows:
        raise UnreadableFileError(f"{name}: {reading.damage.reason}", hint=_RECORD_HINT)
    if not reading.has_events:
        raise NotATraceError(f"{name}: JSON, but not a trace: it has no traceEvents", hint=_RECORD_HINT)


def _lost_share(gathered: Gathered, window: Window) -> float:
    """As in `TraceFacts`."""
    unread = sum(gathered.left_out[reason] for reason in (*UNTIMED, NO_EVENTS))
    lost_bytes = gathered.lost_bytes + window.hole_bytes
    return max(lost_bytes / max(window.end, 1), unread / max(gathered.rows + unread, 1))


def _trace(reading: _Reading, encoding: str, lost_share: float) -> Trace:
    table = assemble(reading.gathered)
    found = facts(reading.header, reading.gathered, table, reading.damage, lost_share)
    column, mask = table.column, table.mask
    return Trace(
        names=table.names,
        name_id=column["name"],
        kind=column["kind"],
        start_ns=column["start"],
        duration_ns=column["duration"],
        thread=column["thread"],
        device=column["device"],
        stream=column["stream"],
        has_stream=mask["stream"],
        correlation=column["correlation"],
        has_correlation=mask["correlation"],
        detail_id=column["detail"],
        has_detail=mask["detail"],
        details=tuple(op_detail(text) for text in table.details),
        base_ns=table.first_ns + (base_time_ns(reading.header) or 0),
        device_name=busiest_device(found.devices, table),
        notes=_sentences(found.damage, found.left_out, found.mended, found.unread_device_rows, encoding),
        external_id=column["external"],
        has_external_id=mask["external"],
        facts=found,
    )


def _sentences(
    damage: Damage | None,
    left_out: tuple[RowCount, ...],
    mended: tuple[RowCount, ...],
    unread: int,
    encoding: str,
) -> tuple[str, ...]:
    lost = (f"only what comes before byte {damage.byte} was read: {damage.reason}",) if damage else ()
    device = (
        (f"{unread} rows are work of a device whose words are not known; it is in no time given",) if unread else ()
    )
    written = (f"the file is written in {encoding}",) if encoding != "utf-8" else ()
    return (
        *lost,
        *device,
        *(f"{c.rows} {c.what} were left out{_first(c)}" for c in left_out),
        *(f"{c.rows} {c.what}{_first(c)}" for c in mended),
        *written,
    )


def _first(count: RowCount) -> str:
    return f"; the first at byte {count.first_byte}" if count.first_byte is not None else ""
