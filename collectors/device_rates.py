"""What a GPU moves and computes outside its tensor cores: memory read and copied, the L2, multiply-adds.

By Triton kernels, and by torch's own where there is no Triton; the notes then say what is not known for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import torch

from collectors.device_products import TimeNs, first_line

_BUFFER_BYTES: Final = 2 * 2**30
"""What is read or copied at once: 0.4 ms on an H200, of which a launch and the last wave are little."""
_CACHES_PER_BUFFER: Final = 8
"""A buffer of 8 times the L2 cache leaves at most an eighth of it in the cache for the next turn; 2 GiB on an H200
a thirtieth."""
_BUFFER_SHARE: Final = 0.25
"""Of the free memory, at most, for each of the two buffers."""
_GRAIN: Final = 4096 * 4
"""Bytes: buffers are whole blocks of every kernel."""

_READERS_PER_MULTIPROCESSOR: Final = (4, 8)
"""Programs of 8 warps: half and all of the warps that a multiprocessor of a data-centre GPU holds."""

_L2_SHARE: Final = 0.25
"""Of the L2, for what is read from it again and again. An A100 and an H100 have it in two halves, and keep in one half
what the other owns, so that all multiprocessors together may find only half of it useful."""
_L2_BYTES: Final = 8 * 2**30
"""Read from the L2 in one launch: some milliseconds."""

_CHAINS_PER_MULTIPROCESSOR: Final = 16
"""Programs of 4 warps: all 64 warps that a multiprocessor holds; where it holds 32, in two waves of equal length."""
_ROUNDS: Final = 1024
"""Of 32 multiply-adds: about 2 ms on an H200, 5 ms on a T4."""

_WITHOUT: Final = "memory bandwidth by torch's own kernels, L2 bandwidth and the rate outside tensor cores unknown"
NO_TRITON: Final = f"no Triton: {_WITHOUT}"

Call = Callable[[], object]


class Kernels(Protocol):
    """What `collectors.device_kernels` offers, where there is Triton."""

    @property
    def BLOCK(self) -> int: ...
    @property
    def VALUES(self) -> int: ...
    @property
    def FAILURES(self) -> tuple[type[Exception], ...]: ...
    def read_rounds(self, source: torch.Tensor, sums: torch.Tensor, rounds: int) -> None: ...
    def bytes_read(self, sums: torch.Tensor, rounds: int) -> int: ...
    def copy(self, source: torch.Tensor, target: torch.Tensor) -> None: ...
    def multiply_add(self, target: torch.Tensor, rounds: int) -> None: ...
    def flops_done(self, target: torch.Tensor, rounds: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Chip:
    """The device to be measured: torch's name of it, and what its driver says."""

    on: str
    multiprocessors: int
    l2_bytes: int | None
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Rates:
    """In bytes and operations a second; None is unknown. A copy counts what it reads and what it writes."""

    copy_bytes_per_s: float | None
    read_bytes_per_s: float | None
    l2_bytes_per_s: float | None
    vector_flops_per_s: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """A call to be timed, and the bytes or operations that it does."""

    call: Call
    amount: int


def triton_kernels(on: str) -> tuple[Kernels | None, str | None]:
    """The kernels, built for the device and run once; or None and a note that says why there are none."""
    try:
        # Optional: Triton comes with CUDA builds of torch only.
        from collectors import device_kernels
    except ImportError:
        return None, NO_TRITON
    return built(device_kernels, on)


def built(kernels: Kernels, on: str) -> tuple[Kernels | None, str | None]:
    """`kernels` after each has run once, so that nothing is compiled while it is timed; or None and the reason."""
    try:
        source, target = torch.zeros(2, kernels.BLOCK, device=on, dtype=torch.float32).unbind()
        kernels.read_rounds(source, target[:1], 1)
        kernels.copy(source, target)
        kernels.multiply_add(target[: kernels.VALUES], 1)
    except kernels.FAILURES as problem:
        return None, f"Triton cannot build kernels ({first_line(problem)}): {_WITHOUT}"
    return kernels, None


def measure_rates(chip: Chip, kernels: Kernels | None, time_ns: TimeNs) -> Rates:
    """Each rate is the best over some ways to do the same."""
    source = _buffer(chip)
    copied = read = None
    if source is not None:
        copied = best_rate(_copies(source, kernels), time_ns)
        read = best_rate(_reads(source, chip, kernels), time_ns)
    del source
    return Rates(
        copy_bytes_per_s=copied,
        read_bytes_per_s=read,
        l2_bytes_per_s=None if kernels is None else best_rate(_cached_reads(chip, kernels), time_ns),
        vector_flops_per_s=None if kernels is None else best_rate([_multiply_adds(chip, kernels)], time_ns),
    )


def best_rate(works: Iterable[Work], time_ns: TimeNs) -> float | None:
    """The most amount a second over `works`; None where there is none."""
    return max((work.amount / time_ns(work.call) * 1e9 for work in works), default=None)


def buffer_bytes(chip: Chip) -> int | None:
    """How large a buffer measures memory and not the L2; None where the free memory does not hold two of them."""
    least = _CACHES_PER_BUFFER * (chip.l2_bytes or 0)
    size = min(max(_BUFFER_BYTES, least), int(chip.free_bytes * _BUFFER_SHARE)) // _GRAIN * _GRAIN
    return size if size >= max(least, _GRAIN) else None


def _buffer(chip: Chip) -> torch.Tensor | None:
    size = buffer_bytes(chip)
    return None if size is None else torch.randn(size // 4, device=chip.on, dtype=torch.float32)


def _copies(source: torch.Tensor, kernels: Kernels | None) -> Iterable[Work]:
    target = torch.empty_like(source)
    moved = source.nbytes + target.nbytes
    yield Work(lambda: target.copy_(source), moved)
    yield Work(lambda: torch.mul(source, 2.0, out=target), moved)
    if kernels is not None:
        yield Work(lambda: kernels.copy(source, target), moved)


def _reads(source: torch.Tensor, chip: Chip, kernels: Kernels | None) -> Iterable[Work]:
    result = torch.empty((), device=chip.on, dtype=torch.float32)
    yield Work(lambda: torch.sum(source, 0, out=result), source.nbytes)
    if kernels is None:
        return
    for readers in _READERS_PER_MULTIPROCESSOR:
        sums = torch.empty(readers * chip.multiprocessors, device=chip.on, dtype=torch.float32)
        rounds = source.numel() // kernels.BLOCK // sums.numel()
        if rounds:
            yield _reading(kernels, source, sums, rounds)


def _cached_reads(chip: Chip, kernels: Kernels) -> Iterable[Work]:
    """From a working set well inside the L2. Neighbouring programs are a block apart: no two of them load one block
    at the same time unless there are more of them than blocks.
    """
    if chip.l2_bytes is None:
        return
    blocks = max(int(chip.l2_bytes * _L2_SHARE) // (4 * kernels.BLOCK), 1)
    source = torch.randn(blocks * kernels.BLOCK, device=chip.on, dtype=torch.float32)
    for readers in _READERS_PER_MULTIPROCESSOR:
        sums = torch.empty(readers * chip.multiprocessors, device=chip.on, dtype=torch.float32)
        rounds = max(_L2_BYTES // kernels.bytes_read(sums, 1), 1)
        yield _reading(kernels, source, sums, rounds)


def _reading(kernels: Kernels, source: torch.Tensor, sums: torch.Tensor, rounds: int) -> Work:
    return Work(lambda: kernels.read_rounds(source, sums, rounds), kernels.bytes_read(sums, rounds))


def _multiply_adds(chip: Chip, kernels: Kernels) -> Work:
    programs = _CHAINS_PER_MULTIPROCESSOR * chip.multiprocessors
    target = torch.empty(programs * kernels.VALUES, device=chip.on, dtype=torch.float32)
    return Work(lambda: kernels.multiply_add(target, _ROUNDS), kernels.flops_done(target, _ROUNDS))
