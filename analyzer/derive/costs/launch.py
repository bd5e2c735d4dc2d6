"""How a kernel was launched: its blocks say how much it works on where no shape does, padding included."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analyzer.core.trace import OpDetail


@dataclass(frozen=True, slots=True)
class Launch:
    """The blocks of a kernel by dimension, and the threads of one block."""

    grid: tuple[int, ...]
    threads: int

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def all_threads(self) -> int:
        return self.blocks * self.threads


def launch_of(detail: OpDetail | None) -> Launch | None:
    """The launch that a kernel's row tells; None where it does not (XPU, HIP graphs)."""
    if detail is None or not detail.grid or not detail.block or 0 in detail.grid or 0 in detail.block:
        return None
    return Launch(detail.grid, math.prod(detail.block))
