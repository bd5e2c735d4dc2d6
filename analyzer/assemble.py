"""Measured → Report. Pure: reads no clock and no file, and gives the same report for the same measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from analyzer.core.activity import CopyDirection
from analyzer.core.device import Device, Source, Versions
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.graphs import GapKey, Graph, SourceLine
from analyzer.core.plan import EAGER
from analyzer.core.report import (
    DEFAULT_PLAN,
    MOST_SAMPLES,
    CandidateReport,
    GapReport,
    GraphReport,
    PlanTrial,
    Report,
    WorkloadFacts,
)
from analyzer.core.run import Way
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd
from analyzer.core.trial import Comparison
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.compare import compare
from analyzer.diagnosis import Diagnosis, Judged
from analyzer.doubts import Doubts, doubted, doubts_of
from analyzer.facts_of_run import before_ns, capture_told, chosen, elapsed_ns, facts_of
from analyzer.headline import headline
from analyzer.measured import Measured
from analyzer.reporting.rows import graph_label
from analyzer.rules.evidence import ended_by
from analyzer.rules.runner import run_rules
from analyzer.session_words import way
from analyzer.set_notes import input_sets, set_notes
from optimizers.candidates.pair import caveat_of
from optimizers.trials import CandidateTrial

UNKNOWN_VERSIONS: Final = Versions(graphbound="unknown", python="unknown", torch="unknown")
NOT_TIMED: Final = "it was captured, and never timed"
MAX_UNCALLED: Final = 3
"""Graphs that are named in the note on those without a row; all of them are in report.json."""

NOT_CALLED: Final = "no step in steady state calls it: it was compiled for an earlier step, and replaced or given up"


def assemble(measured: Measured, *, target: str, next_command: str) -> Report:
    """The report of what has been measured so far."""
    doubts = doubts_of(measured)
    measured = doubted(measured, doubts)
    comparison = _comparison(measured)
    plans = _plans(measured)
    findings, failures = _findings(measured, plans, doubts)
    before, after = measured.before, measured.after
    attributed = before.attribution.attributed if before else None
    graphs = _graphs(measured) if doubts.why is None else _without_predictions(_graphs(measured))
    return Report(
        headline=headline(measured, comparison, doubts),
        workload=measured.facts or _unknown_workload(target),
        device=measured.device or _unmeasured(measured.facts),
        versions=measured.versions or UNKNOWN_VERSIONS,
        capture=capture_told(measured),
        graphs=graphs,
        eager_gaps=_gaps(measured),
        step_ns=measured.timing.step_ns if measured.timing else measured.eager_ns,
        step_budget=before.step if before else None,
        step_budget_after=after.step if after else None,
        findings=findings,
        rule_failures=failures,
        plans=plans,
        comparison=comparison,
        attributed=attributed,
        attributed_after=after.attribution.attributed if after else None,
        linked_share=attributed.linked_share if attributed else None,
        profiler_slowdown=_slowdown(measured),
        warmup_ns=measured.timing.warmup_ns if measured.timing else (),
        stages=tuple(measured.stages),
        notes=_notes(measured, graphs, doubts),
        partial=measured.partial,
        partial_at=measured.partial_at,
        next_command=next_command,
        input_sets=input_sets(measured),
        host_waits=_host_waits(before),
        crowd=_crowd(measured),
        origin=measured.origin,
        generated_code=tuple(measured.generated_code),
    )


def _findings(
    measured: Measured, plans: tuple[PlanTrial, ...], doubts: Doubts
) -> tuple[tuple[Finding, ...], tuple[RuleFailure, ...]]:
    """What the rules found, and which of them failed."""
    if measured.capture is None:
        return (), ()
    findings, failures = run_rules(facts_of(measured, plans, is_disturbed=doubts.is_disturbed))
    if doubts.why is None:
        return findings, failures
    # The pattern was seen all the same; what it costs is of a pass that is not believed.
    return tuple(replace(finding, ns_per_step=None) for finding in findings), failures


def _notes(measured: Measured, graphs: tuple[GraphReport, ...], doubts: Doubts) -> tuple[str, ...]:
    told = (*doubts.notes, *_uncalled_notes(graphs), *set_notes(measured), *measured.notes)
    return (*told, *_trace_notes(measured.before))


def _crowd(measured: Measured) -> Crowd | None:
    checked = measured.verification
    seen = (measured.timing.crowd if measured.timing else None, checked.crowd if checked else None)
    return max((crowd for crowd in seen if crowd is not None), key=lambda crowd: crowd.other_cores, default=None)


def _host_waits(before: Diagnosis | None) -> float | None:
    """On a CPU there is no device to wait for, and nothing to count."""
    if before is None or before.activity.missing is not None or before.activity.is_host:
        return None
    return sum(w.count for w in before.activity.waits if w.direction is not CopyDirection.TO_DEVICE)


def _unmeasured(facts: WorkloadFacts | None) -> Device:
    """The device of a run that ended before it was measured: what is known of it is its name."""
    if facts is None:
        return Device(kind="unknown", name="unknown", source=Source.MEASURED)
    return Device(
        kind=facts.device,
        name=facts.device_name or facts.device,
        source=Source.MEASURED,
        notes=("nothing of it was measured: the run ended before",),
    )


def _uncalled_notes(graphs: tuple[GraphReport, ...]) -> tuple[str, ...]:
    """That some graphs have no row, since no step calls them any more."""
    gone = [graph for graph in graphs if not graph.is_in_step]
    if not gone:
        return ()
    named = [f"{graph_label(graph)} [{', '.join(graph.compile_ids)}]" for graph in gone[:MAX_UNCALLED]]
    more = f" and {len(gone) - MAX_UNCALLED} more" if len(gone) > MAX_UNCALLED else ""
    number = "one graph has" if len(gone) == 1 else f"{len(gone)} graphs have"
    return (
        f"{number} no row, since no step in steady state calls what was compiled for an earlier one: "
        f"{', '.join(named)}{more}",
    )


def _unknown_workload(target: str) -> WorkloadFacts:
    return WorkloadFacts(
        name=target, source=target, form="unknown", mode="unknown", device="unknown", inputs=(), parameters=None
    )


def _slowdown(measured: Measured) -> float | None:
    """Profiled step over clean step."""
    if measured.profiled_step_ns is None or measured.timing is None:
        return None
    return measured.profiled_step_ns / max(measured.timing.step_ns.median_ns, 1)


def _trace_notes(before: Diagnosis | None) -> tuple[str, ...]:
    if before is None:
        return ()
    regions = (note for judged in before.regions for note in judged.budget.notes)
    # What the reader left out of a trace of our own making (flow arrows, metadata) says nothing of the model.
    return (*before.attribution.notes, *_summed(regions))


def _summed(notes: Iterable[str]) -> tuple[str, ...]:
    """Notes of several regions that differ in their leading count alone become one with the sum."""
    counts: dict[str, int] = {}
    for note in notes:
        number, _, rest = note.partition(" ")
        words, count = (rest, int(number)) if number.isdecimal() else (note, 0)
        counts[words] = counts.get(words, 0) + count
    return tuple(f"{count} {words}" if count else words for words, count in counts.items())


def _comparison(measured: Measured) -> Comparison | None:
    checked = measured.verification
    if checked is None or checked.default.step_ns is None or checked.planned.step_ns is None:
        return None
    return compare(checked.default.step_ns, checked.planned.step_ns, checked.planned.accuracy)


def _graphs(measured: Measured) -> tuple[GraphReport, ...]:
    graphs = measured.capture.graphs if measured.capture else ()
    return tuple(_graph(graph, measured) for graph in graphs)


def _graph(graph: Graph, measured: Measured) -> GraphReport:
    before = measured.before.judged(graph.key) if measured.before else None
    after = measured.after.judged(graph.key) if measured.after else None
    return GraphReport(
        key=graph.key,
        where=graph.where,
        source=graph.source,
        compile_ids=graph.compile_ids,
        calls_per_step=_calls(graph, measured),
        op_count=graph.op_count,
        kernels_per_step=before.budget.kernels_per_step if before else None,
        ended_by=graph.ended_by,
        verdict=_verdict(before, measured),
        budget=before.budget.budget if before else None,
        busy_ns=before.budget.busy_ns if before else None,
        candidates=_candidates(graph, measured),
        chosen=chosen(graph.key, measured),
        before_ns=before_ns(graph.key, before, measured),
        after_ns=elapsed_ns(after),
        verdict_after=after.verdict if after else None,
        budget_after=after.budget.budget if after else None,
        is_in_step=measured.timing is None or before is not None or _calls(graph, measured) > 0,
    )


def _calls(graph: Graph, measured: Measured) -> float:
    regions = measured.timing.regions if measured.timing else ()
    return next((r.calls_per_step for r in regions if r.region == graph.key), 0.0)


def _verdict(judged: Judged | None, measured: Measured) -> Verdict:
    if judged is not None:
        return judged.verdict
    return Verdict(Bound.UNDECIDED, None, (), missing=NOT_TIMED if measured.before is None else NOT_CALLED)


def _without_predictions(graphs: tuple[GraphReport, ...]) -> tuple[GraphReport, ...]:
    """They were made from a pass that is not believed: a crowded one foretells ten times what a trial then takes."""
    return tuple(
        replace(graph, candidates=tuple(replace(one, predicted_ns=None) for one in graph.candidates))
        for graph in graphs
    )


def _candidates(graph: Graph, measured: Measured) -> tuple[CandidateReport, ...]:
    return tuple(_candidate(trial) for trial in measured.trials if trial.digest == graph.key.digest)


def _candidate(tried: CandidateTrial) -> CandidateReport:
    trial = tried.trial
    return CandidateReport(
        candidate=tried.candidate,
        outcome=trial.outcome,
        reason=trial.reason,
        predicted_ns=tried.predicted_ns,
        measured_ns=trial.region_ns,
        baseline_ns=trial.region_against_ns,
        step_ns=_median(trial.step_ns),
        step_baseline_ns=_median(trial.against),
        accuracy=trial.accuracy,
        compile_ns=trial.compile_ns,
        peak_bytes=trial.peak_bytes,
        pool_bytes=trial.pool_bytes,
        python_fallbacks=trial.python_fallbacks,
        caveat=caveat_of(tried.candidate),
        step_samples=_kept(trial.step_ns),
        step_baseline_samples=_kept(trial.against),
    )


def _kept(samples: Samples | None) -> Samples | None:
    return samples.thinned(MOST_SAMPLES) if samples is not None else None


def _median(samples: Samples | None) -> int | None:
    return samples.median_ns if samples is not None else None


def _gaps(measured: Measured) -> tuple[GapReport, ...]:
    if measured.before is None:
        return ()
    return tuple(_gap(j.region, j, measured) for j in measured.before.regions if isinstance(j.region, GapKey))


def _gap(key: GapKey, judged: Judged, measured: Measured) -> GapReport:
    after = measured.after.judged(key) if measured.after else None
    return GapReport(
        key=key,
        where=_end_of(key, measured),
        verdict=judged.verdict,
        budget=judged.budget.budget,
        kernels_per_step=judged.budget.kernels_per_step,
        before_ns=before_ns(key, judged, measured),
        after_ns=elapsed_ns(after),
    )


def _end_of(key: GapKey, measured: Measured) -> SourceLine | None:
    stop = ended_by(measured.capture, key.after)
    return stop.where if stop else None


def _plans(measured: Measured) -> tuple[PlanTrial, ...]:
    """The ways to run the whole model, as measured. The verified three were taken in turn with each other, the joint
    trials in turn with the default.
    """
    checked = measured.verification
    is_left_alone = measured.plan is not None and not measured.plan.is_compiled
    if checked is None:
        eager_ns, default_ns = measured.eager_ns, measured.default_ns
        alone = [] if eager_ns is None else [way(EAGER, eager_ns)]
        alone += [] if default_ns is None else [way(DEFAULT_PLAN, default_ns, measured.default_accuracy)]
        chosen = EAGER if is_left_alone else None
        return (*(_way(one, measured, is_chosen=one.name == chosen) for one in alone), *_joint(measured))
    planned = () if is_left_alone else (_way(checked.planned, measured, is_chosen=True),)
    eager = _way(checked.eager, measured, is_chosen=is_left_alone)
    return (eager, _way(checked.default, measured, is_chosen=False), *planned, *_joint(measured))


def _way(run: Way, measured: Measured, *, is_chosen: bool) -> PlanTrial:
    choices = measured.plan.choices if measured.plan and run.name == "plan" else ()
    return PlanTrial(
        name=run.name,
        outcome=run.outcome,
        reason=run.reason,
        step_ns=run.step_ns,
        accuracy=run.accuracy,
        peak_bytes=run.peak_bytes,
        choices=tuple(f"{choice.key}={choice.candidate}" for choice in choices),
        is_chosen=is_chosen,
        pool_bytes=run.pool_bytes,
    )


def _joint(measured: Measured) -> tuple[PlanTrial, ...]:
    return tuple(
        PlanTrial(
            name=joint.name,
            outcome=joint.trial.outcome,
            reason=joint.trial.reason,
            step_ns=joint.trial.step_ns,
            accuracy=joint.trial.accuracy,
            peak_bytes=joint.trial.peak_bytes,
            choices=tuple(f"{digest}={candidate}" for digest, candidate in sorted(joint.choices.items())),
            is_chosen=False,
            against_ns=joint.trial.against,
            pool_bytes=joint.trial.pool_bytes,
        )
        for joint in measured.joint
    )
