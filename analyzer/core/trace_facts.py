"""What a trace file says of itself and what reading it cost: beside the columns, never derived from them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


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
    """From this byte of the unpacked text on, nothing was read. `reason` is a clause: `cut: …`. `is_after_rows`: the
    list of rows had been read to its end before.
    """

    byte: int
    reason: str
    is_after_rows: bool = False


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


MOST_LOST: Final = 0.01
"""A choice: a few broken rows among thousands change no verdict that is sure."""


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
    lost_share: float = 0.0
    """Of the text that was read: where rows should be and none could be read, as in a file with a hole; or of the rows:
    those without times, or with a field of another type, if they are more.
    """

    @property
    def lacks_rows(self) -> bool:
        """Whether the file is cut or broken within its rows. They come in no order of time: any of them may be missing,
        and those of the device come last.
        """
        is_cut = self.damage is not None and not self.damage.is_after_rows
        return is_cut or self.lost_share > MOST_LOST
