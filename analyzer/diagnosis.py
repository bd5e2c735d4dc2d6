"""From one clean pass and one profiled pass to budgets and verdicts: reads a trace, derives, judges nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analyzer.core.activity import Activity
from analyzer.core.budget import Budget
from analyzer.core.device import Device
from analyzer.core.environment import Environment
from analyzer.core.graphs import Capture, Graph, Region, under_plan
from analyzer.core.ops import OpLog
from analyzer.core.timing import Timing
from analyzer.core.verdict import Verdict
from analyzer.derive.activity import activity
from analyzer.derive.attribution import Attribution, attribute
from analyzer.derive.budget import Context, RegionBudget, region_budgets, step_budget
from analyzer.derive.classify import MOST_OVER_PEAK, verdict
from analyzer.derive.cpu_causes import GraphLoops
from analyzer.derive.python_ops import python_names
from collectors.readers.kineto import read_trace


@dataclass(frozen=True, slots=True)
class Passes:
    """One configuration of a workload, measured twice. `trace` is the file that the profiled pass left; `capture` is
    None where it is not known what was compiled.
    """

    timing: Timing
    trace: Path
    capture: Capture | None


@dataclass(frozen=True, slots=True)
class Judged:
    region: Region
    budget: RegionBudget
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One configuration of the workload, measured twice and explained. `regions` stand in order of a step."""

    timing: Timing
    attribution: Attribution
    regions: tuple[Judged, ...]
    step: Budget
    activity: Activity

    @property
    def is_over_peak(self) -> bool:
        """Whether any region computes so much faster than the measured peaks that these are wrong."""
        return any(judged.budget.over_peak_share > MOST_OVER_PEAK for judged in self.regions)

    def judged(self, region: Region) -> Judged | None:
        return next((judged for judged in self.regions if judged.region == region), None)


def diagnose(
    passes: Passes,
    device: Device,
    environment: Environment | None = None,
    ops: OpLog | None = None,
    reference: Diagnosis | None = None,
) -> Diagnosis:
    """Explain what the two passes saw. `ops` says which operators are written in Python; `reference` is the diagnosis
    of the fused run, whose kernels show their operators where those of a CUDA graph or a C++ wrapper do not. Raises
    UnreadableFileError.
    """
    timing, capture = passes.timing, passes.capture
    attribution = attribute(read_trace(passes.trace))
    context = Context(
        device=device,
        allow_tf32=environment.allows_tf32 if environment else None,
        graphs=_graphs(capture, is_plan=reference is not None),
        reference=reference.attribution if reference else None,
        environment=environment,
        loops=tuple(_loops(capture)),
        python_ops=python_names(ops),
    )
    budgets = region_budgets(timing, attribution, context)
    return Diagnosis(
        timing=timing,
        attribution=attribution,
        regions=tuple(Judged(budget.region, budget, verdict(budget)) for budget in budgets),
        step=step_budget(timing, attribution, budgets),
        activity=activity(attribution, timing, device),
    )


def _graphs(capture: Capture | None, *, is_plan: bool) -> tuple[Graph, ...]:
    if capture is None:
        return ()
    return under_plan(capture.graphs) if is_plan else capture.graphs


def _loops(capture: Capture | None) -> Iterator[GraphLoops]:
    for graph in capture.graphs if capture else ():
        if graph.loops is not None and graph.scalar_loops is not None:
            yield GraphLoops(graph.key, graph.loops, graph.scalar_loops)
