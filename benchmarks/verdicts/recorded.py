"""What the recordings of counters and interventions hold: raw facts, so that they can be judged again and again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from analyzer.core.device import Device, Versions
from analyzer.core.environment import Environment
from analyzer.core.graphs import Capture, GapKey, Graph, GraphKey, Region
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd, RegionTiming, Timing

TRACED_FILE: Final = "traced.json.gz"
"""What the profiled process of a recording of counters leaves for the one that started it."""


class ItemSet(StrEnum):
    """Which list of items was recorded: the one that the roofs were chosen on, three that were held out to test them,
    and whose missing formulas were then added, or the one that judges the formulas since.
    """

    FIRST = "first"
    HELD_OUT = "held_out"
    THIRD = "third"
    FOURTH = "fourth"
    FIFTH = "fifth"


@dataclass(frozen=True, slots=True)
class Machine:
    """Where something was recorded."""

    device: Device
    versions: Versions
    date: str


@dataclass(frozen=True, slots=True)
class TracedItem:
    """One item in the profiled process. `step` is its `ProfilerStep` in the trace of its batch, counted from 0.

    `working_set_bytes` are its inputs, weights and outputs. `error` where it did not run; then it has no step.
    """

    name: str
    family: str
    tf32: bool
    batch: int
    step: int | None
    working_set_bytes: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TracedBatch:
    """`trace` is the file's name beside the recording; `graphs` are those that its compiled items made."""

    trace: str
    graphs: tuple[Graph, ...]


@dataclass(frozen=True, slots=True)
class Traced:
    items: tuple[TracedItem, ...]
    batches: tuple[TracedBatch, ...]


@dataclass(frozen=True, slots=True)
class KernelCounters:
    """One profiled launch. None is what `ncu` did not give. Shares are percent of the peak over the elapsed time.

    `item` is the NVTX range it was launched in; `is_cold` whether the caches were flushed before it. `order` counts
    the launches of one run of `ncu`, and `run` names that run.
    """

    run: str
    order: int
    kernel: str
    item: str | None
    is_cold: bool
    ns: float | None = None
    sm_percent: float | None = None
    memory_percent: float | None = None
    dram_percent: float | None = None
    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l2_bytes: float | None = None
    tensor_percent: float | None = None
    grid: float | None = None
    waves: float | None = None

    @property
    def dram_bytes(self) -> float | None:
        if self.dram_read_bytes is None or self.dram_write_bytes is None:
            return None
        return self.dram_read_bytes + self.dram_write_bytes


@dataclass(frozen=True, slots=True)
class CounterRecording:
    """`ncu` is what it said of its version, None where it was not there. `items` is FIRST in recordings from before
    there was another set.
    """

    machine: Machine
    traced: Traced
    counters: tuple[KernelCounters, ...]
    ncu: str | None
    notes: tuple[str, ...] = ()
    items: ItemSet = ItemSet.FIRST


@dataclass(frozen=True, slots=True)
class RecordedRegion:
    """A `RegionTiming` whose region is text."""

    region: str
    calls_per_step: float
    elapsed_ns: Samples
    host_ns: Samples


@dataclass(frozen=True, slots=True)
class RecordedTiming:
    step_ns: Samples
    probed_step_ns: Samples
    regions: tuple[RecordedRegion, ...]
    warmup_ns: tuple[int, ...]
    is_steady: bool
    crowd: Crowd | None


@dataclass(frozen=True, slots=True)
class Replay:
    """One trial of `cuda_graphs`: for the graph `key`, or for all of them where it is None.

    The samples are of whole steps, taken in turn; `region_ns` is the graph's own time. `reason` where torch refused.
    """

    key: str | None
    outcome: str
    reason: str | None
    step_ns: Samples | None
    against_ns: Samples | None
    region_ns: int | None
    region_against_ns: int | None


@dataclass(frozen=True, slots=True)
class Ahead:
    """One region's own time a step, taken in turn: as the host launches it, and with the whole step queued before the
    device begins.
    """

    region: str
    launched_ns: int
    ahead_ns: int


@dataclass(frozen=True, slots=True)
class ModelRun:
    """One model measured in a process of its own. `trace` is the file's name beside the recording.

    `ahead` is empty where the host could not get ahead of the device, or an older recorder did not try. `machine` is
    where it was recorded, None for the recording's own: a later session is another machine, or another day of it.
    """

    name: str
    trace: str | None = None
    capture: Capture | None = None
    timing: RecordedTiming | None = None
    environment: Environment | None = None
    replays: tuple[Replay, ...] = ()
    error: str | None = None
    ahead: tuple[Ahead, ...] = ()
    machine: Machine | None = None


def run_name(target: str) -> str:
    """What the run of this target is called: a file's name without its ending, else the model's own."""
    return Path(target).stem if target.endswith(".py") else target


@dataclass(frozen=True, slots=True)
class Scaled:
    """One pair of the same work at two sizes. The ratios are of the second to the first, by arithmetic on paper."""

    name: str
    flops_ratio: float
    bytes_ratio: float
    batch: int
    step: int | None
    before_ns: Samples | None = None
    after_ns: Samples | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ScaledRuns:
    pairs: tuple[Scaled, ...]
    batches: tuple[TracedBatch, ...]


@dataclass(frozen=True, slots=True)
class InterventionRecording:
    machine: Machine
    models: tuple[ModelRun, ...]
    scaled: ScaledRuns | None
    notes: tuple[str, ...] = ()


def recorded_timing(timing: Timing) -> RecordedTiming:
    return RecordedTiming(
        step_ns=timing.step_ns,
        probed_step_ns=timing.probed_step_ns,
        regions=tuple(RecordedRegion(str(r.region), r.calls_per_step, r.elapsed_ns, r.host_ns) for r in timing.regions),
        warmup_ns=timing.warmup_ns,
        is_steady=timing.is_steady,
        crowd=timing.crowd,
    )


def timing_of(recorded: RecordedTiming) -> Timing:
    return Timing(
        step_ns=recorded.step_ns,
        probed_step_ns=recorded.probed_step_ns,
        regions=tuple(
            RegionTiming(region_of(r.region), r.calls_per_step, r.elapsed_ns, r.host_ns) for r in recorded.regions
        ),
        warmup_ns=recorded.warmup_ns,
        is_steady=recorded.is_steady,
        crowd=recorded.crowd,
    )


def region_of(text: str) -> Region:
    """The inverse of `str` for a graph key or a gap key. Raises ValueError for neither."""
    if not text.startswith("gap:"):
        return GraphKey.parse(text)
    after, arrow, before = text.removeprefix("gap:").partition(">")
    if not arrow:
        raise ValueError(f"not a region: {text!r}")
    return GapKey(
        after=None if after == "start" else GraphKey.parse(after),
        before=None if before == "end" else GraphKey.parse(before),
    )
