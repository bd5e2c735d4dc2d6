"""The Triton kernels that a GPU is measured with. Imported only where there is Triton; times nothing.

The counts of bytes and operations beside them are what the kernels do, not what they ought to do.
"""

# Annotations are not postponed here: Triton reads them.
# mypy: disable-error-code="untyped-decorator,no-untyped-def"

import subprocess
from typing import Any, Final

import torch
import triton
import triton.language as tl
from triton.errors import TritonError

FAILURES: Final = (TritonError, RuntimeError, OSError, subprocess.SubprocessError)
"""What a first launch raises where Triton cannot build: no C compiler, no Python headers, a GPU it does not know."""

BLOCK: Final = 4096
"""Elements that a program of `read_rounds` loads at once: 16 KiB, in 16-byte loads of 8 warps."""
_READ_WARPS: Final = 8

_COPY_BLOCK: Final = 2048

VALUES: Final = 1024
"""Elements of a program of `multiply_add`: eight independent chains for each of its 128 threads."""
STEPS: Final = 32
"""Multiply-adds of one round, without a branch between them."""
_SCALE: Final = -0.9999
_SHIFT: Final = 0.5
"""The signs alternate and nothing settles soon: operands that never change would cost less power than real data."""


def read_rounds(source: torch.Tensor, sums: torch.Tensor, rounds: int) -> None:
    """Each of `sums.numel()` programs loads `rounds` blocks of the float32 `source`, going round it, and sums up.

    Past the L1: what one multiprocessor loaded does not serve its next load. Reads `bytes_read(sums, rounds)`.
    """
    grid: Any = _read[(sums.numel(),)]
    grid(source, sums, source.numel() // BLOCK, rounds, BLOCK=BLOCK, num_warps=_READ_WARPS)


def bytes_read(sums: torch.Tensor, rounds: int) -> int:
    return sums.numel() * rounds * BLOCK * 4


def copy(source: torch.Tensor, target: torch.Tensor) -> None:
    """Copies float32 elements, whose number must be a multiple of 2048: reads and writes `source.nbytes` each."""
    grid: Any = _copy[(source.numel() // _COPY_BLOCK,)]
    grid(source, target, BLOCK=_COPY_BLOCK)


def multiply_add(target: torch.Tensor, rounds: int) -> None:
    """`rounds * STEPS` multiply-adds of each float32 element, whose number must be a multiple of `VALUES`."""
    grid: Any = _multiply_add[(target.numel() // VALUES,)]
    grid(target, _SCALE, _SHIFT, rounds, STEPS=STEPS, BLOCK=VALUES)


def flops_done(target: torch.Tensor, rounds: int) -> int:
    """A multiply-add is two operations."""
    return 2 * target.numel() * rounds * STEPS


# Not specialised on counts: a multiple of 16, or a 1, would be another kernel, compiled while something is timed.
@triton.jit(do_not_specialize=["blocks", "rounds"])
def _read(source, sums, blocks, rounds, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    programs = tl.num_programs(0)
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for turn in range(rounds):
        block = (program + turn * programs) % blocks
        # .cg caches in the L2 and not in the L1 (PTX ISA, "Cache Operators").
        total += tl.load(source + block * BLOCK + lane, cache_modifier=".cg")
    tl.store(sums + program, tl.sum(total))


@triton.jit
def _copy(source, target, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + offsets, tl.load(source + offsets))


@triton.jit(do_not_specialize=["rounds"])
def _multiply_add(target, scale, shift, rounds, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = lane.to(tl.float32) / BLOCK
    for _ in range(rounds):
        for _ in tl.static_range(STEPS):
            value = tl.fma(value, scale, shift)
    tl.store(target + lane, value)
