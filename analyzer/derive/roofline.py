"""How far a kernel is from what the device can compute and move at most, and which of the two is nearer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import VECTOR, Device

LATENCY_SHARE: Final = 0.40
"""Under this share of both roofs a kernel waits rather than works: the mark that our verdicts are validated against
(hardware counters, both throughputs under 40 %). GEMMs and copies that fill an H200 reach 0.6 to 0.9 of the measured
peaks."""

SHORT_KERNEL_NS: Final = 10_000
"""A kernel up to this long may be far from a roof because it is small: filling and draining a device takes some 2 to
5 µs (an empty kernel alone 1 to 2 µs on an H200; a parallel loop on a CPU opens and closes in about 5 µs). A longer one
has had the time to reach a roof. On a GPU it waits all the same, if all of its work is counted; on a CPU, where no
counters say so, a matrix product is counted under the nearer roof, and of any other kernel nothing is claimed."""

FAR_SHARE: Final = 0.05
"""Under a twentieth of both roofs, not even a matrix product that is long is explained by the nearer one on a CPU:
small batches reach 0.07 and more, and less was seen only where another program held the cores."""

FLOOR_FACTOR: Final = 10.0
"""How often a kernel whose traffic is counted as a floor may move it: a radix sort of 64-bit keys reads and writes them
in 8 passes of 8 bits (CUB's DeviceRadixSort), and looks at them once before."""

CLEAR_SHARE: Final = 0.60
"""Of the bandwidth, from which on a kernel of unknown arithmetic is under the memory roof: above this Nsight Compute
(rule SOLBottleneck) calls a unit well used."""

SATURATED_SHARE: Final = 0.80
"""Of the bandwidth, from which on memory bounds a kernel whatever a rough count of instructions says: above this Nsight
Compute (the same rule) sends one to that unit alone."""

EMPTY_KERNELS: Final = 2.0
"""A kernel within this many durations of an empty one spends half its time or more on starting and ending,
whatever it does."""

ANOMALY_SHARE: Final = 1.05
"""Over 105 % of a measured peak the count, the peak or the clock is wrong: it is shown, not believed in silence."""

SMALLEST_CACHE_BYTES: Final = 1 << 20
"""The last-level cache taken for granted where its size is unknown: no GPU since 2017 (V100: 6 MiB) has less, and no
CPU that torch is run on."""

OPERATIONS_A_MULTIPLY_ADD: Final = 2
"""An instruction of `Kernel.instructions` takes the time of one multiply-add, which a peak counts as two operations."""

_TF32_NAME: Final = re.compile(r"tf32|s1688gemm", re.IGNORECASE)
"""Kernels that say themselves that they run TF32 (`cutlass_80_tensorop_s1688gemm_…`, `…_tf32f32_…`)."""

_FLOAT8: Final = ("float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
"""8-bit floats multiply at one rate; it is measured as `float8_e4m3fn`."""


class Anomaly(Enum):
    """What came out over 105 %; the value is how it is said."""

    ARITHMETIC = "of the arithmetic peak"
    BANDWIDTH = "of the memory bandwidth"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as the roofline sees it. None is unknown.

    `flops`, `bytes`, `dtype`, `instructions` and `is_floor` are those of its `Cost`; `read_bytes` is the part of
    `bytes` that is read, `resident_bytes` the part that the cache may have held already.
    """

    name: str
    duration_ns: int
    flops: float | None
    bytes: float | None
    dtype: str | None
    instructions: float | None = None
    is_floor: bool = False
    read_bytes: float | None = None
    resident_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """`part` is COMPUTE, MEMORY, LATENCY or UNKNOWN_KERNELS. The times are None where unknown.

    `compute_ns` and `memory_ns` are what arithmetic and traffic alone would take at the measured peaks, with a cold
    cache; `warm_ns` is the traffic's if the cache held what it may have held. `is_rough` where `compute_ns` comes from
    a count of instructions, which is right to a factor of two.
    """

    part: Part
    compute_ns: float | None = None
    memory_ns: float | None = None
    anomaly: Anomaly | None = None
    warm_ns: float | None = None
    is_rough: bool = False


@dataclass(frozen=True, slots=True)
class _Times:
    """What each resource alone would take. `matrix_ns` None: unknown; `instruction_ns` None: not counted."""

    matrix_ns: float | None
    instruction_ns: float | None
    memory_ns: float
    warm_ns: float

    @property
    def compute_ns(self) -> float | None:
        return None if self.matrix_ns is None else max(self.matrix_ns, self.instruction_ns or 0.0)

    @property
    def is_rough(self) -> bool:
        return self.matrix_ns is not None and (self.instruction_ns or 0.0) > self.matrix_ns


def roof_point(kernel: Kernel, device: Device, allow_tf32: bool | None) -> RoofPoint:
    """Which roof a kernel is under. `allow_tf32` is whether float32 products may run as TF32, None if not known.

    The larger of arithmetic and memory time, against the duration, decides; under 40 % of both is latency. There is no
    roof for a kernel of unknown cost, a matrix product for whose dtype no peak was measured, traffic on a device of
    unknown bandwidth; nor for a kernel far from the roofs that are known while some of its work is not (arithmetic not
    counted, traffic only a floor). Traffic over 105 % of the bandwidth that no cache can have served was counted too
    high (a kernel that reads a part of its argument), and says nothing.
    """
    times = _times(kernel, device, allow_tf32)
    if times is None or (times.matrix_ns is None and kernel.flops is not None):
        return _unknown(kernel, device, None, None)
    anomaly = _anomaly(kernel, times)
    if anomaly is Anomaly.BANDWIDTH and not _may_be_cached(kernel, device, times):
        return _unknown(kernel, device, None, anomaly)
    if times.compute_ns is None:
        is_clear = times.memory_ns >= CLEAR_SHARE * kernel.duration_ns
        point = RoofPoint(Part.MEMORY, None, times.memory_ns, anomaly, times.warm_ns)
        return point if is_clear else _unknown(kernel, device, times, anomaly)
    return RoofPoint(
        _part(kernel, device, times), times.compute_ns, times.memory_ns, anomaly, times.warm_ns, times.is_rough
    )


def matrix_dtype(kernel: Kernel, device: Device, allow_tf32: bool | None) -> str | None:
    """The name of the peak that a matrix product runs against; None where float32 and TF32 cannot be told apart."""
    if kernel.dtype in _FLOAT8 and device.peak(kernel.dtype) is None:
        return "float8_e4m3fn"
    if kernel.dtype != "float32" or device.peak("tf32") is None:
        return kernel.dtype
    if _TF32_NAME.search(kernel.name) or allow_tf32:
        return "tf32"
    return None if allow_tf32 is None else "float32"


def _part(kernel: Kernel, device: Device, times: _Times) -> Part:
    compute_ns = times.compute_ns or 0.0
    nearest = max(compute_ns, times.memory_ns)
    share = nearest / kernel.duration_ns if kernel.duration_ns else 0.0
    if share < LATENCY_SHARE:
        return _far_part(kernel, device, times, share)
    if times.is_rough and times.memory_ns >= SATURATED_SHARE * kernel.duration_ns:
        return Part.MEMORY
    return _nearer(times)


def _far_part(kernel: Kernel, device: Device, times: _Times, share: float) -> Part:
    """The part of a kernel that is under 40 % of both roofs."""
    if kernel.is_floor:
        return Part.LATENCY if FLOOR_FACTOR * share < LATENCY_SHARE else Part.UNKNOWN_KERNELS
    if kernel.duration_ns <= SHORT_KERNEL_NS:
        return Part.LATENCY
    if device.kind == "cpu":
        return _nearer(times) if kernel.flops and share >= FAR_SHARE else Part.UNKNOWN_KERNELS
    is_counted = bool(kernel.flops) or times.instruction_ns is not None
    return Part.LATENCY if is_counted else Part.UNKNOWN_KERNELS


def _nearer(times: _Times) -> Part:
    return Part.COMPUTE if (times.compute_ns or 0.0) > times.memory_ns else Part.MEMORY


def _unknown(kernel: Kernel, device: Device, times: _Times | None, anomaly: Anomaly | None) -> RoofPoint:
    part = Part.LATENCY if _is_about_empty(kernel, device) else Part.UNKNOWN_KERNELS
    return RoofPoint(part, None, times.memory_ns if times is not None else None, anomaly)


def _times(kernel: Kernel, device: Device, allow_tf32: bool | None) -> _Times | None:
    """None where nothing is known of the traffic."""
    if kernel.bytes is None or not device.memory_bytes_per_s:
        return None
    cold_ns = _memory_ns(kernel, device, kernel.bytes, kernel.read_bytes)
    warm_ns = cold_ns
    if kernel.resident_bytes:
        read = None if kernel.read_bytes is None else kernel.read_bytes - kernel.resident_bytes
        warm_ns = _memory_ns(kernel, device, kernel.bytes - kernel.resident_bytes, read)
        if device.l2_bytes_per_s:
            warm_ns += kernel.resident_bytes / device.l2_bytes_per_s * 1e9
    return _Times(
        _matrix_ns(kernel, device, allow_tf32), _instruction_ns(kernel, device), cold_ns, min(warm_ns, cold_ns)
    )


def _matrix_ns(kernel: Kernel, device: Device, allow_tf32: bool | None) -> float | None:
    if kernel.flops is None:
        return None
    if kernel.flops == 0:
        return 0.0
    peak = device.peak(matrix_dtype(kernel, device, allow_tf32))
    return kernel.flops / peak * 1e9 if peak else None


def _instruction_ns(kernel: Kernel, device: Device) -> float | None:
    """At the rate outside the matrix units; where that was not measured, at that of float32 products, which is some
    10 to 20 % lower where they run outside of them too.
    """
    rate = device.peak(VECTOR) or device.peak("float32")
    if kernel.instructions is None or rate is None:
        return None
    return kernel.instructions * OPERATIONS_A_MULTIPLY_ADD / rate * 1e9


def _memory_ns(kernel: Kernel, device: Device, moved: float, read: float | None) -> float:
    """A copy reads and writes as much: its rate and that of reading alone give that of writing."""
    copying, reading = device.memory_bytes_per_s, device.read_bytes_per_s
    if not copying:
        return 0.0
    if read is not None and reading and reading > copying / 2:
        writing_s = 2 / copying - 1 / reading
        return (read / reading + (moved - read) * writing_s) * 1e9
    return moved / copying * 1e9


def _is_about_empty(kernel: Kernel, device: Device) -> bool:
    return device.empty_kernel_ns is not None and kernel.duration_ns <= EMPTY_KERNELS * device.empty_kernel_ns


def _anomaly(kernel: Kernel, times: _Times) -> Anomaly | None:
    """A rough count over the peak is no anomaly."""
    if (times.matrix_ns or 0.0) > ANOMALY_SHARE * kernel.duration_ns:
        return Anomaly.ARITHMETIC
    return Anomaly.BANDWIDTH if times.memory_ns > ANOMALY_SHARE * kernel.duration_ns else None


def _may_be_cached(kernel: Kernel, device: Device, times: _Times) -> bool:
    """Whether the last-level cache may hold all of the traffic, or so much that memory can have moved the rest."""
    cache = SMALLEST_CACHE_BYTES if device.l2_bytes is None else device.l2_bytes
    return (kernel.bytes is not None and kernel.bytes <= cache) or times.warm_ns <= ANOMALY_SHARE * kernel.duration_ns
