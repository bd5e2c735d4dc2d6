"""Where the time of a step, and of each region of it, goes. The parts of a budget add up to the whole, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Part(Enum):
    """What a nanosecond was spent on; the value is the word shown to people."""

    STARVED = "starved"
    """Nothing ran on the device, because the host had not launched it yet. On a CPU: the host's own work."""
    COMPUTE = "compute"
    """Kernels nearer to the arithmetic peak than to the memory one, with what their products read of shared memory."""
    MEMORY = "memory"
    """Kernels nearer to the memory bandwidth, or bound by shared memory or the first cache that feed no products."""
    LATENCY = "latency"
    """Kernels far under both roofs: too little work to fill the device. And the gaps between kernels that the host had
    launched in time."""
    UNKNOWN_KERNELS = "unknown kernels"
    """Kernels whose operations and bytes are not known, so that no roof can be named."""
    COPIES = "copies"
    """Copies between host and device, or memsets, with no kernel beside them."""
    SYNC = "sync"
    """The device is idle because the host waits for it, or waited for it: a synchronisation emptied its queue."""
    OTHER = "other"
    """What no evidence explains."""


class HostKind(Enum):
    """What the host did while the device was starved; the value is the word shown to people."""

    GUARDS = "guards"
    """Dynamo's look-up of the compiled code, with its guards (`TorchDynamo Cache Lookup`)."""
    BYTECODE = "bytecode"
    """The bytecode that Dynamo wrote around the graphs of a frame (`Pregraph bytecode` and what follows it)."""
    PROLOGUE = "prologue"
    """What AOTAutograd does to the inputs before the graph (`AOTDispatcher Runtime Wrapper Prologue`)."""
    WRAPPER = "wrapper"
    """Python of the compiled graph itself, between its calls: Inductor's wrapper, Triton's launcher."""
    LAUNCH = "launch calls"
    """Driver and runtime calls that start device work."""
    ALLOCATOR = "allocator"
    """Operators and driver calls that allocate or free memory."""
    OPERATORS = "operators"
    """PyTorch's operators on the host: dispatcher, shape checks, choice of a kernel."""
    PYTHON = "Python between"
    """No row covers it: the user's Python, and what PyTorch does between its rows."""


@dataclass(frozen=True, slots=True)
class HostPart:
    """A share of STARVED. `is_scaled` as in BudgetPart: what the host did is seen in the profiled pass alone."""

    kind: HostKind
    ns: int
    is_scaled: bool = True


@dataclass(frozen=True, slots=True)
class BudgetPart:
    part: Part
    ns: int
    is_scaled: bool = False
    """True where the figure comes from the profiled pass and was scaled to the clean one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """`parts` sum to `elapsed_ns` exactly; a part of 0 ns is left out.

    `starved` splits the STARVED part by what the host did, and sums to it exactly; None where the trace does not show
    it (no host rows, no Dynamo rows), and empty where nothing starved.
    """

    elapsed_ns: int
    parts: tuple[BudgetPart, ...]
    starved: tuple[HostPart, ...] | None = None

    def __post_init__(self) -> None:
        if sum(p.ns for p in self.parts) != self.elapsed_ns:
            raise ValueError("the parts of a budget must add up to the whole")
        if any(p.ns < 0 for p in self.parts):
            raise ValueError("a part of a budget may not be negative")
        if self.starved is not None and sum(p.ns for p in self.starved) != self.ns(Part.STARVED):
            raise ValueError("what the host did must add up to the starved time")
        if any(p.ns < 0 for p in self.starved or ()):
            raise ValueError("a part of the starved time may not be negative")

    def ns(self, part: Part) -> int:
        return sum(p.ns for p in self.parts if p.part is part)

    def share(self, part: Part) -> float:
        return self.ns(part) / self.elapsed_ns if self.elapsed_ns else 0.0
