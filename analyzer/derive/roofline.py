"""How far a kernel is from what the device can compute and move at most, and which of the two is nearer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device

LATENCY_SHARE: Final = 0.40
"""Under this share of both roofs a short kernel waits rather than works. Half of a roof is what a kernel of one wave
still reaches once it streams; GEMMs and copies that fill an H200 reach 0.6 to 0.9 of the measured peaks."""

SHORT_KERNEL_NS: Final = 10_000
"""A kernel up to this long may be far from a roof because it is small: filling and draining a device takes some 2 to
5 µs (an empty kernel alone 1 to 2 µs on an H200; a parallel loop on a CPU opens and closes in about 5 µs). A longer
one has had the time to reach a roof. A matrix product is then counted under the nearer one, however far; for a kernel
without one, whose arithmetic is not counted, nothing is claimed (see FAR_SHARE)."""

FAR_SHARE: Final = 0.05
"""Under a twentieth of both roofs, not even a matrix product that is long is explained by the nearer one: small batches
on a CPU reach 0.07 and more, and less was seen only where another program held the cores."""

EMPTY_KERNELS: Final = 2.0
"""A kernel within this many durations of an empty one spends half its time or more on starting and ending,
whatever it does."""

ANOMALY_SHARE: Final = 1.05
"""Over 105 % of a measured peak the count, the peak or the clock is wrong: it is shown, not believed in silence."""

SMALLEST_CACHE_BYTES: Final = 1 << 20
"""The last-level cache taken for granted where its size is unknown: no GPU since 2017 (V100: 6 MiB) has less, and no
CPU that torch is run on."""

_TF32_NAME: Final = re.compile(r"tf32|s1688gemm", re.IGNORECASE)
"""Kernels that say themselves that they run TF32 (`cutlass_80_tensorop_s1688gemm_…`, `…_tf32f32_…`)."""


class Anomaly(Enum):
    """What came out over 105 %; the value is how it is said."""

    ARITHMETIC = "of the arithmetic peak"
    BANDWIDTH = "of the memory bandwidth"


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as the roofline sees it. `flops` and `bytes` are None together, where nothing is known of it."""

    name: str
    duration_ns: int
    flops: float | None
    bytes: float | None
    dtype: str | None


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """`part` is COMPUTE, MEMORY, LATENCY or UNKNOWN_KERNELS. The shares are of the roofs, None where unknown.

    `compute_ns` and `memory_ns` are what arithmetic and traffic alone would take at the measured peaks.
    """

    part: Part
    compute_ns: float | None = None
    memory_ns: float | None = None
    anomaly: Anomaly | None = None


UNKNOWN: Final = RoofPoint(Part.UNKNOWN_KERNELS)


def roof_point(kernel: Kernel, device: Device, allow_tf32: bool | None) -> RoofPoint:
    """Which roof a kernel is under. `allow_tf32` is whether float32 products may run as TF32, None if not known.

    The larger of arithmetic and memory time, against the duration, decides; short and under 40 % of both is latency.
    A matrix product for whose dtype no peak was measured, a kernel of unknown cost, traffic on a device of unknown
    bandwidth, and a long kernel under 40 % of the bandwidth (a product: under 5 % of both roofs) have no roof. Traffic
    over 105 % of the bandwidth that no cache can have served was counted too high (a kernel that reads a part of its
    argument), and says nothing.
    """
    compute_ns, memory_ns = _compute_ns(kernel, device, allow_tf32), _memory_ns(kernel, device)
    if compute_ns is None or memory_ns is None:
        return RoofPoint(Part.LATENCY) if _is_about_empty(kernel, device) else UNKNOWN
    anomaly = _anomaly(kernel, compute_ns, memory_ns)
    if anomaly is Anomaly.BANDWIDTH and not _fits_cache(kernel, device):
        part = Part.LATENCY if _is_about_empty(kernel, device) else Part.UNKNOWN_KERNELS
        return RoofPoint(part, anomaly=anomaly)
    share = max(compute_ns, memory_ns) / kernel.duration_ns if kernel.duration_ns else 0.0
    if share < LATENCY_SHARE and kernel.duration_ns <= SHORT_KERNEL_NS:
        return RoofPoint(Part.LATENCY, compute_ns, memory_ns, anomaly)
    if share < (FAR_SHARE if kernel.flops else LATENCY_SHARE):
        return RoofPoint(Part.UNKNOWN_KERNELS, compute_ns, memory_ns, anomaly)
    return RoofPoint(Part.COMPUTE if compute_ns > memory_ns else Part.MEMORY, compute_ns, memory_ns, anomaly)


def matrix_dtype(kernel: Kernel, device: Device, allow_tf32: bool | None) -> str | None:
    """The name of the peak that a matrix product runs against; None where float32 and TF32 cannot be told apart."""
    if kernel.dtype != "float32" or device.peak("tf32") is None:
        return kernel.dtype
    if _TF32_NAME.search(kernel.name) or allow_tf32:
        return "tf32"
    return None if allow_tf32 is None else "float32"


def _compute_ns(kernel: Kernel, device: Device, allow_tf32: bool | None) -> float | None:
    if kernel.flops is None:
        return None
    if kernel.flops == 0:
        return 0.0
    peak = device.peak(matrix_dtype(kernel, device, allow_tf32))
    return kernel.flops / peak * 1e9 if peak else None


def _memory_ns(kernel: Kernel, device: Device) -> float | None:
    if kernel.bytes is None or not device.memory_bytes_per_s:
        return None
    return kernel.bytes / device.memory_bytes_per_s * 1e9


def _is_about_empty(kernel: Kernel, device: Device) -> bool:
    return device.empty_kernel_ns is not None and kernel.duration_ns <= EMPTY_KERNELS * device.empty_kernel_ns


def _anomaly(kernel: Kernel, compute_ns: float, memory_ns: float) -> Anomaly | None:
    if compute_ns > ANOMALY_SHARE * kernel.duration_ns:
        return Anomaly.ARITHMETIC
    return Anomaly.BANDWIDTH if memory_ns > ANOMALY_SHARE * kernel.duration_ns else None


def _fits_cache(kernel: Kernel, device: Device) -> bool:
    """Whether the last-level cache may hold all of the traffic, so that memory need not have moved it."""
    cache = SMALLEST_CACHE_BYTES if device.l2_bytes is None else device.l2_bytes
    return kernel.bytes is not None and kernel.bytes <= cache
