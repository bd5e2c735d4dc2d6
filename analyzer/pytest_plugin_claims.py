"""What a test claims of a model, as it was written, and which of it does not hold. Runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from analyzer.core.budget import Budget, Part
from analyzer.core.errors import UsageError
from analyzer.core.gate import GateCheck, GateLevel, GateStatus, GateUnit
from analyzer.core.gate_number import gate_number
from analyzer.core.plan import Plan
from analyzer.core.policy import GateSetting
from analyzer.core.quantities import share
from analyzer.core.report import Report
from analyzer.core.spelling import did_you_mean
from analyzer.core.verdict import Bound, Verdict
from analyzer.gate.counts import Held, check_count, said, unknown_check
from analyzer.gate.gates import GATES
from analyzer.gate.judge import machine_of
from analyzer.gate.places import places_of
from analyzer.gate.policy_file import quantity
from analyzer.gate.reading import Gate, Needs, Reading, Sources, Subject
from analyzer.gate.readings import LEFT_ALONE, NO_PLAN, chosen_way
from analyzer.gate.silence import Silences
from analyzer.gate.times import HeldTimes, check_time, crowd_clause
from analyzer.reporting.rows import bound_word, region_rows

BOUND: Final = "bound"
BOUNDS: Final = tuple(bound.value for bound in Bound if bound is not Bound.UNDECIDED)

WITHOUT_BASELINE: Final = {
    "new_findings": "nothing is stored here that a finding could be new against",
    "renamed_model": "nothing is stored here that it could be called",
}
"""Gates that a test cannot hold: `analyze check` can."""

NAMES: Final = (*(one.id for one in GATES if one.id not in WITHOUT_BASELINE), BOUND)

HAS: Final = "has()"
NO_BUDGET: Final = "no step has a budget"
LEAVE_ALONE: Final = "time it where nothing else runs, or claim no time"
_HOLDS: Final = (GateStatus.PASSED, GateStatus.IMPROVED, GateStatus.SILENCED)
_BOUND_OF: Final = {
    Part.STARVED: Bound.CPU,
    Part.COMPUTE: Bound.COMPUTE,
    Part.MEMORY: Bound.MEMORY,
    Part.LATENCY: Bound.LATENCY,
}


@dataclass(frozen=True, slots=True)
class GateClaim:
    """One number is within these limits, in the gate's unit; None: no limit on that side."""

    gate: Gate
    least: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Claims:
    """`bounds` empty: nothing is claimed of what bounds it."""

    gates: tuple[GateClaim, ...]
    bounds: tuple[Bound, ...] = ()

    @property
    def needs(self) -> Needs:
        """How much of a run can tell whether they hold."""
        steps = [Needs.CLOCK] if self.bounds else []
        return max([*steps, *(claim.gate.needs for claim in self.gates)])


@dataclass(frozen=True, slots=True)
class Miss:
    """A claim that does not hold, or of which it is not known: `lines` say what was found, where, and what to do."""

    name: str
    message: str
    lines: tuple[str, ...] = ()


def read_claims(asked: Mapping[str, Any]) -> Claims:
    """Raises UsageError for a name that is no gate's, for a value that is no limit of it, and for nothing at all."""
    if not asked:
        raise UsageError("has() was asked nothing, which holds of every model", hint=f"name one of {', '.join(NAMES)}")
    gates: list[GateClaim] = []
    bounds: tuple[Bound, ...] = ()
    for name, given in asked.items():
        if name == BOUND:
            bounds = _bounds(given)
        else:
            gates.append(_gate_claim(_gate(name), given))
    return Claims(tuple(gates), bounds)


def misses(
    claims: Claims, report: Report, sources: Sources, silences: Silences, plan: Plan | None = None
) -> tuple[Miss, ...]:
    """What does not hold of this report, in the order it was claimed in; a run that ended early proves nothing. `plan`
    is the one that the model is to run with, None without one.
    """
    subject = Subject(report, plan)
    found = [] if report.partial is None else [Miss("run", f"it ended early: {report.partial}")]
    held = Held(None, None, places_of(report, sources), silences, sources, report.versions.torch)
    for claim in claims.gates:
        check = _check(claim, subject, held)
        if check.status not in _HOLDS:
            found.append(_gate_miss(check, sources))
    return (*found, *(_bound_misses(claims.bounds, subject) if claims.bounds else ()))


def _gate(name: str) -> Gate:
    if name in WITHOUT_BASELINE:
        raise UsageError(f"{HAS} cannot hold {name}: {WITHOUT_BASELINE[name]}", hint="`analyze check` can")
    found = next((one for one in GATES if one.id == name), None)
    if found is None:
        hint = did_you_mean(name, NAMES) or f"there are {', '.join(NAMES)}"
        raise UsageError(f"{HAS} knows no {name!r}", hint=hint)
    return found


def _gate_claim(one: Gate, given: Any) -> GateClaim:
    if isinstance(given, tuple | list):
        if len(given) != 2 or all(limit is None for limit in given):
            raise UsageError(f"{HAS}: {one.id} is {given!r}, and must be a number, or a pair of the least and the most")
        least, most = (None if limit is None else quantity(one, limit, HAS, one.id) for limit in given)
        if least is not None and most is not None and least > most:
            raise UsageError(f"{HAS}: {one.id} is {given!r}: its least is more than its most")
        return GateClaim(one, least, most)
    limit = quantity(one, given, HAS, one.id)
    return GateClaim(one, limit, None) if one.is_more_better else GateClaim(one, None, limit)


def _bounds(given: Any) -> tuple[Bound, ...]:
    named = (given,) if isinstance(given, str) else given
    if not isinstance(named, tuple | list | set | frozenset) or not named:
        raise UsageError(f"{HAS}: bound is {given!r}, and must be one of {', '.join(BOUNDS)}, or several")
    for name in named:
        if not isinstance(name, str) or name.lower() not in BOUNDS:
            hint = did_you_mean(str(name).lower(), BOUNDS) or "undecided is what is found where nothing is sure"
            raise UsageError(f"{HAS}: bound is {name!r}, and must be one of {', '.join(BOUNDS)}", hint=hint)
    return tuple(bound for bound in Bound if bound.value in {name.lower() for name in named})


def _check(claim: GateClaim, subject: Subject, held: Held) -> GateCheck:
    one, report = claim.gate, subject.report
    reading = one.read(subject)
    setting = GateSetting(GateLevel.ERROR, most=claim.most, least=claim.least, is_asked=True)
    empty = GateCheck(one.id, GateLevel.ERROR, GateStatus.PASSED, one.unit, "", measured=reading.value)
    if reading.value is None:
        return unknown_check(empty, setting, reading, is_stored=False)
    other = _past_other_side(claim, reading, empty)
    if other is not None:
        return other
    if (claim.least if one.is_more_better else claim.most) is None:
        return empty
    if one.needs is Needs.CLOCK:
        held_times = HeldTimes(subject, machine_of(report), None, None, crowd=crowd_clause(report))
        return check_time(one, setting, reading, held_times)
    return check_count(one, setting, reading, held)


def _past_other_side(claim: GateClaim, reading: Reading, empty: GateCheck) -> GateCheck | None:
    """The side that a gate does not know: too few of what is to be few."""
    one, value = claim.gate, reading.value
    limit = claim.most if one.is_more_better else claim.least
    if value is None or limit is None or (value <= limit if one.is_more_better else value >= limit):
        return None
    word = "at most" if one.is_more_better else "at least"
    text = f"{said(one, value)}; {word} {gate_number(limit, one.unit)} was claimed"
    return GateCheck(one.id, GateLevel.ERROR, GateStatus.FAILED, one.unit, text, measured=value, limit=limit)


def _gate_miss(check: GateCheck, sources: Sources) -> Miss:
    lines = [f"at {sources.path(where.file)}:{where.line}{_text_of(sources.text(where))}" for where in check.places]
    lines += [check.cause] if check.cause else []
    lines += [f"→ {check.remedy}"] if check.remedy else []
    lines += [f"→ {LEAVE_ALONE}"] if check.status is GateStatus.NOT_COMPARED else []
    if check.status is GateStatus.BROKEN and check.unit in (GateUnit.COUNT, GateUnit.BYTES) and _wants_search(check):
        lines.append("→ bottleneck(…, optimize=True) searches for a plan, and tells it")
    if check.status is GateStatus.BROKEN and check.reason == NO_PLAN:
        lines.append('→ bottleneck(…, plan="plan.json") names it')
    return Miss(check.gate, check.message, tuple(lines))


def _wants_search(check: GateCheck) -> bool:
    return check.reason is not None and "with a search" in check.reason


def _text_of(line: str) -> str:
    return f": {line}" if line else ""


@dataclass(frozen=True, slots=True)
class _Judged:
    """What bounds the model as it is to be run: its longest graph or gap, called `where`, and its whole step."""

    where: str
    verdict: Verdict
    step: Budget


def _bound_misses(bounds: Sequence[Bound], subject: Subject) -> tuple[Miss, ...]:
    """Claimed is what bounds the model: its longest graph or gap, by its verdict, and its step as a whole, by the
    largest part of its budget. Where the two differ, neither is the model's bound.
    """
    claimed = " or ".join(f"{bound_word(bound)}-bound" for bound in bounds)
    crowd = crowd_clause(subject.report)
    beside = () if crowd is None else (crowd, f"→ {LEAVE_ALONE}")
    judged = _planned(subject.report) if _is_planned(subject) else _default(subject.report)
    if isinstance(judged, str):
        return (Miss(BOUND, f"{claimed} was claimed, and it is undecided: {judged}", beside),)
    where, verdict, evidence = judged.where, judged.verdict, (*judged.verdict.evidence, *beside)
    if verdict.bound is Bound.UNDECIDED:
        missing = verdict.missing or "no part of its time is surely the largest"
        return (Miss(BOUND, f"{claimed} was claimed, and {where} is undecided: {missing}", evidence),)
    if verdict.bound not in bounds:
        sure = "" if verdict.confidence is None else f" (confidence {share(verdict.confidence)})"
        text = f"{claimed} was claimed, and {where} is {bound_word(verdict.bound)}-bound{sure}"
        return (Miss(BOUND, text, evidence),)
    part = _largest_part(judged.step)
    if _BOUND_OF.get(part) in bounds:
        return ()
    text = f"{claimed} was claimed: {where} is, and the step as a whole is not"
    return (Miss(BOUND, text, (f"“{part.value}” takes {share(judged.step.share(part))} of the step", *beside)),)


def _is_planned(subject: Subject) -> bool:
    way = chosen_way(subject)
    return way is not None and way.is_chosen


def _default(report: Report) -> _Judged | str:
    """Under torch.compile's defaults; or what is missing."""
    rows = [(row.budget.elapsed_ns, row) for row in region_rows(report) if row.budget is not None]
    if not rows or report.step_budget is None:
        missing = next((graph.verdict.missing for graph in report.graphs if graph.verdict.missing), None)
        return missing or NO_BUDGET
    _, longest = max(rows, key=lambda pair: pair[0])
    return _Judged(f"{longest.label}, {share(longest.share)} of a step,", longest.verdict, report.step_budget)


def _planned(report: Report) -> _Judged | str:
    """Under the plan; or what is missing."""
    if report.is_left_alone:
        return LEFT_ALONE
    step = report.step_budget_after
    rows = [(row.after_ns, row) for row in region_rows(report) if row.after_ns is not None]
    if not rows or step is None:
        return f"{NO_BUDGET} under the plan"
    after_ns, longest = max(rows, key=lambda pair: pair[0])
    where = f"{longest.label}, {share(after_ns / max(step.elapsed_ns, 1))} of a step under the plan,"
    if longest.verdict_after is None:
        return f"{where} is between graphs, where none is judged under a plan"
    return _Judged(where, longest.verdict_after, step)


def _largest_part(step: Budget) -> Part:
    """A device that the host leaves idle by waiting is starved by it too, as in a verdict."""
    waits = step.ns(Part.SYNC)
    return max(Part, key=lambda part: step.ns(part) + (waits if part is Part.STARVED else 0))
