"""What makers say of their devices, for traces recorded elsewhere: dense rates, bandwidth, caches. Nothing is measured.

Names are matched as the driver gives them (`deviceProperties` of a trace). What is not in the table stays unknown.
"""

from __future__ import annotations

import re
from typing import Final

from analyzer.core.device import VECTOR, Device, Peak, Source
from analyzer.derive.data_sheet_table import SHEETS, Sheet

_MEMORY_TOLERANCE: Final = 0.11
"""A driver shows up to 9 % less than the sheet (error correction and what it reserves: a T4 of 16 GB has 14.6 GiB
left). Devices of one name that differ in memory differ by a sixth and more (H100: 80 and 94 GB)."""

_DTYPES: Final = ("float32", "tf32", "bfloat16", "float16", "float8_e4m3fn", "float8_e4m3fnuz", "int8")

_PREFIX: Final = re.compile(r"(?:NVIDIA |AMD )?(?:Tesla |GeForce |Instinct )?")


def data_sheet(name: str, memory_bytes: int | None = None, sm_count: int | None = None) -> Device | None:
    """The device of this name, with source DATA_SHEET; None where it is not in the table.

    `sm_count` counts multiprocessors or compute units. Both it and `memory_bytes` choose between devices of one name
    and rule out a part of one (a MIG slice, a partition), of which no sheet speaks. A name that still fits several
    takes the lowest of each of their figures; the first note then says so. The last note names the sheets.
    """
    fits = [sheet for sheet in SHEETS if _fits(sheet, name, memory_bytes, sm_count)]
    if not fits:
        return None
    titles = tuple(dict.fromkeys(sheet.source for sheet in fits))
    several = () if len(fits) == 1 else (_several(name, fits),)
    bandwidth = min(sheet.bytes_per_s for sheet in fits)
    return Device(
        kind="cuda",
        name=name,
        source=Source.DATA_SHEET,
        peaks=_lowest_peaks(fits),
        memory_bytes_per_s=bandwidth,
        read_bytes_per_s=bandwidth,
        memory_bytes=memory_bytes if memory_bytes is not None else _lowest_memory(fits),
        l2_bytes=min(sheet.l2_bytes for sheet in fits),
        notes=(*several, f"dense figures of: {'; '.join(titles)}"),
    )


def _fits(sheet: Sheet, name: str, memory_bytes: int | None, sm_count: int | None) -> bool:
    bare = name.strip()
    prefix = _PREFIX.match(bare)
    bare = bare[prefix.end() :] if prefix else bare
    return (
        re.fullmatch(sheet.pattern, bare) is not None
        and (sm_count is None or sm_count == sheet.multiprocessors)
        and (memory_bytes is None or any(_is_near(memory_bytes, size) for size in sheet.memory_bytes))
    )


def _is_near(memory_bytes: int, nominal_bytes: int) -> bool:
    return abs(memory_bytes / nominal_bytes - 1) <= _MEMORY_TOLERANCE


def _several(name: str, fits: list[Sheet]) -> str:
    return f"{name} may be {' or '.join(sheet.title for sheet in fits)}: the lowest figure of each kind is taken"


def _lowest_peaks(fits: list[Sheet]) -> tuple[Peak, ...]:
    """Of the dtypes that all of them have, and of float32 outside the matrix units."""
    peaks = []
    for dtype in _DTYPES:
        rates = [rate for sheet in fits if (rate := sheet.matrix_flops_per_s(dtype)) is not None]
        if len(rates) == len(fits):
            peaks.append(Peak(dtype, min(rates)))
    return (*peaks, Peak(VECTOR, min(sheet.vector_flops_per_s for sheet in fits)))


def _lowest_memory(fits: list[Sheet]) -> int:
    return min(size for sheet in fits for size in sheet.memory_bytes)
