"""What counting a step of an operator is given, and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from analyzer.core.trace import OpDetail
from analyzer.derive.costs.cost import Cost
from analyzer.derive.costs.launch import Launch


@dataclass(frozen=True, slots=True)
class Kernel:
    """What is known of the kernel that does the step. `launch` None: not told."""

    name: str
    launch: Launch | None


Formula = Callable[[OpDetail, Cost, Kernel], Cost | None]
"""From the operator's detail, its whole cost and the kernel to the cost of the step; None where it is none."""


def counted(cost: Cost, instructions: int) -> Cost | None:
    """With instructions that hardware counted for kernels of this kind; None for a step that moves nothing."""
    return replace(cost, instructions=instructions, is_counted=True) if cost.bytes else None
