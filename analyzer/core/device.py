"""What a device can do at most, and where that number comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Source(Enum):
    MEASURED = "measured"
    DATA_SHEET = "data sheet"


@dataclass(frozen=True, slots=True)
class Peak:
    """The dense matrix rate for one input dtype (`float32`, `tf32`, `bfloat16`, `float16`, …)."""

    dtype: str
    flops_per_s: float


@dataclass(frozen=True, slots=True)
class Device:
    """One device, as measured. None is unknown.

    `kernel_gap_ns` is the gap between two kernels of one CUDA graph; `replay_ns` the fixed cost of a replay, from
    call to synchronised; `empty_op_ns` the framework's cost of an operation on an empty tensor; `empty_kernel_ns`
    the duration of a kernel that does nothing; `launch_ns` the host's cost of one launch.
    """

    kind: str
    name: str
    source: Source
    peaks: tuple[Peak, ...] = ()
    memory_bytes_per_s: float | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    launch_ns: float | None = None
    kernel_gap_ns: float | None = None
    replay_ns: float | None = None
    empty_kernel_ns: float | None = None
    empty_op_ns: float | None = None
    threads: int | None = None

    def peak(self, dtype: str | None) -> float | None:
        """The dense matrix peak for `dtype`, in operations a second; None where it was not measured."""
        return next((p.flops_per_s for p in self.peaks if p.dtype == dtype), None)


@dataclass(frozen=True, slots=True)
class Versions:
    graphbound: str
    python: str
    torch: str
    triton: str | None = None
    cuda: str | None = None
    driver: str | None = None
    platform: str | None = None
