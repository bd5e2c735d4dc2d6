"""Report to its public JSON form. The inverse of `from_wire.py`."""

from __future__ import annotations

import math

from analyzer.core.budget import Budget
from analyzer.core.finding import Finding
from analyzer.core.graphs import Capture, CudaGraphSkip, Graph, GraphKey
from analyzer.core.report import CandidateReport, GapReport, GraphReport, PlanTrial, Report
from analyzer.core.trial import Accuracy, Comparison
from analyzer.core.verdict import Verdict
from analyzer.reporting import wire


def report_to_wire(report: Report) -> wire.WireReport:
    return wire.WireReport(
        schema=report.schema,
        headline=report.headline,
        workload=report.workload,
        device=report.device,
        versions=report.versions,
        comparison=_comparison(report.comparison),
        graphs=tuple(_graph_report(g) for g in report.graphs),
        eager_gaps=tuple(_gap_report(g) for g in report.eager_gaps),
        findings=tuple(_finding(f) for f in report.findings),
        plans=tuple(_plan_trial(p) for p in report.plans),
        linked_share=report.linked_share,
        partial=report.partial,
        partial_at=report.partial_at,
        step_ns=report.step_ns,
        step_budget=_budget(report.step_budget),
        step_budget_after=_budget(report.step_budget_after),
        capture=_capture(report.capture),
        rule_failures=report.rule_failures,
        attributed=report.attributed,
        attributed_after=report.attributed_after,
        profiler_slowdown=report.profiler_slowdown,
        warmup_ns=report.warmup_ns,
        stages=report.stages,
        notes=report.notes,
        next_command=report.next_command,
        is_recorded=report.is_recorded,
        honesty=report.honesty,
        ranks=report.ranks,
        input_sets=report.input_sets,
        host_waits=report.host_waits,
        crowd=report.crowd,
        origin=report.origin,
        critical_path=report.critical_path,
        generated_code=tuple(
            wire.WireStoredCode(str(code.key), code.candidate, code.file, code.code_bytes, code.kept_bytes)
            for code in report.generated_code
        ),
    )


def _graph_report(graph: GraphReport) -> wire.WireGraphReport:
    return wire.WireGraphReport(
        key=str(graph.key),
        direction=graph.key.direction,
        where=graph.where,
        source=graph.source,
        compile_ids=graph.compile_ids,
        calls_per_step=graph.calls_per_step,
        op_count=graph.op_count,
        kernels_per_step=graph.kernels_per_step,
        ended_by=graph.ended_by,
        verdict=_verdict(graph.verdict),
        budget=_budget(graph.budget),
        busy_ns=graph.busy_ns,
        candidates=tuple(_candidate(c) for c in graph.candidates),
        chosen=graph.chosen,
        before_ns=graph.before_ns,
        after_ns=graph.after_ns,
        verdict_after=None if graph.verdict_after is None else _verdict(graph.verdict_after),
        budget_after=_budget(graph.budget_after),
        is_in_step=graph.is_in_step,
        label=graph.label,
        kind=graph.kind,
    )


def _gap_report(gap: GapReport) -> wire.WireGapReport:
    return wire.WireGapReport(
        key=str(gap.key),
        after=_key(gap.key.after),
        before=_key(gap.key.before),
        where=gap.where,
        verdict=_verdict(gap.verdict),
        budget=_budget(gap.budget),
        kernels_per_step=gap.kernels_per_step,
        before_ns=gap.before_ns,
        after_ns=gap.after_ns,
    )


def _candidate(candidate: CandidateReport) -> wire.WireCandidate:
    return wire.WireCandidate(
        candidate=candidate.candidate,
        outcome=candidate.outcome,
        reason=candidate.reason,
        predicted_ns=candidate.predicted_ns,
        measured_ns=candidate.measured_ns,
        baseline_ns=candidate.baseline_ns,
        step_ns=candidate.step_ns,
        step_baseline_ns=candidate.step_baseline_ns,
        accuracy=_accuracy(candidate.accuracy),
        compile_ns=candidate.compile_ns,
        peak_bytes=candidate.peak_bytes,
        pool_bytes=candidate.pool_bytes,
        python_fallbacks=candidate.python_fallbacks,
        caveat=candidate.caveat,
        step_samples=candidate.step_samples,
        step_baseline_samples=candidate.step_baseline_samples,
    )


def _plan_trial(trial: PlanTrial) -> wire.WirePlanTrial:
    return wire.WirePlanTrial(
        name=trial.name,
        outcome=trial.outcome,
        reason=trial.reason,
        step_ns=trial.step_ns,
        accuracy=_accuracy(trial.accuracy),
        peak_bytes=trial.peak_bytes,
        choices=trial.choices,
        is_chosen=trial.is_chosen,
        against_ns=trial.against_ns,
        pool_bytes=trial.pool_bytes,
    )


def _comparison(comparison: Comparison | None) -> wire.WireComparison | None:
    if comparison is None:
        return None
    return wire.WireComparison(
        outcome=comparison.outcome,
        before_ns=comparison.before_ns,
        after_ns=comparison.after_ns,
        ratio=comparison.ratio,
        interval=comparison.interval,
        accuracy=_accuracy(comparison.accuracy),
    )


def _accuracy(accuracy: Accuracy | None) -> wire.WireAccuracy | None:
    if accuracy is None:
        return None
    return wire.WireAccuracy(
        reference=accuracy.reference,
        error=_number(accuracy.error),
        eager_error=_number(accuracy.eager_error),
        allowed=_number(accuracy.allowed),
        is_right=accuracy.is_right,
        is_random=accuracy.is_random,
        worst=accuracy.worst,
        detail=accuracy.detail,
    )


def _budget(budget: Budget | None) -> wire.WireBudget | None:
    if budget is None:
        return None
    parts = tuple(wire.WirePart(name=p.part.value, ns=p.ns, is_scaled=p.is_scaled) for p in budget.parts)
    return wire.WireBudget(elapsed_ns=budget.elapsed_ns, parts=parts, starved=_starved(budget))


def _starved(budget: Budget) -> tuple[wire.WireHostPart, ...] | None:
    if budget.starved is None:
        return None
    return tuple(wire.WireHostPart(name=p.kind.value, ns=p.ns, is_scaled=p.is_scaled) for p in budget.starved)


def _verdict(verdict: Verdict) -> wire.WireVerdict:
    return wire.WireVerdict(
        bound=verdict.bound,
        confidence=verdict.confidence,
        evidence=verdict.evidence,
        savings=tuple(wire.WireSaving(part=s.part.value, at_most_ns=s.at_most_ns) for s in verdict.savings),
        missing=verdict.missing,
    )


def _finding(finding: Finding) -> wire.WireFinding:
    where = finding.where
    return wire.WireFinding(
        rule=finding.rule,
        message=finding.message,
        file=None if where is None else where.file,
        line=None if where is None else where.line,
        function=None if where is None else where.function,
        ns_per_step=finding.ns_per_step,
        remedy=finding.remedy,
        count=finding.count,
        confidence=finding.confidence,
        excerpt=finding.excerpt,
    )


def _capture(capture: Capture | None) -> wire.WireCapture | None:
    if capture is None:
        return None
    return wire.WireCapture(
        graphs=tuple(_graph(g) for g in capture.graphs),
        breaks=capture.breaks,
        recompiles=capture.recompiles,
        skips=tuple(_skip(s) for s in capture.skips),
        compile_ns=capture.compile_ns,
        first_call_ns=capture.first_call_ns,
    )


def _graph(graph: Graph) -> wire.WireGraph:
    return wire.WireGraph(
        key=str(graph.key),
        direction=graph.key.direction,
        compile_ids=graph.compile_ids,
        source=graph.source,
        op_count=graph.op_count,
        ended_by=graph.ended_by,
        flops=graph.flops,
        bytes=graph.bytes,
        dtype=graph.dtype,
        kernels=graph.kernels,
        loops=graph.loops,
        scalar_loops=graph.scalar_loops,
        copied_bytes=graph.copied_bytes,
        inputs=graph.inputs,
        code_bytes=graph.code_bytes,
        host_made=graph.host_made,
        plan_kernels=graph.plan_kernels,
        calls=graph.calls,
        plan_calls=graph.plan_calls,
    )


def _skip(skip: CudaGraphSkip) -> wire.WireSkip:
    return wire.WireSkip(key=_key(skip.key), where=skip.where, reason=skip.reason)


def _key(key: GraphKey | None) -> str | None:
    return None if key is None else str(key)


def _number(value: float) -> wire.Number:
    return value if math.isfinite(value) else str(float(value))
