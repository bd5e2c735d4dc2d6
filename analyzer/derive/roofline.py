"""How far a kernel is from what the device can compute and move at most, and which of the two is nearer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source
from analyzer.derive.reached_rates import (
    HOPPER,
    REACHED_BY_COPIES,
    REACHED_BY_DTYPE,
    REACHED_BY_PRODUCTS,
    REACHED_BY_VECTORS,
    clock_fall,
    clock_rise,
    instruction_ns,
    memory_ns,
    slots_ns,
)

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

WRITE_CROSSINGS: Final = 1
"""What writes take of the last cache's rate, which is measured by reading, beside their own size: it takes half as much
a clock as it gives. Fills of 16, 19, 36, 39 and 41 MB at 2.8, 3.6, 3.5, 4.2 and 4.4 TB/s kept an H200's busy for 49,
65, 74, 77 and 79 % of the time, and DRAM for 19 at most of the first three: full would be 4.7 to 5.8 TB/s, of 9.4 that
are read."""

SYNCHRONOUS: Final = re.compile(r"flash_fwd_|flash_bwd_|fmha_cutlass|cutlass_80_|(?:^|_)sm80_|_s1688|_s16816")
SYNCHRONOUS_SHARE: Final = 0.629
"""Kernels made for Ampere multiply by `mma`, which on average reaches 62.9 % of what Hopper's own `wgmma` does (Luo et
al. 2024, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking"). FlashAttention-2 gets
35 to 50 % of an H100's peak for the same reason (Shah et al. 2024, FlashAttention-3)."""

FAST_FLOAT32: Final = re.compile(r"fmha_cutlassF_f32_aligned_\w*_sm80")
TF32_PRODUCTS: Final = 3
"""ATen's memory-efficient attention multiplies float32 as three products in TF32 (CUTLASS's OpMultiplyAddFastF32, in
mem_eff_attention/gemm/ of ATen)."""

_TF32_NAME: Final = re.compile(r"tf32|s1688gemm", re.IGNORECASE)
"""Kernels that say themselves that they run TF32 (`cutlass_80_tensorop_s1688gemm_…`, `…_tf32f32_…`)."""

_MULTIPLY_ADDS: Final = re.compile(r"_ffma_|simt_sgemm|(?:volta|ampere|maxwell)_sgemm")
"""Kernels that say themselves that they multiply float32 outside the matrix units, whatever is allowed."""

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
    `bytes` that is read, `resident_bytes` the part that the cache may have held already, `crossing_bytes` what crosses
    between that cache and the multiprocessors where it is more. `masked_flops` are done beside `flops` and thrown away.
    `occupied_share` is the share of the multiprocessors that have a block of it at all, at most.
    `again_bytes` may be moved beside `bytes`. `unwritten_bytes` are those of them that only the cache gets while the
    kernel runs. `near_slots` are what the load/store units are asked for (`Cost.near`), `issued_slots` what a product
    outside the matrix units asks of the issue slots (`Cost.issued`).
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
    crossing_bytes: float | None = None
    masked_flops: float = 0.0
    occupied_share: float | None = None
    again_bytes: float = 0.0
    near_slots: float = 0.0
    issued_slots: float = 0.0
    unwritten_bytes: float = 0.0


@dataclass(frozen=True, slots=True)
class RoofPoint:
    """`part` is COMPUTE, MEMORY, LATENCY or UNKNOWN_KERNELS. The times are None where unknown.

    `compute_ns` and `memory_ns` are what arithmetic and traffic alone would take at the measured peaks, with a cold
    cache; `warm_ns` is the traffic's if the cache held what it may have held. `is_rough` where `compute_ns` comes from
    a count of instructions, which is right to a factor of two. `compute_share` and `memory_share` are both as shares of
    the hardware's own rates over the kernel's time, as counters give them: these decide the part. `again_share` is what
    the memory's may be more, on a CPU, where accesses through an index found nothing kept for them; `near_share` is
    that of the first cache and shared memory, which `memory_ns` and `memory_share` leave out.
    """

    part: Part
    compute_ns: float | None = None
    memory_ns: float | None = None
    anomaly: Anomaly | None = None
    warm_ns: float | None = None
    is_rough: bool = False
    compute_share: float | None = None
    memory_share: float | None = None
    again_share: float = 0.0
    near_share: float = 0.0


@dataclass(frozen=True, slots=True)
class _Times:
    """What each resource alone would take. `matrix_ns` None: unknown; `instruction_ns` None: not counted.

    `peak_ns` is `matrix_ns` at the peak itself, were the kernel of the best kind; `unit` names the peak. `alone_ns` is
    `dram_ns` without what only the cache gets while the kernel runs.
    """

    unit: str | None
    matrix_ns: float | None
    peak_ns: float | None
    instruction_ns: float | None
    dram_ns: float
    alone_ns: float
    crossing_ns: float
    warm_ns: float
    near_ns: float = 0.0
    issued_ns: float = 0.0

    @property
    def memory_ns(self) -> float:
        return max(self.dram_ns, self.crossing_ns)

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
    shares = _shares(kernel, device, times)
    if times.compute_ns is None:
        if shares.memory < CLEAR_SHARE:
            return _unknown(kernel, device, times, anomaly)
        return RoofPoint(Part.MEMORY, None, times.memory_ns, anomaly, times.warm_ns, memory_share=shares.memory)
    return RoofPoint(
        part=_part(kernel, device, times, shares),
        compute_ns=times.compute_ns,
        memory_ns=times.memory_ns,
        anomaly=anomaly,
        warm_ns=times.warm_ns,
        is_rough=times.is_rough,
        compute_share=shares.compute,
        memory_share=shares.memory,
        near_share=shares.near,
        again_share=_again_share(kernel, device),
    )


def matrix_dtype(kernel: Kernel, device: Device, allow_tf32: bool | None) -> str | None:
    """The name of the peak that a matrix product runs against; None where float32 and TF32 cannot be told apart."""
    if kernel.dtype in _FLOAT8 and device.peak(kernel.dtype) is None:
        return "float8_e4m3fn"
    if kernel.dtype != "float32" or device.peak("tf32") is None:
        return kernel.dtype
    if _MULTIPLY_ADDS.search(kernel.name):
        return "float32"
    if _TF32_NAME.search(kernel.name) or _is_fast_float32(kernel, device) or allow_tf32:
        return "tf32"
    return None if allow_tf32 is None else "float32"


@dataclass(frozen=True, slots=True)
class _Shares:
    """Of the hardware's own rates, over the kernel's time. `near` is the first cache and shared memory."""

    compute: float
    memory: float
    near: float = 0.0


def _shares(kernel: Kernel, device: Device, times: _Times) -> _Shares:
    """What was measured is less than the hardware gives; a data sheet says what it gives. A CPU has no such counters.

    A cache's rate is taken as it was measured: nothing says what the hardware's own is.
    """
    ns = kernel.duration_ns or 1
    compute_ns = max(times.compute_ns or 0.0, times.issued_ns)
    if device.kind != "cuda" or device.source is not Source.MEASURED:
        return _Shares(compute_ns / ns, max(times.alone_ns, times.crossing_ns) / ns, times.near_ns / ns)
    done = 1.0 + kernel.masked_flops / kernel.flops if kernel.flops else 1.0
    matrix_ns = REACHED_BY_DTYPE.get(times.unit or "", REACHED_BY_PRODUCTS) * (times.matrix_ns or 0.0) * done
    rise = clock_rise(device, times.unit, (times.matrix_ns or 0.0) * done / ns)
    slowed = clock_fall(device, times.unit, (times.peak_ns or 0.0) * done / ns)  # as the matrix units that are fed
    return _Shares(
        compute=max(matrix_ns / rise, REACHED_BY_VECTORS * max(times.instruction_ns or 0.0, times.issued_ns)) / ns,
        memory=max(REACHED_BY_COPIES * times.alone_ns, times.crossing_ns) / ns,
        near=REACHED_BY_VECTORS * times.near_ns * slowed / ns,
    )


def _again_share(kernel: Kernel, device: Device) -> float:
    """On a GPU, 0: its kernels were held against counters as they are, and its cache is one for all of them."""
    if device.kind != "cpu" or not kernel.again_bytes:
        return 0.0
    return memory_ns(device, kernel.again_bytes, None) / (kernel.duration_ns or 1)


def _part(kernel: Kernel, device: Device, times: _Times, shares: _Shares) -> Part:
    nearest = max(shares.compute, shares.memory, shares.near)
    if nearest < LATENCY_SHARE:
        return _far_part(kernel, device, times, shares)
    if times.is_rough and shares.memory >= SATURATED_SHARE:
        return Part.MEMORY
    return _nearer(shares)


def _far_part(kernel: Kernel, device: Device, times: _Times, shares: _Shares) -> Part:
    """The part of a kernel that is under 40 % of both roofs."""
    share = max(shares.compute, shares.memory, shares.near)
    if kernel.is_floor:
        is_waiting = FLOOR_FACTOR * share < LATENCY_SHARE or _leaves_most_idle(kernel, device, times)
        return Part.LATENCY if is_waiting else Part.UNKNOWN_KERNELS
    if kernel.duration_ns <= SHORT_KERNEL_NS:
        return Part.LATENCY
    if device.kind == "cpu":
        return _nearer(shares) if kernel.flops and share >= FAR_SHARE else Part.UNKNOWN_KERNELS
    is_counted = bool(kernel.flops) or times.instruction_ns is not None or _leaves_most_idle(kernel, device, times)
    return Part.LATENCY if is_counted else Part.UNKNOWN_KERNELS


def _nearer(shares: _Shares) -> Part:
    is_fed = shares.near <= shares.compute  # of two equals the arithmetic is what is fed
    return Part.COMPUTE if is_fed and shares.compute > shares.memory else Part.MEMORY


def _unknown(kernel: Kernel, device: Device, times: _Times | None, anomaly: Anomaly | None) -> RoofPoint:
    is_waiting = _is_about_empty(kernel, device) or _leaves_most_idle(kernel, device, times)
    part = Part.LATENCY if is_waiting else Part.UNKNOWN_KERNELS
    return RoofPoint(part, None, times.memory_ns if times is not None else None, anomaly)


def _leaves_most_idle(kernel: Kernel, device: Device, times: _Times | None) -> bool:
    """Whether so few multiprocessors have a block that neither throughput can reach LATENCY_SHARE, whatever is done:
    each gives at most its part of the arithmetic, and takes at most its part of what the L2 gives.
    """
    share = kernel.occupied_share
    if device.kind != "cuda" or share is None or share >= LATENCY_SHARE:
        return False
    if times is not None and not kernel.is_floor:
        return times.memory_ns < LATENCY_SHARE * kernel.duration_ns
    if not device.l2_bytes_per_s or not device.memory_bytes_per_s:
        return False
    return share * max(1.0, device.l2_bytes_per_s / device.memory_bytes_per_s) < LATENCY_SHARE


def _times(kernel: Kernel, device: Device, allow_tf32: bool | None) -> _Times | None:
    """None where nothing is known of the traffic."""
    if kernel.bytes is None or not device.memory_bytes_per_s:
        return None
    cold_ns = memory_ns(device, kernel.bytes, kernel.read_bytes)
    warm_ns = cold_ns
    if kernel.resident_bytes:
        read = None if kernel.read_bytes is None else kernel.read_bytes - kernel.resident_bytes
        warm_ns = memory_ns(device, kernel.bytes - kernel.resident_bytes, read)
        if device.l2_bytes_per_s:
            warm_ns += kernel.resident_bytes / device.l2_bytes_per_s * 1e9
    unit = matrix_dtype(kernel, device, allow_tf32)
    # A multiprocessor of an A100 gives half as many results a clock, and other devices had no counters read.
    near, issued = (kernel.near_slots, kernel.issued_slots) if HOPPER.search(device.name) else (0.0, 0.0)
    peak_ns = _peak_ns(kernel, device, unit)
    return _Times(
        unit=unit,
        matrix_ns=_matrix_ns(kernel, device, unit, peak_ns),
        peak_ns=peak_ns,
        instruction_ns=instruction_ns(kernel.instructions, kernel.dtype, device),
        dram_ns=cold_ns,
        alone_ns=memory_ns(device, kernel.bytes - kernel.unwritten_bytes, kernel.read_bytes),
        crossing_ns=_crossing_ns(kernel, device),
        warm_ns=min(warm_ns, cold_ns),
        near_ns=slots_ns(near, device) or 0.0,
        issued_ns=slots_ns(issued, device) or 0.0,
    )


def _peak_ns(kernel: Kernel, device: Device, unit: str | None) -> float | None:
    if kernel.flops is None:
        return None
    if kernel.flops == 0:
        return 0.0
    peak = device.peak(unit)
    products = TF32_PRODUCTS if _is_fast_float32(kernel, device) else 1
    return kernel.flops * products / peak * 1e9 if peak else None


def _matrix_ns(kernel: Kernel, device: Device, unit: str | None, peak_ns: float | None) -> float | None:
    """At what instructions of the kernel's kind reach. A kernel faster than that shows what they reach.

    int8's peak is measured with a kernel of that kind, and float32 runs outside the tensor cores.
    """
    is_of_peak = unit == "float32" or (unit == "int8" and device.source is Source.MEASURED)
    if not peak_ns or is_of_peak:
        return peak_ns
    if not (HOPPER.search(device.name) and SYNCHRONOUS.search(kernel.name)):
        return peak_ns
    return max(peak_ns, min(peak_ns / SYNCHRONOUS_SHARE, float(kernel.duration_ns)))


def _is_fast_float32(kernel: Kernel, device: Device) -> bool:
    is_known = kernel.dtype == "float32" and device.peak("tf32") is not None
    return is_known and FAST_FLOAT32.search(kernel.name) is not None


def _crossing_ns(kernel: Kernel, device: Device) -> float:
    """0.0 where it is not known, or more than the cache can give in the time: then nearer caches gave it."""
    # What only the cache gets has crossed to it all the same.
    stays = kernel.bytes + WRITE_CROSSINGS * kernel.unwritten_bytes if kernel.bytes and kernel.unwritten_bytes else 0.0
    crossing = max(kernel.crossing_bytes or 0.0, stays)
    if not device.l2_bytes_per_s:
        return 0.0
    found = crossing / device.l2_bytes_per_s * 1e9
    return found if found <= ANOMALY_SHARE * kernel.duration_ns else 0.0


def _is_about_empty(kernel: Kernel, device: Device) -> bool:
    return device.empty_kernel_ns is not None and kernel.duration_ns <= EMPTY_KERNELS * device.empty_kernel_ns


def _anomaly(kernel: Kernel, times: _Times) -> Anomaly | None:
    """A rough count over the peak is no anomaly."""
    if (times.peak_ns or 0.0) > ANOMALY_SHARE * kernel.duration_ns:
        return Anomaly.ARITHMETIC
    return Anomaly.BANDWIDTH if times.dram_ns > ANOMALY_SHARE * kernel.duration_ns else None


def _may_be_cached(kernel: Kernel, device: Device, times: _Times) -> bool:
    """Whether the last-level cache may hold all of the traffic, or so much that memory can have moved the rest."""
    cache = SMALLEST_CACHE_BYTES if device.l2_bytes is None else device.l2_bytes
    return (kernel.bytes is not None and kernel.bytes <= cache) or times.warm_ns <= ANOMALY_SHARE * kernel.duration_ns
