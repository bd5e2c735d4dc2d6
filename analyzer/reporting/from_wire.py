"""The public JSON form back to a Report, exactly. The inverse of `to_wire.py`.

Raises ValueError where a value is of the right type and yet impossible: a key that is none, parts that do not add up.
"""

from __future__ import annotations

from analyzer.core.budget import Budget, BudgetPart, HostKind, HostPart, Part
from analyzer.core.finding import Finding
from analyzer.core.generated_code import StoredCode
from analyzer.core.graphs import Capture, CudaGraphSkip, GapKey, Graph, GraphKey, SourceLine
from analyzer.core.report import CandidateReport, GapReport, GraphReport, PlanTrial, Report
from analyzer.core.trial import Accuracy, Comparison
from analyzer.core.verdict import Saving, Verdict
from analyzer.reporting import wire


def report_from_wire(report: wire.WireReport) -> Report:
    return Report(
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
        step_budget=budget_from_wire(report.step_budget),
        step_budget_after=budget_from_wire(report.step_budget_after),
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
            StoredCode(GraphKey.parse(code.key), code.candidate, code.file, code.code_bytes, code.kept_bytes)
            for code in report.generated_code
        ),
    )


def _graph_report(graph: wire.WireGraphReport) -> GraphReport:
    return GraphReport(
        key=GraphKey.parse(graph.key),
        where=graph.where,
        source=graph.source,
        compile_ids=graph.compile_ids,
        calls_per_step=graph.calls_per_step,
        op_count=graph.op_count,
        kernels_per_step=graph.kernels_per_step,
        ended_by=graph.ended_by,
        verdict=_verdict(graph.verdict),
        budget=budget_from_wire(graph.budget),
        busy_ns=graph.busy_ns,
        candidates=tuple(_candidate(c) for c in graph.candidates),
        chosen=graph.chosen,
        before_ns=graph.before_ns,
        after_ns=graph.after_ns,
        verdict_after=None if graph.verdict_after is None else _verdict(graph.verdict_after),
        budget_after=budget_from_wire(graph.budget_after),
        is_in_step=graph.is_in_step,
        label=graph.label,
        kind=graph.kind,
    )


def _gap_report(gap: wire.WireGapReport) -> GapReport:
    return GapReport(
        key=GapKey(after=_key(gap.after), before=_key(gap.before)),
        where=gap.where,
        verdict=_verdict(gap.verdict),
        budget=budget_from_wire(gap.budget),
        kernels_per_step=gap.kernels_per_step,
        before_ns=gap.before_ns,
        after_ns=gap.after_ns,
    )


def _candidate(candidate: wire.WireCandidate) -> CandidateReport:
    return CandidateReport(
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


def _plan_trial(trial: wire.WirePlanTrial) -> PlanTrial:
    return PlanTrial(
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


def _comparison(comparison: wire.WireComparison | None) -> Comparison | None:
    if comparison is None:
        return None
    return Comparison(
        outcome=comparison.outcome,
        before_ns=comparison.before_ns,
        after_ns=comparison.after_ns,
        ratio=comparison.ratio,
        interval=comparison.interval,
        accuracy=_accuracy(comparison.accuracy),
    )


def _accuracy(accuracy: wire.WireAccuracy | None) -> Accuracy | None:
    if accuracy is None:
        return None
    return Accuracy(
        reference=accuracy.reference,
        error=float(accuracy.error),
        eager_error=float(accuracy.eager_error),
        allowed=float(accuracy.allowed),
        is_right=accuracy.is_right,
        is_random=accuracy.is_random,
        worst=accuracy.worst,
        detail=accuracy.detail,
    )


def budget_from_wire(budget: wire.WireBudget | None) -> Budget | None:
    if budget is None:
        return None
    parts = tuple(BudgetPart(part=Part(p.name), ns=p.ns, is_scaled=p.is_scaled) for p in budget.parts)
    return Budget(elapsed_ns=budget.elapsed_ns, parts=parts, starved=_starved(budget.starved))


def _starved(parts: tuple[wire.WireHostPart, ...] | None) -> tuple[HostPart, ...] | None:
    if parts is None:
        return None
    return tuple(HostPart(kind=HostKind(p.name), ns=p.ns, is_scaled=p.is_scaled) for p in parts)


def _verdict(verdict: wire.WireVerdict) -> Verdict:
    return Verdict(
        bound=verdict.bound,
        confidence=verdict.confidence,
        evidence=verdict.evidence,
        savings=tuple(Saving(part=Part(s.part), at_most_ns=s.at_most_ns) for s in verdict.savings),
        missing=verdict.missing,
    )


def _finding(finding: wire.WireFinding) -> Finding:
    where = None
    if finding.file is not None and finding.line is not None:
        where = SourceLine(file=finding.file, line=finding.line, function=finding.function)
    return Finding(
        rule=finding.rule,
        message=finding.message,
        where=where,
        ns_per_step=finding.ns_per_step,
        remedy=finding.remedy,
        count=finding.count,
        confidence=finding.confidence,
        excerpt=finding.excerpt,
    )


def _capture(capture: wire.WireCapture | None) -> Capture | None:
    if capture is None:
        return None
    return Capture(
        graphs=tuple(_graph(g) for g in capture.graphs),
        breaks=capture.breaks,
        recompiles=capture.recompiles,
        skips=tuple(_skip(s) for s in capture.skips),
        compile_ns=capture.compile_ns,
        first_call_ns=capture.first_call_ns,
    )


def _graph(graph: wire.WireGraph) -> Graph:
    return Graph(
        key=GraphKey.parse(graph.key),
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


def _skip(skip: wire.WireSkip) -> CudaGraphSkip:
    return CudaGraphSkip(key=_key(skip.key), where=skip.where, reason=skip.reason)


def _key(text: str | None) -> GraphKey | None:
    return None if text is None else GraphKey.parse(text)
