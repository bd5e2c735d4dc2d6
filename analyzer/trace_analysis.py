"""A recorded trace → the same report as of a model, as far as a trace can carry it. Pure: reads no file, no clock.

Device times are as good as in any run. Host times are those of a host that the profiler slowed, so that every verdict
says whether it would stand without that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from analyzer.core.budget import Part
from analyzer.core.device import Device, Source, Versions
from analyzer.core.distinct import distinct
from analyzer.core.quantities import counted, duration, share
from analyzer.core.ranks import RanksReport, RankSummary
from analyzer.core.report import Attributed, GraphReport, Report, WorkloadFacts
from analyzer.core.samples import Samples
from analyzer.core.shell import shell_path
from analyzer.core.trace import IntColumn, Trace
from analyzer.core.trace_facts import Vendor
from analyzer.core.verdict import Bound, Verdict
from analyzer.derive.activity import NOT_READ, activity
from analyzer.derive.attribution import CUT_OFF, NOT_RECORDED, Attribution, attribute, lacks_device_rows
from analyzer.derive.budget import PartFloor, RegionBudget
from analyzer.derive.critical_path import critical_path
from analyzer.derive.data_sheets import data_sheet
from analyzer.derive.honesty import honesty
from analyzer.derive.idle_reasons import OUTSIDE
from analyzer.derive.rank_summary import Cut, RankName, summarize_rank
from analyzer.derive.regions_from_trace import RegionKind, key_of
from analyzer.derive.steps import Steps, find_steps, with_step_names
from analyzer.derive.trace_budget import EARLIER, TraceBudget, TracedRegion, some, trace_budget
from analyzer.derive.trace_verdict import RECORD_SHAPES, Recorded, recorded, trace_verdict
from analyzer.derive.window import COLLECTIVES
from analyzer.rules import rank_straggler
from analyzer.rules.facts import Facts, RankFacts
from analyzer.rules.runner import run_rules

UNKNOWN_VERSIONS: Final = Versions(graphbound="unknown", python="unknown", torch="unknown")
AS_RECORDED: Final = "recorded"
"""What stands where a plan's candidate would."""

UNEXPLAINED_SHARE: Final = 0.05
"""Of the window. A choice: with less, no verdict that is sure hangs on it."""

NO_DEVICE_ROWS: Final = (
    "the trace shows no work of any device: record with torch.profiler.profile(), which without `activities` records "
    "every kind of device that the machine has"
)
REPLAYED: Final = (
    "a replayed graph shows kernels without their operators: record the same program once without replays (no CUDA or "
    "HIP graphs), or run `analyze model.py`"
)
BEGAN_LATE: Final = (
    "its kernels were launched before the recording began: let it begin some steps earlier, with "
    "torch.profiler.schedule(wait=1, warmup=1, active=3)"
)
UNLINKED: Final = (
    "no launch call of its kernels can be told (none was recorded, or none carries their correlation id), so that what "
    "they do is not known: record the host too, with torch.profiler.profile() without `activities`"
)
BETWEEN_DEVICES: Final = (
    "most of its time is in collectives, which wait for other ranks: analyze the folder with the traces of all ranks"
)
AMONG_RANKS: Final = (
    "most of its time is in collectives, in which ranks wait for each other: the table of the ranks says who waited, "
    "and for whom"
)
"""In place of BETWEEN_DEVICES where the other ranks are there."""

_TORCH_KINDS: Final = {Vendor.XPU: "xpu", Vendor.MTIA: "mtia", Vendor.CPU: "cpu"}
"""What torch calls a maker's devices; AMD's and NVIDIA's are `cuda`, and so is what a trace does not name."""


@dataclass(frozen=True, slots=True)
class Analyzed:
    """A trace, judged: the report, and what other stages (ranks, compare) go on from. `budget` None: no device work."""

    report: Report
    attribution: Attribution
    budget: TraceBudget | None
    summary: RankSummary


def analyze_trace(
    trace: Trace, source: str, *, place: int = 0, hint: int | None = None, is_among_ranks: bool = False
) -> Analyzed:
    """The report of one trace. `source` is what the file is called, `place` and `hint` its rank if it names none.

    `is_among_ranks`: the other ranks of its run are analyzed beside it.
    """
    steps = find_steps(trace)
    attribution = attribute(with_step_names(trace, steps))
    device = device_of(trace)
    budget = trace_budget(attribution, steps, device)
    summary = summarize_rank(trace, RankName(source, place, hint), _cut(steps, attribution, budget))
    scene = _Scene(trace, source, steps, attribution, device, budget, is_among_ranks)
    return Analyzed(_report(scene), attribution, budget, summary)


@dataclass(frozen=True, slots=True)
class _Scene:
    """What a report of a trace is made from."""

    trace: Trace
    source: str
    steps: Steps
    attribution: Attribution
    device: Device
    budget: TraceBudget | None
    is_among_ranks: bool


def _report(scene: _Scene) -> Report:
    trace, steps, attribution, budget = scene.trace, scene.steps, scene.attribution, scene.budget
    known = recorded(trace, is_host=attribution.is_host, has_peaks=bool(scene.device.peaks))
    why = _WhyUnknown(budget, AMONG_RANKS if scene.is_among_ranks else BETWEEN_DEVICES) if budget else None
    whole = _whole(attribution, budget, known, why)
    findings, failures = run_rules(_rule_facts(scene))
    attributed = _attributed(attribution, budget)
    return Report(
        headline=_headline(whole, budget),
        workload=_workload(trace, scene.source, attribution, steps),
        device=scene.device,
        versions=UNKNOWN_VERSIONS,
        capture=None,
        graphs=_regions(budget, steps, known, attribution, why),
        eager_gaps=(),
        step_ns=Samples(steps.durations_ns) if len(steps) else None,
        step_budget=budget.whole if budget else None,
        step_budget_after=None,
        findings=findings,
        rule_failures=failures,
        plans=(),
        comparison=None,
        attributed=attributed,
        attributed_after=None,
        linked_share=attributed.linked_share,
        profiler_slowdown=None,
        warmup_ns=(),
        stages=(),
        notes=(*whole.evidence, *scene.device.notes, *trace.notes),
        partial=None,
        next_command=f"analyze compare {shell_path(scene.source)} OTHER.json.gz",
        is_recorded=True,
        honesty=_honesty(trace, attribution, budget, steps, known),
        critical_path=None if attribution.is_host else critical_path(attribution).path,
    )


def _rule_facts(scene: _Scene) -> Facts:
    return Facts(
        step_ns=int(np.median(scene.steps.durations_ns)) if len(scene.steps) else None,
        device=scene.device,
        activity=activity(scene.attribution, None, scene.device),
    )


def _cut(steps: Steps, attribution: Attribution, budget: TraceBudget | None) -> Cut:
    if attribution.is_host or budget is None:
        return Cut(steps, attribution, None, None)
    return Cut(steps, attribution, budget.window, budget.idle)


def with_ranks(report: Report, ranks: RanksReport) -> Report:
    """The report of one rank, with what all of them say together, and the rules judged again with it."""
    facts = Facts(step_ns=report.step_ns.median_ns if report.step_ns else None, ranks=rank_facts(ranks))
    findings, failures = run_rules(facts, (rank_straggler.RULE,))
    others = tuple(failure for failure in report.rule_failures if failure.rule != rank_straggler.RULE.id)
    return replace(
        report,
        findings=tuple(sorted((*report.findings, *findings), key=lambda f: -(f.ns_per_step or -1))),
        rule_failures=(*others, *failures),
        ranks=ranks,
    )


def rank_facts(ranks: RanksReport) -> tuple[RankFacts, ...]:
    """Each rank in the average step, by the time between its first matched collective and its last: the recordings
    themselves may begin and end anywhere. Of a recording without marked steps all of that time is one step.
    """
    waits = {wait.rank: wait for wait in ranks.waits}
    found = []
    for rank in ranks.ranks:
        steps, wait = max(len(rank.steps_ns), 1), waits.get(rank.rank)
        if wait is None:
            whole = rank.temporal.elapsed_ns if rank.temporal else sum(rank.steps_ns)
            found.append(RankFacts(rank.rank, whole // steps, None))
            continue
        late_for = None if wait.late_for is None else wait.late_for.value
        found.append(RankFacts(rank.rank, wait.span_ns // steps, wait.waited_ns // steps, late_for))
    return tuple(found)


def device_of(trace: Trace) -> Device:
    """The device that a trace names, with its data sheet's figures; without any where there is no sheet of it."""
    name = trace.device_name
    sizes = next((d for d in trace.facts.devices if d.name == name), None) if name else None
    memory = sizes.memory_bytes if sizes is not None else None
    found = data_sheet(name, memory, sizes.multiprocessors if sizes is not None else None) if name else None
    if found is not None:
        return found
    note = f"no data sheet of {name} is known here" if name else "the trace does not name its device"
    return Device(kind="unknown", name=name or "unknown device", source=Source.DATA_SHEET, notes=(note,))


def _workload(trace: Trace, source: str, attribution: Attribution, steps: Steps) -> WorkloadFacts:
    said = trace.facts.distributed
    rank = f", rank {said.rank}" if said is not None and said.rank is not None else ""
    marked = (
        f"{counted(len(steps), 'step')} marked by {steps.marked_by.value}" if steps.marked_by else "no steps marked"
    )
    return WorkloadFacts(
        name=source.replace("\\", "/").rsplit("/", 1)[-1],
        source=source,
        form="trace",
        mode=f"recorded, {marked}{rank}",
        device="cpu" if attribution.is_host else _TORCH_KINDS.get(trace.facts.vendor, "cuda"),
        inputs=(),
        parameters=None,
    )


def _whole(attribution: Attribution, budget: TraceBudget | None, known: Recorded, why: _WhyUnknown | None) -> Verdict:
    if budget is None or why is None:
        return Verdict(Bound.UNDECIDED, None, (), missing=_no_work(attribution))
    regions = [traced.budget for traced in budget.regions]
    whole = RegionBudget(
        region=key_of("the whole window"),
        budget=budget.whole,
        busy_ns=budget.window.busy_ns,
        kernels_per_step=float(sum(region.kernels_per_step or 0.0 for region in regions)),
        floors=_summed_floors(regions),
        is_host=attribution.is_host,
        queued_ns=sum(region.queued_ns for region in regions),
        is_recorded=True,
        kernels=some(tuple(point for region in regions for point in region.kernels)),
    )
    return trace_verdict(whole, known, why.of(np.arange(len(attribution.work))))


def _no_work(attribution: Attribution) -> str:
    if attribution.trace.facts.lacks_rows:
        return CUT_OFF
    if attribution.trace.facts.unread_device_rows:
        return NOT_READ
    return NOT_RECORDED if lacks_device_rows(attribution.trace, attribution.work) else NO_DEVICE_ROWS


def _summed_floors(regions: Sequence[RegionBudget]) -> tuple[PartFloor, ...]:
    sums: dict[object, PartFloor] = {}
    for floor in (floor for region in regions for floor in region.floors):
        before = sums.get(floor.part)
        sums[floor.part] = PartFloor(floor.part, floor.ns + (before.ns if before else 0))
    return tuple(sums.values())


def _regions(
    budget: TraceBudget | None, steps: Steps, known: Recorded, attribution: Attribution, why: _WhyUnknown | None
) -> tuple[GraphReport, ...]:
    """A row for every region that took time, the longest first: those of a trace have no order of their own."""
    if budget is None or why is None:
        return ()
    traced = [one for one in budget.regions if one.rows.size]
    traced.sort(key=lambda one: (-(one.budget.budget.elapsed_ns if one.budget.budget else 0), str(one.region.key)))
    times = max(len(steps), 1)
    return tuple(_region(one, times, known, attribution, why) for one in traced)


def _region(
    traced: TracedRegion, times: int, known: Recorded, attribution: Attribution, why: _WhyUnknown
) -> GraphReport:
    found = traced.budget
    launches = distinct(attribution.work.launch[traced.rows]).size
    calls = launches if traced.region.kind is RegionKind.REPLAY else traced.calls
    return GraphReport(
        key=traced.region.key,
        where=None,
        source=(),
        compile_ids=(traced.region.compile_id,) if traced.region.compile_id else (),
        calls_per_step=calls / times,
        op_count=None,
        kernels_per_step=None if found.kernels_per_step is None else found.kernels_per_step / times,
        ended_by=None,
        verdict=trace_verdict(found, known, why.of(traced.rows)),
        budget=found.budget,
        busy_ns=found.busy_ns,
        candidates=(),
        chosen=AS_RECORDED,
        before_ns=found.budget.elapsed_ns if found.budget else None,
        after_ns=None,
        verdict_after=None,
        budget_after=None,
        label=traced.region.label,
        kind=traced.region.kind.value,
    )


@dataclass(frozen=True, slots=True)
class _WhyUnknown:
    """Why most of the time of some rows that no roof can be named for has none."""

    budget: TraceBudget
    of_collectives: str

    def of(self, rows: IntColumn) -> str | None:
        """None where that is not known."""
        budget = self.budget
        own = rows[budget.part_of[rows] == tuple(Part).index(Part.UNKNOWN_KERNELS)]
        exposed = budget.window.exposed_ns[own]
        kinds = [traced.region.kind for traced in budget.regions]
        is_earlier = [traced.region.label == EARLIER for traced in budget.regions]
        reasons = (
            (self.of_collectives, budget.window.rank_of[own] == COLLECTIVES),
            (REPLAYED, np.asarray([kind is RegionKind.REPLAY for kind in kinds])[budget.region_of[own]]),
            (BEGAN_LATE, np.asarray(is_earlier)[budget.region_of[own]]),
            (UNLINKED, np.asarray([kind is RegionKind.UNLINKED for kind in kinds])[budget.region_of[own]]),
        )
        whole = int(exposed.sum())
        return next((why for why, mask in reasons if 2 * int(exposed[mask].sum()) > whole), None)


def _attributed(attribution: Attribution, budget: TraceBudget | None) -> Attributed:
    """All device rows: in a region with a name, elsewhere but launched in the recording, or with no launch row."""
    if budget is None:
        return attribution.attributed
    own = attribution.work.own_ns
    kinds = [traced.region.kind for traced in budget.regions]
    rest = np.asarray([kind in (RegionKind.STEP, RegionKind.OUTSIDE) for kind in kinds])[budget.region_of]
    unlinked = np.asarray([kind is RegionKind.UNLINKED for kind in kinds])[budget.region_of]
    total = int(own.sum())
    return Attributed(
        kernel_ns=total,
        linked_ns=total - int(own[rest | unlinked].sum()),
        gap_ns=int(own[rest].sum()),
        unlinked_ns=int(own[unlinked].sum()),
        kernels=len(attribution.work),
        unlinked_kernels=int(unlinked.sum()),
    )


def _headline(verdict: Verdict, budget: TraceBudget | None) -> str:
    if budget is None or verdict.bound is Bound.UNDECIDED:
        length = f" of {duration(budget.window.elapsed_ns)} recorded" if budget else ""
        return f"Undecided{length}: {verdict.missing}"
    word = "CPU" if verdict.bound is Bound.CPU else verdict.bound.value
    sure = f" (confidence {share(verdict.confidence)})" if verdict.confidence is not None else ""
    return f"{word[:1].upper()}{word[1:]}-bound{sure}: {verdict.evidence[0]}"


def _honesty(
    trace: Trace, attribution: Attribution, budget: TraceBudget | None, steps: Steps, known: Recorded
) -> tuple[str, ...]:
    """What the trace cannot be believed in, the worst first; then what was left out of the figures."""
    said = honesty(trace).sentences
    # The attribution counts steps without device rows too.
    first_words = tuple(sentence.partition(":")[0] for sentence in said)
    sentences = [*said, *(note for note in attribution.notes if not note.startswith(first_words))]
    if budget is not None and not attribution.is_host:
        sentences.append(
            f"host times are the profiler's, which slows the host up to {known.most_stretch:g} times: what the device "
            "waits for the host is at most what is shown"
        )
    outside = int(budget.idle.ns[:, OUTSIDE].sum()) if budget is not None else 0
    unexplained = budget.whole.ns(Part.OTHER) - outside if budget is not None else 0
    for idle, said_of_it in (
        (unexplained, "that nothing recorded explains: work not recorded, or code loaded at first use"),
        (outside, "between the marked steps or outside of them, and no part of one"),
    ):
        if budget is not None and idle > UNEXPLAINED_SHARE * budget.window.elapsed_ns:
            whole = duration(budget.window.elapsed_ns)
            sentences.append(f"{duration(idle)} of {whole} is idle time {said_of_it}")
    if budget is not None and not known.has_shapes:
        sentences.append(f"no operator was recorded with its shapes, so that its work is not known: {RECORD_SHAPES}")
    if not len(steps) and len(trace):
        sentences.append("no step is marked: figures are of the whole window, and rules that ask for a step are silent")
    return tuple(dict.fromkeys(sentences))
