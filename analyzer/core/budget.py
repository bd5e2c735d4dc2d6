"""Where the time of a step, and of each region of it, goes. The parts of a budget add up to the whole, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Part(Enum):
    """What a nanosecond was spent on; the value is the word shown to people."""

    STARVED = "starved"
    """Nothing ran on the device, because the host had not launched it yet. On a CPU: the framework's own time."""
    COMPUTE = "compute"
    """Kernels nearer to the arithmetic peak than to the memory one."""
    MEMORY = "memory"
    """Kernels nearer to the memory bandwidth."""
    LATENCY = "latency"
    """Kernels far under both roofs: too little work to fill the device."""
    UNKNOWN_KERNELS = "unknown kernels"
    """Kernels whose operations and bytes are not known, so that no roof can be named."""
    COPIES = "copies"
    """Copies between host and device, or memsets, with no kernel beside them."""
    SYNC = "sync"
    """The host waits for the device with nothing left to run."""
    OTHER = "other"
    """What no evidence explains."""


@dataclass(frozen=True, slots=True)
class BudgetPart:
    part: Part
    ns: int
    is_scaled: bool = False
    """True where the figure comes from the profiled pass and was scaled to the clean one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """`parts` sum to `elapsed_ns` exactly; a part of 0 ns is left out."""

    elapsed_ns: int
    parts: tuple[BudgetPart, ...]

    def __post_init__(self) -> None:
        if sum(p.ns for p in self.parts) != self.elapsed_ns:
            raise ValueError("the parts of a budget must add up to the whole")
        if any(p.ns < 0 for p in self.parts):
            raise ValueError("a part of a budget may not be negative")

    def ns(self, part: Part) -> int:
        return sum(p.ns for p in self.parts if p.part is part)

    def share(self, part: Part) -> float:
        return self.ns(part) / self.elapsed_ns if self.elapsed_ns else 0.0
