"""What rules may see. A rule is given this and nothing else: no trace, no torch, no clock, no file."""

from __future__ import annotations

from dataclasses import dataclass

from analyzer.core.activity import Activity
from analyzer.core.budget import Budget
from analyzer.core.device import Device
from analyzer.core.environment import Environment
from analyzer.core.graphs import Capture, GapKey, GraphKey, Region
from analyzer.core.ops import OpLog
from analyzer.core.report import PlanTrial, WorkloadFacts


@dataclass(frozen=True, slots=True)
class PlannedRegion:
    """What the plan runs a graph with in place of the default. Its time in a step by default and under the plan are of
    the same minute of the machine; None where they were not measured.
    """

    candidate: str
    has_cuda_graph: bool
    has_cpp_wrapper: bool
    before_ns: int | None
    after_ns: int | None


@dataclass(frozen=True, slots=True)
class RegionFacts:
    """One graph or eager gap in the default run, summed over its calls in a step. None is unknown; `planned` is None
    where there is no plan, or it leaves the region as it is.
    """

    region: Region
    elapsed_ns: int
    budget: Budget | None
    kernels_per_step: float | None
    planned: PlannedRegion | None = None


@dataclass(frozen=True, slots=True)
class RankFacts:
    """One process of a distributed run, in the average step: its length, and how much of it the rank waited in
    collectives for the others. None is unknown. `late_for` reads on after `it is late`, where the rank is late.
    """

    rank: int
    step_ns: int
    collective_wait_ns: int | None
    late_for: str | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """None, and an empty `regions`, `plans` or `ranks`, mean that it was not recorded. `step_ns` is the median step of
    the default run without the profiler, `activity` is from its profiled pass. `is_disturbed`: other programs held the
    machine while steps were timed, or it changed between two passes. `input_sets` is how many sets of inputs a step
    goes through, with a call for each.
    """

    workload: WorkloadFacts | None = None
    capture: Capture | None = None
    step_ns: int | None = None
    regions: tuple[RegionFacts, ...] = ()
    plans: tuple[PlanTrial, ...] = ()
    device: Device | None = None
    environment: Environment | None = None
    ops: OpLog | None = None
    activity: Activity | None = None
    ranks: tuple[RankFacts, ...] = ()
    is_disturbed: bool = False
    input_sets: int = 1

    def region(self, key: GraphKey | None) -> RegionFacts | None:
        """The graph `key` of a step; None where it was not measured."""
        return next((fact for fact in self.regions if fact.region == key), None) if key is not None else None

    @property
    def gaps(self) -> tuple[tuple[GapKey, RegionFacts], ...]:
        """The measured eager gaps."""
        return tuple((fact.region, fact) for fact in self.regions if isinstance(fact.region, GapKey))

    def plan(self, name: str) -> PlanTrial | None:
        return next((plan for plan in self.plans if plan.name == name), None)
