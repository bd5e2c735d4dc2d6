"""What a caller may choose about reading a trace; the defaults suit any file that a profiler wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20

CHUNK_BYTES: Final = 2 * MIB
"""How much JSON is taken in at a time, and handed to a process that decodes beside this one: 7,000 rows. It is decoded
in shorter stretches (`chunks.STRETCH_BYTES`).
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a file stops being a trace and is taken for an attack. Every one of them can be raised.

    `text_bytes` bounds the JSON text of one file, unpacked: 200 million rows. `ratio` bounds how often its packed size
    it is, past the first `free_bytes`: real traces pack 10 to 60 times, gzip's bombs 1,000 times. `value_bytes` bounds
    one row, or one value beside the rows, since that has to lie in memory whole.
    """

    text_bytes: int = 64 << 30
    ratio: int = 400
    free_bytes: int = 64 * MIB
    value_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """`cache` is a folder of traces already read, None for none; files below `least_cached_bytes`, as they lie there,
    are left out of it. `workers` processes decode one file side by side."""

    cache: Path | None = None
    least_cached_bytes: int = 0
    workers: int = 1
    limits: Limits = field(default_factory=Limits)
    chunk_bytes: int = CHUNK_BYTES


DEFAULTS: Final = ReadSettings()
