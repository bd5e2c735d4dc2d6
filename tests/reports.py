"""Builds reports for tests. Every builder takes what the test is about and fills in the rest plausibly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.device import Device, Peak, Source, Versions
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.graphs import (
    Capture,
    CudaGraphSkip,
    Direction,
    GapKey,
    Graph,
    GraphBreak,
    GraphKey,
    KernelFacts,
    OpCount,
    Recompile,
    SourceLine,
)
from analyzer.core.report import (
    Attributed,
    CandidateReport,
    GapReport,
    GraphReport,
    PlanTrial,
    Report,
    Stage,
    WorkloadFacts,
)
from analyzer.core.samples import Interval, Samples
from analyzer.core.trial import Accuracy, AccuracyReference, Change, Comparison, TrialOutcome
from analyzer.core.verdict import Bound, Saving, Verdict

MS = 1_000_000


def a_key(number: int = 1, direction: Direction = Direction.INFERENCE) -> GraphKey:
    return GraphKey(digest=f"{number:012x}", direction=direction)


def at(place: str) -> SourceLine:
    """`at("model.py:41")`."""
    file, _, line = place.rpartition(":")
    return SourceLine(file=file, line=int(line), function="forward")


def a_budget(**parts_ms: float) -> Budget:
    """`a_budget(starved=10.0, memory=1.2)`: parts in milliseconds by name, a space written as an underscore."""
    parts = tuple(BudgetPart(Part(name.replace("_", " ")), round(ms * MS)) for name, ms in parts_ms.items())
    return Budget(elapsed_ns=sum(p.ns for p in parts), parts=parts)


def a_verdict(bound: Bound = Bound.CPU, **changes: Any) -> Verdict:
    is_decided = bound is not Bound.UNDECIDED
    verdict = Verdict(
        bound=bound,
        confidence=0.92 if is_decided else None,
        evidence=("the device waits for the host in 66 % of the step",) if is_decided else (),
        savings=(Saving(Part.STARVED, 21 * MS),) if is_decided else (),
        missing=None if is_decided else "no kernel was recorded: run where CUPTI is installed",
    )
    return replace(verdict, **changes)


def some_samples(median_ms: float, count: int = 5) -> Samples:
    return Samples(ns=tuple(round(median_ms * MS * (1 + 0.004 * (i - count // 2))) for i in range(count)))


def an_accuracy(**changes: Any) -> Accuracy:
    accuracy = Accuracy(
        reference=AccuracyReference.FLOAT64, error=3.1e-3, eager_error=2.9e-3, allowed=5.8e-3, is_right=True
    )
    return replace(accuracy, **changes)


def a_candidate(name: str = "cuda_graphs", **changes: Any) -> CandidateReport:
    candidate = CandidateReport(
        candidate=name,
        outcome=TrialOutcome.MEASURED,
        reason=None,
        predicted_ns=round(10.8 * MS),
        measured_ns=round(11.2 * MS),
        baseline_ns=round(31.3 * MS),
        step_ns=round(11.5 * MS),
        step_baseline_ns=round(31.8 * MS),
        accuracy=an_accuracy(),
        compile_ns=21_000 * MS,
        peak_bytes=1_610_612_736,
    )
    return replace(candidate, **changes)


def a_refusal(name: str, reason: str, outcome: TrialOutcome = TrialOutcome.REFUSED) -> CandidateReport:
    return a_candidate(name, outcome=outcome, reason=reason, measured_ns=None, step_ns=None, accuracy=None)


def a_graph(place: str = "/home/ada/gptlite.py:41", number: int = 1, **changes: Any) -> GraphReport:
    direction = changes.pop("direction", Direction.INFERENCE)
    graph = GraphReport(
        key=a_key(number, direction),
        where=at(place),
        source=(at(place),),
        compile_ids=(f"{number - 1}/0",),
        calls_per_step=1.0,
        op_count=412,
        kernels_per_step=288.0,
        ended_by=None,
        verdict=a_verdict(),
        budget=a_budget(starved=20.9, memory=6.2, compute=3.1, latency=0.8),
        busy_ns=round(10.1 * MS),
        candidates=(
            a_candidate("fused", predicted_ns=None, measured_ns=round(31.8 * MS)),
            a_candidate("cuda_graphs"),
            a_refusal("cpp_wrapper", "no C++ compiler was found"),
        ),
        chosen="cuda_graphs",
        before_ns=31 * MS,
        after_ns=round(10.9 * MS),
        verdict_after=a_verdict(Bound.MEMORY),
        budget_after=a_budget(starved=0.8, memory=6.2, compute=3.1, latency=0.8),
    )
    return replace(graph, **changes)


def a_gap(**changes: Any) -> GapReport:
    gap = GapReport(
        key=GapKey(after=a_key(1), before=a_key(2)),
        where=at("/home/ada/gptlite.py:57"),
        verdict=a_verdict(),
        budget=a_budget(starved=0.6, latency=0.2),
        kernels_per_step=2.0,
        before_ns=round(0.8 * MS),
        after_ns=round(0.7 * MS),
    )
    return replace(gap, **changes)


def a_finding(rule: str = "graph_break", **changes: Any) -> Finding:
    finding = Finding(
        rule=rule,
        message="Tensor.item() needs the value on the host",
        where=at("/home/ada/gptlite.py:57"),
        ns_per_step=round(0.8 * MS),
        remedy="keep it a tensor, or set torch._dynamo.config.capture_scalar_outputs",
    )
    return replace(finding, **changes)


def a_plan_trial(name: str, median_ms: float | None, **changes: Any) -> PlanTrial:
    trial = PlanTrial(
        name=name,
        outcome=TrialOutcome.UNTRIED if median_ms is None else TrialOutcome.MEASURED,
        reason=None,
        step_ns=None if median_ms is None else some_samples(median_ms),
        accuracy=None if median_ms is None else an_accuracy(),
        peak_bytes=None if median_ms is None else 1_610_612_736,
        choices=(),
        is_chosen=False,
    )
    return replace(trial, **changes)


def a_comparison(outcome: Change = Change.FASTER, **changes: Any) -> Comparison:
    comparison = Comparison(
        outcome=outcome,
        before_ns=round(31.8 * MS),
        after_ns=round(11.5 * MS),
        ratio=2.77,
        interval=Interval(low=2.71, high=2.86),
        accuracy=an_accuracy(),
    )
    return replace(comparison, **changes)


def a_capture(graphs: Sequence[GraphReport] = (), **changes: Any) -> Capture:
    captured = tuple(
        Graph(
            key=g.key,
            compile_ids=g.compile_ids,
            source=g.source,
            op_count=g.op_count,
            ended_by=g.ended_by,
            flops=350_000_000_000,
            bytes=248_000_000,
            dtype="bfloat16",
            kernels=(
                KernelFacts(
                    "triton_poi_fused_add_0", 6_144, ops=(OpCount("add", 1_024),), reads=(2_048, 2_048), writes=(2_048,)
                ),
                KernelFacts("triton_tem_fused_mm_1", 8_192, flops=None, dtype="bfloat16"),
            ),
        )
        for g in graphs
    )
    a_break = GraphBreak(where=at("/home/ada/gptlite.py:57"), reason="Tensor.item", hint=None, compile_id="0/0")
    capture = Capture(
        graphs=captured,
        breaks=(a_break,),
        recompiles=(Recompile(where=at("/home/ada/gptlite.py:41"), guard="L['n'] == 3", compile_id="0/1"),),
        skips=(CudaGraphSkip(key=a_key(2), where=None, reason="cpu device (arg2)"),),
        compile_ns=19_300 * MS,
        first_call_ns=21_000 * MS,
    )
    return replace(capture, **changes)


def an_attribution(**changes: Any) -> Attributed:
    attributed = Attributed(
        kernel_ns=round(10.4 * MS),
        linked_ns=round(10.1 * MS),
        gap_ns=round(0.2 * MS),
        unlinked_ns=round(0.1 * MS),
        kernels=296,
        unlinked_kernels=3,
    )
    return replace(attributed, **changes)


def a_report(**changes: Any) -> Report:
    """GPTlite on an H200, in which one graph went from 31.0 to 10.9 ms, with one eager gap and one finding."""
    graphs = changes.get("graphs", (a_graph(), a_graph("/home/ada/gptlite.py:88", number=2, candidates=())))
    report = Report(
        headline="CPU-bound: the host cannot feed the device. 31.8 → 11.5 ms a step, 2.8× (95 % 2.7–2.9)",
        workload=WorkloadFacts(
            name="gptlite",
            source="/home/ada/gptlite.py",
            form="get_model",
            mode="inference",
            device="cuda",
            inputs=("int64[1, 2048]",),
            parameters=124_439_808,
            notes=("TF32 matrix products are on, as the file set them",),
        ),
        device=Device(
            kind="cuda",
            name="NVIDIA H200",
            source=Source.MEASURED,
            peaks=(Peak("bfloat16", 7.4e14), Peak("tf32", 3.9e14)),
            memory_bytes_per_s=4.1e12,
            memory_bytes=150_754_820_096,
            kernel_gap_ns=800.0,
            replay_ns=150_000.0,
            launch_ns=4_200.0,
        ),
        versions=Versions(graphbound="0.1.0", python="3.11.9", torch="2.13.0", triton="3.5.0", cuda="13.0"),
        capture=a_capture(graphs),
        graphs=graphs,
        eager_gaps=(a_gap(),),
        step_ns=some_samples(31.8),
        step_budget=a_budget(starved=21.5, memory=6.2, compute=3.1, latency=1.0),
        step_budget_after=a_budget(starved=1.2, memory=6.2, compute=3.1, latency=1.0),
        findings=(a_finding(),),
        rule_failures=(RuleFailure("recompile", "no recompile log in this torch"),),
        plans=(
            a_plan_trial("eager", 35.4),
            a_plan_trial("default", 31.8),
            a_plan_trial("reduce-overhead", 11.6),
            a_plan_trial("cpp_wrapper", None, outcome=TrialOutcome.FAILED, reason="no C++ compiler was found"),
            a_plan_trial("plan", 11.5, is_chosen=True, choices=(f"{a_key(1)}=cuda_graphs",)),
        ),
        comparison=a_comparison(),
        attributed=an_attribution(),
        attributed_after=an_attribution(linked_ns=round(9.9 * MS), unlinked_ns=round(0.3 * MS)),
        linked_share=an_attribution().linked_share,
        profiler_slowdown=1.21,
        warmup_ns=(21_000 * MS, 33 * MS, 32 * MS),
        stages=(Stage("capture", 21_300 * MS), Stage("clean pass", 4_100 * MS)),
        notes=("the clock of the device was not locked",),
        partial=None,
        next_command="analyze dashboard runs/gptlite-20260101-120000",
    )
    return replace(report, **changes)


def an_empty_report(**changes: Any) -> Report:
    """A run that was stopped before anything was measured: everything that may be unknown is."""
    nothing: dict[str, Any] = {
        "headline": "nothing was measured",
        "capture": None,
        "graphs": (),
        "eager_gaps": (),
        "step_ns": None,
        "step_budget": None,
        "step_budget_after": None,
        "findings": (),
        "rule_failures": (),
        "plans": (),
        "comparison": None,
        "attributed": None,
        "attributed_after": None,
        "linked_share": None,
        "profiler_slowdown": None,
        "warmup_ns": (),
        "stages": (),
        "notes": (),
        "partial": "interrupted by Ctrl-C in the stage `capture`",
    }
    return a_report(**(nothing | changes))
