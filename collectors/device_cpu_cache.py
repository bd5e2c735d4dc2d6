"""How large the last cache before memory is, as Linux tells it. Measures nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CPUS: Final = Path("/sys/devices/system/cpu")
"""Documented in the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu."""

_SIZE: Final = re.compile(r"(?P<number>\d+)(?P<unit>[KMG]?)")
_UNITS: Final = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_NO_DATA: Final = "Instruction"


@dataclass(frozen=True, slots=True, order=True)
class _Cache:
    """`shared_by` is the kernel's list of the CPUs that have it in common: two caches of a level differ in it."""

    level: int
    shared_by: str
    size_bytes: int


def last_level_bytes(threads: int, root: Path = _CPUS) -> int | None:
    """Bytes of the last-level caches that `threads` threads can reach together; None where the system does not say.

    A processor may have several, each for some of its cores (EPYC: 32 MiB for eight). Threads are taken to be spread
    over them, and only those of the CPUs that this process may run on count.
    """
    found = {cache for cpu in sorted(_allowed_cpus()) if (cache := _last_level(root / f"cpu{cpu}" / "cache"))}
    level = max((cache.level for cache in found), default=None)
    largest = sorted((cache.size_bytes for cache in found if cache.level == level), reverse=True)
    return sum(largest[:threads]) or None


def _allowed_cpus() -> set[int]:
    try:
        return os.sched_getaffinity(0)
    except AttributeError:
        # Not Linux: there is no such folder either.
        return set()


def _last_level(folder: Path) -> _Cache | None:
    """The largest level of one CPU that holds data."""
    caches = [_read(index) for index in folder.glob("index*")]
    return max((cache for cache in caches if cache is not None), default=None)


def _read(index: Path) -> _Cache | None:
    try:
        kind, level, size, shared = (
            (index / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
        )
    except (OSError, UnicodeDecodeError):
        return None
    parts = _SIZE.fullmatch(size)
    if parts is None or kind == _NO_DATA or not level.isdecimal():
        return None
    return _Cache(int(level), shared, int(parts["number"]) * _UNITS[parts["unit"]])
