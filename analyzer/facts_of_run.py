"""What the rules may see of a run: what torch said of it, its regions, and what the plan makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analyzer.core.graphs import Capture, CudaGraphSkip, GraphKey, Region
from analyzer.core.plan import FUSED
from analyzer.core.report import PlanTrial
from analyzer.diagnosis import Judged
from analyzer.measured import Measured
from analyzer.rules.facts import Facts, PlannedRegion, RegionFacts
from analyzer.set_notes import input_sets
from optimizers.candidates.cuda_graphs import CUDA_GRAPHS
from optimizers.candidates.known import candidate_of
from optimizers.candidates.pair import SPLIT


def facts_of(measured: Measured, plans: tuple[PlanTrial, ...], *, is_disturbed: bool) -> Facts:
    """`plans` are the ways to run the whole model, as the report has them; `is_disturbed` as in `Doubts`."""
    regions = measured.before.regions if measured.before else ()
    return Facts(
        workload=measured.facts,
        capture=capture_told(measured),
        step_ns=measured.timing.step_ns.median_ns if measured.timing else None,
        regions=tuple(region for judged in regions for region in _region(judged, measured)),
        plans=plans,
        device=measured.device,
        environment=measured.environment,
        ops=measured.ops,
        activity=measured.before.activity if measured.before else None,
        is_disturbed=is_disturbed,
        input_sets=len(input_sets(measured)) or 1,
    )


def chosen(key: GraphKey, measured: Measured) -> str:
    """The candidate that the plan has for this graph; without a plan, what torch.compile does."""
    return FUSED if measured.plan is None else measured.plan.candidate(key)


def capture_told(measured: Measured) -> Capture | None:
    """The capture, with what torch said of CUDA graphs in the trials that asked it for them as it makes them itself:
    by default it makes none, and says nothing.
    """
    capture = measured.capture
    if capture is None:
        return None
    starts = {graph.key: graph.where for graph in capture.graphs}
    found = (replace(skip, where=skip.where or starts.get(skip.key)) for skip in _told(measured) if skip.key in starts)
    return replace(capture, skips=tuple(dict.fromkeys((*capture.skips, *found))))


def before_ns(region: Region, judged: Judged | None, measured: Measured) -> int | None:
    """The region under the default, timed beside the plan where one was verified, else in the first clean pass."""
    checked = measured.verification
    beside = checked.default_timing.regions if checked and checked.default_timing else ()
    again = next((timing.elapsed_ns.median_ns for timing in beside if timing.region == region), None)
    return elapsed_ns(judged) if again is None else again


def elapsed_ns(judged: Judged | None) -> int | None:
    """A region's time in a step; None where it was not measured."""
    return judged.budget.budget.elapsed_ns if judged and judged.budget.budget else None


def _told(measured: Measured) -> Iterator[CudaGraphSkip]:
    for tried in measured.trials:
        parts = {part for side in tried.candidate.split(SPLIT) for part in side.split("+")}
        if CUDA_GRAPHS.id in parts:
            yield from tried.trial.skips


def _region(judged: Judged, measured: Measured) -> Iterator[RegionFacts]:
    budget = judged.budget.budget
    if budget is not None:
        kernels = judged.budget.kernels_per_step
        yield RegionFacts(judged.region, budget.elapsed_ns, budget, kernels, _planned(judged, measured))


def _planned(judged: Judged, measured: Measured) -> PlannedRegion | None:
    """None without a plan that changes the graph, and of a gap: no plan speaks of one."""
    region = judged.region
    if not isinstance(region, GraphKey) or measured.plan is None or chosen(region, measured) == FUSED:
        return None
    candidate = candidate_of(chosen(region, measured))
    return PlannedRegion(
        candidate=candidate.id,
        has_cuda_graph=candidate.uses_cuda_graphs,
        has_cpp_wrapper=candidate.uses_cpp_wrapper,
        before_ns=before_ns(region, judged, measured),
        after_ns=elapsed_ns(measured.after.judged(region) if measured.after is not None else None),
    )
