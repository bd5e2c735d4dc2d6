"""The numbers of a report that gates hold. What a report does not say is unknown, never 0."""

from __future__ import annotations

from typing import Final

from analyzer.core.budget import Part
from analyzer.core.plan import EAGER
from analyzer.core.report import DEFAULT_PLAN, PlanTrial
from analyzer.core.trial import TrialOutcome
from analyzer.gate.reading import Reading, Subject, inapplicable, unknown

NO_GRAPHS: Final = "the graphs were not captured"
NO_TRACE: Final = "no step was recorded"
OLDER: Final = "this run does not say: an older Graphbound made it, or its trace could not be read"
RECORDED: Final = "a recorded trace does not tell: check a run of the model itself"
NO_PLAN: Final = "no plan is named for this model"
LEFT_ALONE: Final = "the plan leaves the model uncompiled, and no such step was recorded"
CUDA_GRAPHS: Final = "cuda_graphs"
"""The candidate whose refusals torch tells (optimizers.candidates.cuda_graphs)."""

PLANNED: Final = "plan"

WRONG: Final = 1e-6
"""What a wrong result is over the limit at least, however it was found wrong."""


def graphs(subject: Subject) -> Reading:
    """Different graphs that Dynamo captured, forward and backward of one counted once."""
    capture = subject.report.capture
    if capture is None:
        return _uncaptured(subject)
    return Reading(len({graph.key.digest for graph in capture.graphs}))


def graph_breaks(subject: Subject) -> Reading:
    return findings_of(subject, ("graph_break",))


def recompiles(subject: Subject) -> Reading:
    return findings_of(subject, ("recompilation", "recompile_limit"))


def findings_of(subject: Subject, rules: tuple[str, ...]) -> Reading:
    """How often these rules found something; unknown where one of them could not judge."""
    report = subject.report
    if report.capture is None:
        return _uncaptured(subject)
    failure = next((failed for failed in report.rule_failures if failed.rule in rules), None)
    if failure is not None:
        return unknown(f"{failure.rule} could not judge: {failure.reason}")
    return Reading(sum(finding.count for finding in report.findings if finding.rule in rules))


def cudagraph_refusals(subject: Subject) -> Reading:
    """Graphs that torch will not replay, not even a part of them. Torch says so where a CUDA graph was asked of it, and
    nowhere else.
    """
    report = subject.report
    if subject.kind == "cpu":
        return inapplicable("a CPU has no CUDA graphs")
    if report.capture is None:
        return _uncaptured(subject)
    asked = any(
        candidate.candidate.startswith(CUDA_GRAPHS) for graph in report.graphs for candidate in graph.candidates
    )
    if not asked and not report.capture.skips:
        return inapplicable("no CUDA graph was asked of torch in this run: check a run with a search, or with a plan")
    return Reading(len({skip.key for skip in report.capture.skips if not skip.is_partial}))


def kernels(subject: Subject) -> Reading:
    """Kernels of an average recorded step, in graphs and between them."""
    report = subject.report
    called = [graph.kernels_per_step for graph in report.graphs if graph.is_in_step]
    counts = [*called, *(gap.kernels_per_step for gap in report.eager_gaps)]
    if not counts:
        return unknown(NO_TRACE)
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return unknown("the kernels of some graph or gap were not recorded")
    # The recorder's averages: what differs by less than a twentieth of a kernel is one number.
    return Reading(round(sum(known), 1))


def host_syncs(subject: Subject) -> Reading:
    if subject.kind == "cpu":
        return inapplicable("on a CPU there is no device to wait for")
    waits = subject.report.host_waits
    if waits is not None:
        return Reading(round(waits, 1))
    if subject.report.is_recorded:
        return inapplicable(RECORDED)
    return unknown(NO_TRACE if subject.report.attributed is None else OLDER)


def plan_coverage(subject: Subject) -> Reading:
    """The share of the graphs of a step, by calls, for which the plan names a candidate."""
    if subject.plan is None:
        return inapplicable(NO_PLAN)
    called = [graph for graph in subject.report.graphs if graph.is_in_step]
    weights = [graph.calls_per_step or 1.0 for graph in called]
    if not called:
        return unknown(NO_GRAPHS)
    planned = {choice.key for choice in subject.plan.choices}
    return Reading(sum(w for graph, w in zip(called, weights, strict=True) if graph.key in planned) / sum(weights))


def generated_code(subject: Subject) -> Reading:
    capture = subject.report.capture
    if capture is None:
        return _uncaptured(subject)
    sizes = [graph.code_bytes for graph in capture.graphs]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return unknown(OLDER if not known else "the generated code of some graph was not seen")
    return Reading(sum(known))


def accuracy(subject: Subject) -> Reading:
    """The error of the way that is used, over what is allowed: up to 1 is right."""
    if subject.report.is_recorded:
        return inapplicable(RECORDED)
    if subject.report.is_left_alone:
        return Reading(0.0)  # the model as it is, not compiled: its results are its own
    judged = chosen_way(subject)
    found = judged.accuracy if judged is not None else None
    if judged is None or found is None:
        return unknown("the results were not compared with the model's own")
    if judged.outcome is TrialOutcome.WRONG_RESULT or not found.is_right:
        return Reading(max(_over_allowed(found.error, found.allowed), 1.0 + WRONG))
    return Reading(min(_over_allowed(found.error, found.allowed), 1.0))


def starved_share(subject: Subject) -> Reading:
    report = subject.report
    if report.is_recorded:
        return inapplicable("a recorded trace holds the profiler's host times")
    if report.is_left_alone:
        return inapplicable(LEFT_ALONE)
    after, before = report.step_budget_after, report.step_budget
    way = chosen_way(subject)
    budget = after if way is not None and way.name == PLANNED else before
    return unknown("the step has no budget") if budget is None else Reading(budget.share(Part.STARVED))


def peak_memory(subject: Subject) -> Reading:
    if subject.kind == "cpu":
        return inapplicable("peak memory is not measured on a CPU")
    way = chosen_way(subject)
    if way is None or way.peak_bytes is None:
        # The default's is measured where a plan is verified beside it, and not otherwise.
        return inapplicable("the peak was not measured in this run: check a run with a search, or with a plan")
    return Reading(way.peak_bytes + (way.pool_bytes or 0))


def compile_time(subject: Subject) -> Reading:
    capture = subject.report.capture
    if capture is None:
        return _uncaptured(subject)
    return Reading(capture.compile_ns) if capture.compile_ns > 0 else unknown("compiling was not timed")


def step_time(subject: Subject) -> Reading:
    report = subject.report
    if report.is_recorded:
        return inapplicable("a recorded trace holds the profiler's host times")
    way = chosen_way(subject)
    if way is not None and way.step_ns is not None:
        return Reading(way.step_ns.median_ns)
    return unknown("no step was timed") if report.step_ns is None else Reading(report.step_ns.median_ns)


def chosen_way(subject: Subject) -> PlanTrial | None:
    """How the model is to be run: the plan where one was verified, else torch.compile's default."""
    plans = subject.report.plans
    chosen = next((plan for plan in plans if plan.is_chosen), None)
    default = next((plan for plan in plans if plan.name == DEFAULT_PLAN), None)
    return chosen or default or next((plan for plan in plans if plan.name == EAGER), None)


def _uncaptured(subject: Subject) -> Reading:
    return inapplicable(RECORDED) if subject.report.is_recorded else unknown(NO_GRAPHS)


def _over_allowed(error: float, allowed: float) -> float:
    if error == 0:
        return 0.0
    return error / allowed if allowed > 0 else float("inf")
