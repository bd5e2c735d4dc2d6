"""What stands beside the events in a file, as `TraceFacts`. A value that is not what it should be reads as unsaid."""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
import numpy as np

from analyzer.core.distinct import commonest, distinct
from analyzer.core.trace import EventKind
from analyzer.core.trace_facts import (
    Damage,
    Distributed,
    ProcessGroup,
    RowCount,
    TracedDevice,
    TraceFacts,
    Vendor,
)
from collectors.readers.assembly import Gathered, Table, device_rows
from collectors.readers.dialects import vendor_of_calls, vendor_of_device
from collectors.readers.events import FAILURES
from collectors.readers.exact import integer

WANTED: Final = frozenset(
    (
        b"deviceProperties", b"baseTimeNanoseconds", b"distributedInfo", b"record_shapes", b"with_stack",
        b"profile_memory", b"with_modules", b"hip_runtime_version", b"roctracer_version", b"cuda_runtime_version",
        b"cupti_version",
    )
)  # fmt: skip
"""The keys beside `traceEvents` that are kept."""

Header = dict[bytes, bytes]
_T = TypeVar("_T")
_CALLS: Final = (EventKind.LAUNCH, EventKind.RUNTIME, EventKind.SYNC)


class _Device(msgspec.Struct):
    # Fields are named as in the file.
    id: object = None
    name: object = None
    totalGlobalMem: object = None
    numSms: object = None
    computeMajor: object = None
    computeMinor: object = None


class _Group(msgspec.Struct):
    pg_name: object = None
    pg_desc: object = None
    backend_config: object = None
    ranks: object = None


class _Distributed(msgspec.Struct):
    rank: object = None
    world_size: object = None
    backend: object = None
    pg_config: object = None


def facts(header: Header, gathered: Gathered, table: Table, damage: Damage | None, lost_share: float) -> TraceFacts:
    """`lost_share` as in `TraceFacts`."""
    devices = _devices(header.get(b"deviceProperties", b""))
    return TraceFacts(
        vendor=_vendor(header, table, devices, gathered.unread_device_rows),
        damage=damage,
        mended=_counts(gathered.mended, gathered.first_byte),
        left_out=_counts(gathered.left_out, gathered.first_byte),
        distributed=_distributed(header.get(b"distributedInfo", b"")),
        devices=devices,
        recorded_shapes=_flag(header, b"record_shapes"),
        recorded_stacks=_flag(header, b"with_stack"),
        recorded_memory=_flag(header, b"profile_memory"),
        recorded_modules=_flag(header, b"with_modules"),
        unread_device_rows=gathered.unread_device_rows,
        lost_share=lost_share,
    )


def base_time_ns(header: Header) -> int | None:
    """What the times of the file count from, since 1970; None where they are absolute."""
    return integer(header.get(b"baseTimeNanoseconds", b""))


def busiest_device(devices: tuple[TracedDevice, ...], table: Table) -> str | None:
    """The name of the device that most device rows ran on, or of the only kind there is."""
    names = {d.number: d.name for d in devices if d.name}
    rows = device_rows(table)
    if rows.size:
        busiest = commonest(rows)
        if busiest in names:
            return names[busiest]
    different = set(names.values())
    return different.pop() if len(different) == 1 else None


def _vendor(header: Header, table: Table, devices: tuple[TracedDevice, ...], unread: int) -> Vendor:
    """By the calls, which are the device's own; else by the versions and devices that the file names."""
    calls = distinct(table.column["name"][np.isin(table.column["kind"], _CALLS)])
    called = vendor_of_calls(table.names[i] for i in calls.tolist())
    if called is not None:
        return called
    if header.keys() & {b"hip_runtime_version", b"roctracer_version"}:
        return Vendor.ROCM
    if header.keys() & {b"cuda_runtime_version", b"cupti_version"} and device_rows(table).size:
        return Vendor.CUDA
    named = [v for d in devices if d.name and (v := vendor_of_device(d.name)) is not None]
    if named:
        return named[0]
    is_host = not calls.size and not device_rows(table).size and not unread
    return Vendor.CPU if is_host else Vendor.UNKNOWN


def _devices(text: bytes) -> tuple[TracedDevice, ...]:
    found = _decoded(text, list[object])
    devices = [_converted(d, _Device) for d in found or []]
    return tuple(
        TracedDevice(
            number=_number(d.id),
            name=_word(d.name),
            memory_bytes=_number(d.totalGlobalMem),
            multiprocessors=_number(d.numSms),
            compute=_pair(d.computeMajor, d.computeMinor),
        )
        for d in devices
        if d is not None
    )


def _distributed(text: bytes) -> Distributed | None:
    found = _decoded(text, _Distributed)
    if found is None:
        return None
    groups = found.pg_config if isinstance(found.pg_config, list) else []
    return Distributed(
        rank=_number(found.rank),
        world_size=_number(found.world_size),
        backend=_word(found.backend),
        groups=tuple(_group(g) for g in (_converted(g, _Group) for g in groups) if g is not None),
    )


def _group(group: _Group) -> ProcessGroup:
    ranks = group.ranks if isinstance(group.ranks, list) else []
    return ProcessGroup(
        name=str(group.pg_name) if isinstance(group.pg_name, str | int) else "",
        description=_word(group.pg_desc),
        backend=_word(group.backend_config),
        ranks=tuple(r for r in ranks if _number(r) is not None),
    )


def _counts(counts: dict[str, int], first_byte: dict[str, int]) -> tuple[RowCount, ...]:
    return tuple(RowCount(what, n, first_byte.get(what)) for what, n in sorted(counts.items()))


def _flag(header: Header, key: bytes) -> bool | None:
    text = header.get(key, b"").strip(b'"')
    return {b"1": True, b"true": True, b"0": False, b"false": False}.get(text)


def _decoded(text: bytes, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except FAILURES:
        return None


def _converted(value: object, kind: type[_T]) -> _T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def _number(value: object) -> int | None:
    return value if type(value) is int else None


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _pair(major: object, minor: object) -> tuple[int, int] | None:
    first, second = _number(major), _number(minor)
    return (first, second) if first is not None and second is not None else None
