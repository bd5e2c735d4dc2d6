"""What a device can do at most, and where that number comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class Source(Enum):
    MEASURED = "measured"
    DATA_SHEET = "data sheet"


VECTOR: Final = "float32_vector"
"""The `Peak` of float32 multiply-adds outside the matrix units, for kernels without a matrix product."""

NEEDS_KERNELS: Final = ("rate outside the matrix units", "L2 bandwidth")
"""What can be unknown of a GPU only because Triton is not there, in the words of `Device.unmeasured`."""


@dataclass(frozen=True, slots=True)
class Peak:
    """The dense matrix rate for one input dtype (`float32`, `tf32`, `bfloat16`, `float16`, `float8_e4m3fn`, `int8`);
    for `VECTOR` the rate outside the matrix units. A multiply-add is two operations.
    """

    dtype: str
    flops_per_s: float


@dataclass(frozen=True, slots=True)
class Device:
    """One device, as measured or as its data sheet has it. None is unknown.

    `memory_bytes_per_s` is what a copy reads plus what it writes, `read_bytes_per_s` what reading alone reaches; a
    data sheet gives one figure for both. `l2_bytes` is the last cache before memory: of a CPU, all that the threads
    in use can reach of its last level. `l2_bytes_per_s` is for reading from it.

    `launch_ns` is the host's cost of one launch; `launch_gap_ns` the gap, in a trace, between two kernels of one
    stream which the host launched well ahead; `kernel_gap_ns` that between two kernels of one CUDA graph; `replay_ns`
    the fixed cost of a replay, from call to synchronised, one after another; `replay_host_ns` what a device that has
    caught up waits for the host inside the graph's own call, after a step of the default, which makes it longer: of a
    graph without inputs where `replay_input_ns`, the cost of each, is known; `empty_kernel_ns` the duration of a kernel
    that does next to nothing; `empty_op_ns` the framework's cost of an operation on an empty tensor.

    `notes` say, a sentence each, what is not known and why, or which data sheet it is.
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
    read_bytes_per_s: float | None = None
    l2_bytes_per_s: float | None = None
    launch_gap_ns: float | None = None
    notes: tuple[str, ...] = ()
    replay_host_ns: float | None = None
    replay_input_ns: float | None = None

    def peak(self, dtype: str | None) -> float | None:
        """The dense matrix peak for `dtype`, in operations a second; None where it was not measured."""
        return next((p.flops_per_s for p in self.peaks if p.dtype == dtype), None)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """What measuring a device of this kind gives and is unknown of this one, in words."""
        figures = {
            "dense float32 peak": self.peak("float32"),
            "rate outside the matrix units": self.peak(VECTOR),
            "memory bandwidth": self.memory_bytes_per_s,
            "bandwidth of reading": self.read_bytes_per_s,
            "cost of an op without work": self.empty_op_ns,
        }
        if self.kind == "cuda":
            figures |= {
                "L2 bandwidth": self.l2_bytes_per_s,
                "launch cost": self.launch_ns,
                "kernel duration": self.empty_kernel_ns,
                "gap between launched kernels": self.launch_gap_ns,
                "gap between kernels of a CUDA graph": self.kernel_gap_ns,
                "cost of a replay": self.replay_ns,
            }
        return tuple(name for name, value in figures.items() if value is None)


@dataclass(frozen=True, slots=True)
class Versions:
    graphbound: str
    python: str
    torch: str
    triton: str | None = None
    cuda: str | None = None
    driver: str | None = None
    platform: str | None = None
