"""Everything that is shown anywhere. report.json is this, and nothing is shown that is not here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from analyzer.core.budget import Budget
from analyzer.core.critical_path import CriticalPath
from analyzer.core.device import Device, Versions
from analyzer.core.finding import Finding, RuleFailure
from analyzer.core.generated_code import StoredCode
from analyzer.core.graphs import Capture, GapKey, GraphBreak, GraphKey, SourceLine
from analyzer.core.origin import Origin
from analyzer.core.plan import EAGER
from analyzer.core.ranks import RanksReport
from analyzer.core.samples import Samples
from analyzer.core.timing import Crowd, SetTiming
from analyzer.core.trial import Accuracy, Comparison, TrialOutcome
from analyzer.core.verdict import Verdict

REPORT_SCHEMA: Final = 1

MOST_SAMPLES: Final = 40
"""Of a candidate that are kept, on either side: with hundreds of candidates they would outweigh all else of a report
(0.8 kB of JSON a candidate). The medians are those of all samples.
"""


@dataclass(frozen=True, slots=True)
class WorkloadFacts:
    """What was run. `notes` are what the user should know of how it was run (no loss given, inputs restored, …).
    `device` is its kind, `device_name` what it calls itself, None where it was not asked.
    """

    name: str
    source: str
    form: str
    mode: str
    device: str
    inputs: tuple[str, ...]
    parameters: int | None
    notes: tuple[str, ...] = ()
    device_name: str | None = None
    parameters_digest: str | None = None
    """Names the model by the shapes and types of its parameters; None where it has none."""


@dataclass(frozen=True, slots=True)
class CandidateReport:
    """One candidate for one graph, tried or not.

    `predicted_ns`, `measured_ns` and `baseline_ns` (torch.compile default, in turn) are the graph's own time in a
    step; `step_ns` and `step_baseline_ns` the whole step's with only this graph changed, which decides.
    """

    candidate: str
    outcome: TrialOutcome
    reason: str | None
    predicted_ns: int | None
    measured_ns: int | None
    baseline_ns: int | None
    step_ns: int | None
    step_baseline_ns: int | None
    accuracy: Accuracy | None
    compile_ns: int | None
    peak_bytes: int | None
    pool_bytes: int | None = None
    python_fallbacks: tuple[str, ...] = ()
    """The operators (`mylib::scale`) that its C++ wrapper runs in Python."""
    caveat: str | None = None
    """What whoever uses it must know."""
    step_samples: Samples | None = None
    """Of `step_ns`, at most MOST_SAMPLES of them, evenly over the time in which they were taken. None: not kept."""
    step_baseline_samples: Samples | None = None
    """The same of `step_baseline_ns`."""


@dataclass(frozen=True, slots=True)
class GraphReport:
    """One graph: what bounds it, what was tried, what was chosen, and how it ended up.

    `before_ns` and `after_ns` are its elapsed time in a step under torch.compile default and under the plan.
    `is_in_step` is False where no step in steady state calls it, timed or recorded: it was compiled for an earlier one.
    """

    key: GraphKey
    where: SourceLine | None
    source: tuple[SourceLine, ...]
    compile_ids: tuple[str, ...]
    calls_per_step: float
    op_count: int | None
    kernels_per_step: float | None
    ended_by: GraphBreak | None
    verdict: Verdict
    budget: Budget | None
    busy_ns: int | None
    candidates: tuple[CandidateReport, ...]
    chosen: str
    before_ns: int | None
    after_ns: int | None
    verdict_after: Verdict | None
    budget_after: Budget | None
    is_in_step: bool = True
    label: str | None = None
    """What it is called where it is no captured graph: a region of a recorded trace. `kind` says what it is then."""
    kind: str = "compiled graph"


@dataclass(frozen=True, slots=True)
class GapReport:
    """One eager gap. `where` is the line that ended the graph before it."""

    key: GapKey
    where: SourceLine | None
    verdict: Verdict
    budget: Budget | None
    kernels_per_step: float | None
    before_ns: int | None
    after_ns: int | None


@dataclass(frozen=True, slots=True)
class Attributed:
    """Where the kernel time of the profiled pass belongs. The four add up to `kernel_ns`.

    `linked_ns` was launched inside a graph's range, `gap_ns` in a named eager gap, `unlinked_ns` has no launch row
    or lies outside every step. Kernels counted, never dropped.
    """

    kernel_ns: int
    linked_ns: int
    gap_ns: int
    unlinked_ns: int
    kernels: int
    unlinked_kernels: int

    @property
    def linked_share(self) -> float | None:
        """The share of kernel time with a graph or a named gap; None where no kernel ran."""
        return (self.linked_ns + self.gap_ns) / self.kernel_ns if self.kernel_ns else None


DEFAULT_PLAN: Final = "default"
"""The name of the plan trial with torch.compile's defaults; without torch.compile it is EAGER."""


@dataclass(frozen=True, slots=True)
class PlanTrial:
    """One way to run the whole model: eager, torch.compile default, each global mode, the plan. `chosen` candidates
    are named by graph in `choices` as `key=candidate`. `against_ns` are the default's steps taken in turn with these;
    None where they are those of the trial named `default`.
    """

    name: str
    outcome: TrialOutcome
    reason: str | None
    step_ns: Samples | None
    accuracy: Accuracy | None
    peak_bytes: int | None
    choices: tuple[str, ...]
    is_chosen: bool
    against_ns: Samples | None = None
    pool_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of the run and the wall time it took."""

    name: str
    ns: int


@dataclass(frozen=True, slots=True)
class Report:
    """`linked_share` repeats `attributed.linked_share` for readers of the JSON. `partial` is why the run ended
    early, None when it did not; `partial_at` is the user's line that ended it, None where none is known.
    `next_command` is what to type next.
    """

    headline: str
    workload: WorkloadFacts
    device: Device
    versions: Versions
    capture: Capture | None
    graphs: tuple[GraphReport, ...]
    eager_gaps: tuple[GapReport, ...]
    step_ns: Samples | None
    step_budget: Budget | None
    step_budget_after: Budget | None
    findings: tuple[Finding, ...]
    rule_failures: tuple[RuleFailure, ...]
    plans: tuple[PlanTrial, ...]
    comparison: Comparison | None
    attributed: Attributed | None
    attributed_after: Attributed | None
    linked_share: float | None
    profiler_slowdown: float | None
    warmup_ns: tuple[int, ...]
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]
    partial: str | None
    next_command: str
    schema: int = REPORT_SCHEMA
    is_recorded: bool = False
    """Of a recorded trace: budgets are of its whole window, and the host's times are the profiler's."""
    honesty: tuple[str, ...] = ()
    """What the trace cannot be believed in; shown before anything else."""
    ranks: RanksReport | None = None
    input_sets: tuple[SetTiming, ...] = ()
    """Each set of inputs that a step goes through, alone; empty where there is one."""
    crowd: Crowd | None = None
    """What other programs took of the machine while steps were timed, the worst of all times. None: not known."""
    host_waits: float | None = None
    """How often a step waits for the device, its closing wait and copies to the device apart. None: unknown."""
    origin: Origin | None = None
    """When the run began, and of which commit. None: of a recorded trace, or of an older report."""
    critical_path: CriticalPath | None = None
    """Of a recorded trace in which a device worked. None: of another one, or of an older report."""
    generated_code: tuple[StoredCode, ...] = ()
    """What the run folder keeps of Inductor's code: of each graph under the default, and under what was chosen."""
    partial_at: SourceLine | None = None

    @property
    def is_left_alone(self) -> bool:
        """Whether the plan is not to compile: what is compared is then torch.compile default and the model as it is."""
        return any(plan.is_chosen and plan.name == EAGER for plan in self.plans)
