"""The clean pass: samples taken without the profiler, of steps and of each region of a step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.graphs import Region
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


@dataclass(frozen=True, slots=True)
class Timing:
    """`step_ns` are whole steps with a synchronise and no probe inside; `probed_step_ns` the same with the probes
    that gave `regions`, so that what probing costs can be seen. `warmup_ns` are the steps before steady state,
    the first one with its compilation included. `crowd` None: not known.
    """

    step_ns: Samples
    probed_step_ns: Samples
    regions: tuple[RegionTiming, ...]
    warmup_ns: tuple[int, ...]
    is_steady: bool
    crowd: Crowd | None = None
