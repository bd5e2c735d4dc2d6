"""The public form of report.json, schema 1: what its objects are called and how they nest.

A type of the core stands here as it is where its JSON is the same; a struct stands here where it is not. The test of
the JSON's keys (tests/unit/reporting/test_json.py) pins both. Converting is `to_wire.py` and `from_wire.py`.
"""

from __future__ import annotations

from msgspec import Struct

from analyzer.core.critical_path import CriticalPath
from analyzer.core.device import Device, Versions
from analyzer.core.finding import Confidence, Excerpt, RuleFailure
from analyzer.core.graphs import CallOrder, Direction, GraphBreak, KernelFacts, Recompile, SourceLine
from analyzer.core.origin import Origin
from analyzer.core.ranks import RanksReport
from analyzer.core.report import Attributed, Stage, WorkloadFacts
from analyzer.core.samples import Interval, Samples
from analyzer.core.timing import Crowd, SetTiming
from analyzer.core.trial import AccuracyReference, Change, TrialOutcome
from analyzer.core.verdict import Bound

Number = float | str
"""JSON has no infinity: an error that is not finite is written as `"inf"` or `"nan"`."""


class WirePart(Struct, frozen=True):
    name: str
    ns: int
    is_scaled: bool


class WireHostPart(Struct, frozen=True):
    name: str
    ns: int
    is_scaled: bool


class WireBudget(Struct, frozen=True):
    """`starved` splits the part of that name; null where the trace does not show what the host did."""

    elapsed_ns: int
    parts: tuple[WirePart, ...]
    starved: tuple[WireHostPart, ...] | None = None


class WireSaving(Struct, frozen=True):
    part: str
    at_most_ns: int


class WireVerdict(Struct, frozen=True):
    bound: Bound
    confidence: float | None
    evidence: tuple[str, ...]
    savings: tuple[WireSaving, ...]
    missing: str | None


class WireAccuracy(Struct, frozen=True):
    reference: AccuracyReference
    error: Number
    eager_error: Number
    allowed: Number
    is_right: bool
    is_random: bool
    worst: str | None
    detail: str | None


class WireCandidate(Struct, frozen=True):
    candidate: str
    outcome: TrialOutcome
    reason: str | None
    predicted_ns: int | None
    measured_ns: int | None
    baseline_ns: int | None
    step_ns: int | None
    step_baseline_ns: int | None
    accuracy: WireAccuracy | None
    compile_ns: int | None
    peak_bytes: int | None
    pool_bytes: int | None = None
    python_fallbacks: tuple[str, ...] = ()
    caveat: str | None = None
    step_samples: Samples | None = None
    step_baseline_samples: Samples | None = None


class WireGraphReport(Struct, frozen=True):
    """`key` is `digest.direction`."""

    key: str
    direction: Direction
    where: SourceLine | None
    source: tuple[SourceLine, ...]
    compile_ids: tuple[str, ...]
    calls_per_step: float
    op_count: int | None
    kernels_per_step: float | None
    ended_by: GraphBreak | None
    verdict: WireVerdict
    budget: WireBudget | None
    busy_ns: int | None
    candidates: tuple[WireCandidate, ...]
    chosen: str
    before_ns: int | None
    after_ns: int | None
    verdict_after: WireVerdict | None
    budget_after: WireBudget | None
    is_in_step: bool = True
    label: str | None = None
    kind: str = "compiled graph"


class WireGapReport(Struct, frozen=True):
    """`after` and `before` are graph keys; null is the edge of the step."""

    key: str
    after: str | None
    before: str | None
    where: SourceLine | None
    verdict: WireVerdict
    budget: WireBudget | None
    kernels_per_step: float | None
    before_ns: int | None
    after_ns: int | None


class WireFinding(Struct, frozen=True):
    rule: str
    message: str
    file: str | None
    line: int | None
    function: str | None
    ns_per_step: int | None
    remedy: str
    count: int
    confidence: Confidence = Confidence.LIKELY
    excerpt: Excerpt | None = None


class WireGraph(Struct, frozen=True):
    key: str
    direction: Direction
    compile_ids: tuple[str, ...]
    source: tuple[SourceLine, ...]
    op_count: int
    ended_by: GraphBreak | None
    flops: int | None
    bytes: int | None
    dtype: str | None
    kernels: tuple[KernelFacts, ...] = ()
    loops: int | None = None
    scalar_loops: int | None = None
    copied_bytes: int | None = None
    inputs: int | None = None
    code_bytes: int | None = None
    host_made: tuple[SourceLine, ...] = ()
    plan_kernels: tuple[KernelFacts, ...] | None = None
    calls: CallOrder | None = None
    plan_calls: CallOrder | None = None


class WireSkip(Struct, frozen=True):
    key: str | None
    where: SourceLine | None
    reason: str


class WireCapture(Struct, frozen=True):
    graphs: tuple[WireGraph, ...]
    breaks: tuple[GraphBreak, ...]
    recompiles: tuple[Recompile, ...]
    skips: tuple[WireSkip, ...]
    compile_ns: int
    first_call_ns: int


class WirePlanTrial(Struct, frozen=True):
    name: str
    outcome: TrialOutcome
    reason: str | None
    step_ns: Samples | None
    accuracy: WireAccuracy | None
    peak_bytes: int | None
    choices: tuple[str, ...]
    is_chosen: bool
    against_ns: Samples | None = None
    pool_bytes: int | None = None


class WireStoredCode(Struct, frozen=True):
    key: str
    candidate: str
    file: str | None
    code_bytes: int
    kept_bytes: int


class WireComparison(Struct, frozen=True):
    outcome: Change
    before_ns: int
    after_ns: int
    ratio: float
    interval: Interval
    accuracy: WireAccuracy | None


class WireReport(Struct, frozen=True):
    """report.json itself. `schema` first, so that a reader of a stream can stop there."""

    schema: int
    headline: str
    workload: WorkloadFacts
    device: Device
    versions: Versions
    comparison: WireComparison | None
    graphs: tuple[WireGraphReport, ...]
    eager_gaps: tuple[WireGapReport, ...]
    findings: tuple[WireFinding, ...]
    plans: tuple[WirePlanTrial, ...]
    linked_share: float | None
    partial: str | None
    step_ns: Samples | None
    step_budget: WireBudget | None
    step_budget_after: WireBudget | None
    capture: WireCapture | None
    rule_failures: tuple[RuleFailure, ...]
    attributed: Attributed | None
    attributed_after: Attributed | None
    profiler_slowdown: float | None
    warmup_ns: tuple[int, ...]
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    next_command: str
    is_recorded: bool = False
    honesty: tuple[str, ...] = ()
    ranks: RanksReport | None = None
    input_sets: tuple[SetTiming, ...] = ()
    host_waits: float | None = None
    crowd: Crowd | None = None
    origin: Origin | None = None
    critical_path: CriticalPath | None = None
    generated_code: tuple[WireStoredCode, ...] = ()
    partial_at: SourceLine | None = None
