"""What a trace file says of itself and what reading it cost: beside the columns, never derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Vendor(Enum):
    """Whose runtime recorded the device; the value is how it is said."""

    CUDA = "CUDA"
    ROCM = "ROCm"
    XPU = "XPU"
    MTIA = "MTIA"
    CPU = "CPU only"
    UNKNOWN = "unknown device"


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows that were mended or left out for one reason. `what` reads on after the number.

    `first_byte` is where the first of them begins in the unpacked text; None where that was not kept.
    """

    what: str
    rows: int
    first_byte: int | None = None


@dataclass(frozen=True, slots=True)
class Damage:
    """From this byte of the unpacked text on, nothing was read. `reason` is a clause: `cut: …`."""

    byte: int
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    name: str
    description: str | None
    backend: str | None
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distributed:
    """The file's `distributedInfo`. None is not said."""

    rank: int | None
    world_size: int | None
    backend: str | None
    groups: tuple[ProcessGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class TracedDevice:
    """One of the file's `deviceProperties`, which name devices that did nothing too. None is not said."""

    number: int | None
    name: str | None
    memory_bytes: int | None
    multiprocessors: int | None
    compute: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """`recorded_…` are the file's own words on what was asked of the profiler; None where it has none.

    `unread_device_rows` are rows of a device whose language is not known, so that its work is not in the columns.
    """

    vendor: Vendor = Vendor.UNKNOWN
    damage: Damage | None = None
    mended: tuple[RowCount, ...] = ()
    left_out: tuple[RowCount, ...] = ()
    distributed: Distributed | None = None
    devices: tuple[TracedDevice, ...] = ()
    recorded_shapes: bool | None = None
    recorded_stacks: bool | None = None
    recorded_memory: bool | None = None
    recorded_modules: bool | None = None
    unread_device_rows: int = 0
