"""The clean pass: samples taken without the profiler, of steps and of each region of a step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from analyzer.core.graphs import GraphKey, Region
from analyzer.core.samples import Samples


@dataclass(frozen=True, slots=True)
class RegionTiming:
    """One graph or eager gap, summed over its calls in a step.

    `elapsed_ns` is the time between the region's two device events (on a CPU: between two readings of the host
    clock), so that the regions of a step follow one another without a hole; `host_ns` is the host's own time in it.
    """

    region: Region
    calls_per_step: float
    elapsed_ns: Samples
    host_ns: Samples


CROWDED_CORES: Final = 0.25
"""Of a core. An idle Linux takes some hundredths; where half a core was missing, a parallel kernel of 5 µs was seen
to wait 8 ms (a scheduler's slice) for its last thread."""


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many of `cores` other programs kept busy while something was timed that wants `threads` of them."""

    other_cores: float
    cores: int
    threads: int

    @property
    def is_crowded(self) -> bool:
        """Whether the threads that were timed had to share."""
        return self.other_cores > self.cores - self.threads + CROWDED_CORES


class Changing(Enum):
    """What was not the same in two steps of one warmed-up workload."""

    GRAPH_INPUT = "graph input"
    """The size of a tensor that a graph is given, or a whole number, which may be one."""
    CALLS = "calls"
    """Which graphs it calls, or how often."""
    OUTPUT = "output"
    """The size of a tensor that it returns."""
    STATE = "state"
    """The size of a tensor that the model keeps."""
    COMPILING = "compiling"
    """Torch still compiles."""


@dataclass(frozen=True, slots=True)
class StepChange:
    """`sizes` are those of the same thing in two steps, in their order; empty where it has none. `key` is the graph
    that was given it, None for what belongs to no graph. A whole number has the size `(n,)` and `is_number`.
    `is_varying`: it goes up and down without a trend, so that an average step means something.
    """

    what: Changing
    key: GraphKey | None = None
    sizes: tuple[tuple[int, ...], ...] = ()
    is_number: bool = False
    is_varying: bool = False


@dataclass(frozen=True, slots=True)
class SetTiming:
    """One of the sets of inputs that a step goes through, called alone. `inputs` are in words, as in WorkloadFacts.

    `eager_ns`, `default_ns` and `plan_ns` were taken in turn where there are several; None: not measured. `compiles`
    are the graphs and directions that torch compiled for it under the plan, after those of the sets before it, and
    `recompiles` the frames that it compiled again; `recorded` are the CUDA graphs recorded for it, `pool_bytes` what
    their memory grew by. None is unknown, as without CUDA graphs.
    """

    inputs: tuple[str, ...]
    eager_ns: Samples | None = None
    default_ns: Samples | None = None
    plan_ns: Samples | None = None
    compiles: int | None = None
    recompiles: int | None = None
    recorded: int | None = None
    pool_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """`step_ns` are whole steps with a synchronise and no probe inside; `probed_step_ns` the same with the probes
    that gave `regions`, so that what probing costs can be seen. `warmup_ns` are the steps before steady state,
    the first one with its compilation included. `crowd` None: not known. `changes` are what differed from one step to
    the next; empty where each did the same work, as far as could be seen. `sets` are the sets of inputs that a step
    goes through, each alone; empty where there is one.
    """

    step_ns: Samples
    probed_step_ns: Samples
    regions: tuple[RegionTiming, ...]
    warmup_ns: tuple[int, ...]
    is_steady: bool
    crowd: Crowd | None = None
    changes: tuple[StepChange, ...] = ()
    sets: tuple[SetTiming, ...] = ()
