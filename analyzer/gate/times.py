"""Gates on time: held to a written limit, to the base taken in turn, or to stored samples of this machine class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from analyzer.core import quantities
from analyzer.core.baseline import MachineClass, MachineTimes, ModelBaseline, WayTimes
from analyzer.core.gate import GateCheck, GateStatus, GateUnit
from analyzer.core.gate_number import gate_number, seen_text
from analyzer.core.policy import GateSetting
from analyzer.core.report import DEFAULT_PLAN, Report
from analyzer.core.samples import Samples
from analyzer.core.trial import Change
from analyzer.derive.seen_slowdown import seen_slowdown
from analyzer.derive.slower import STORED_FACTOR, TURN_FACTOR, Slowdown, compare_turns, turns_needed
from analyzer.gate.counts import ACCEPTED, not_compared, nothing_of_it, past_status, said, unknown_check
from analyzer.gate.reading import Gate, Reading, Subject
from analyzer.gate.readings import chosen_way

TURN_STEPS: Final = 5
"""Steps of one run that count as one turn, in the order taken. Of a run of 60 that makes 12."""

STEP_TIME: Final = "step_time"
STARVED: Final = "starved_share"
COMPILE_TIME: Final = "compile_time"

UNSTEADY: Final = "on a CPU with neighbours it was 5 and 47 % of one program: set a max"
"""Seen on two cores that were shared; see benchmarks/results/ci.md for how much a step varied there."""


@dataclass(frozen=True, slots=True)
class InTurn:
    """Base and head taken in turn on this machine, both under torch.compile's defaults; `reason` says why there are
    none, where they were asked for. The turns are those of `processes` pairs of processes, one after another. `crowd`
    says who else was busy in them, None: nobody, or it is not known.
    """

    base: tuple[Samples, ...] = ()
    head: tuple[Samples, ...] = ()
    reason: str | None = None
    processes: int = 1
    crowd: str | None = None


@dataclass(frozen=True, slots=True)
class _Sides:
    """What is compared: turns of base and head of one way to run the model. `crowd` is who was busy meanwhile."""

    base: tuple[Samples, ...]
    head: tuple[Samples, ...]
    way: str
    crowd: str | None
    is_in_turn: bool = False
    processes: int = 1


@dataclass(frozen=True, slots=True)
class HeldTimes:
    """`in_turn` None: the base was not run beside this one. `crowd` says who else was busy while the report's own steps
    were timed, None: nobody. `is_accepted` as in `Held`.
    """

    subject: Subject
    machine: MachineClass
    baseline: ModelBaseline | None
    against: str | None
    in_turn: InTurn | None = None
    crowd: str | None = None
    is_accepted: bool = False


def crowd_clause(report: Report) -> str | None:
    """Who else was busy while its steps were timed; None: nobody, or it is not known."""
    is_crowded = report.crowd is not None and report.crowd.is_crowded
    return "other programs kept the machine busy meanwhile" if is_crowded else None


def check_time(gate: Gate, setting: GateSetting, reading: Reading, held: HeldTimes) -> GateCheck:
    check = GateCheck(gate.id, setting.level, GateStatus.PASSED, gate.unit, "", limit=setting.most)
    if reading.value is None:
        return unknown_check(check, setting, reading, is_stored=False)
    check = replace(check, measured=reading.value, message=said(gate, reading.value))
    over = _over_written_limit(gate, setting, check, held)
    if over is not None:
        return over
    if gate.id == STEP_TIME:
        return _step_time(gate, check, setting, held)
    found = _comparable(held)
    if isinstance(found, str):
        return check if setting.most is not None else not_compared(check, gate, found)
    return _against_one_number(gate, check, setting, found, held)


def turns_of(samples: Samples) -> tuple[Samples, ...]:
    """The samples of one run as turns; what is left over at the end belongs to the last."""
    count = max(1, len(samples.ns) // TURN_STEPS)
    cuts = [number * TURN_STEPS for number in range(count)]
    return tuple(Samples(samples.ns[cut : None if cut == cuts[-1] else cut + TURN_STEPS]) for cut in cuts)


def ways_of(report: Report) -> tuple[WayTimes, ...]:
    """The ways a run timed that a later run can be held against."""
    timed = {plan.name: plan.step_ns for plan in report.plans if plan.is_chosen or plan.name == DEFAULT_PLAN}
    known = {name: samples for name, samples in timed.items() if samples is not None}
    if DEFAULT_PLAN not in known and report.capture is not None and report.step_ns is not None:
        known[DEFAULT_PLAN] = report.step_ns
    return tuple(WayTimes(name, turns_of(samples)) for name, samples in sorted(known.items()))


def _over_written_limit(gate: Gate, setting: GateSetting, check: GateCheck, held: HeldTimes) -> GateCheck | None:
    """Past a written limit; of a time with samples only where its whole interval is, and else it is said."""
    if setting.most is None or check.measured is None or check.measured <= setting.most:
        return None
    text = f"{said(gate, check.measured)}; at most {gate_number(setting.most, gate.unit)} may be"
    way = chosen_way(held.subject)
    samples = way.step_ns if way is not None else held.subject.report.step_ns
    if gate.id == STEP_TIME and samples is not None:
        interval = samples.interval()
        if interval.low <= setting.most:
            between = quantities.durations((interval.low, interval.high), separator=" to ")
            return not_compared(check, gate, f"it cannot be told from the limit: 95 % of {between}")
    if held.crowd is not None:
        return not_compared(check, gate, f"past its limit, while {held.crowd}")
    return _past(check, text)


def _past(check: GateCheck, message: str) -> GateCheck:
    return replace(check, status=past_status(check.level), message=message)


def _step_time(gate: Gate, check: GateCheck, setting: GateSetting, held: HeldTimes) -> GateCheck:
    reason = held.in_turn.reason if held.in_turn is not None else None
    if reason is not None:
        text = f"the step could not be timed beside {held.against}: {reason}"
        return replace(check, status=GateStatus.BROKEN, reason=reason, message=text)
    sides = _sides(held)
    if isinstance(sides, str):
        return check if setting.most is not None else not_compared(check, gate, sides)
    fewest = min(len(sides.base), len(sides.head))
    if fewest < turns_needed():
        return not_compared(check, gate, f"{fewest} turns a side: fewer than {turns_needed()} decide nothing")
    factor = TURN_FACTOR if sides.is_in_turn else STORED_FACTOR
    factor = factor if setting.margin is None else 1 + setting.margin
    is_in_turn, processes = sides.is_in_turn, sides.processes
    verdict = compare_turns(sides.base, sides.head, factor, in_turn=is_in_turn, processes=processes)
    check = replace(check, measured=verdict.head_ns, baseline=verdict.base_ns)
    # While others are busy no slow-down would be called one, however large.
    if verdict.outcome not in (Change.SLOWER, Change.FASTER) and sides.crowd is None:
        seen = seen_slowdown(sides.base, sides.head, factor, in_turn=is_in_turn, processes=processes)
        check = replace(check, seen=seen)
    return _of_verdict(gate, check, verdict, _Said(held, sides, factor))


def _sides(held: HeldTimes) -> _Sides | str:
    """What there is to compare, in turn where it was taken so, or why there is nothing."""
    turns = held.in_turn
    if turns is not None:
        return _Sides(turns.base, turns.head, DEFAULT_PLAN, turns.crowd, is_in_turn=True, processes=turns.processes)
    found = _comparable(held)
    if isinstance(found, str):
        return found
    return _same_way(found, held) or "this way to run the model has no samples stored"


@dataclass(frozen=True, slots=True)
class _Said:
    """What a sentence on a comparison is made of beside its verdict."""

    held: HeldTimes
    sides: _Sides
    factor: float

    @property
    def way(self) -> str:
        """That it is not the way which is used, where it is not."""
        is_used = self.sides.way != DEFAULT_PLAN or _is_default(self.held)
        return "" if is_used else ", both under torch.compile's defaults"


def _of_verdict(gate: Gate, check: GateCheck, verdict: Slowdown, words: _Said) -> GateCheck:
    times = quantities.durations((verdict.base_ns, verdict.head_ns))
    ratio = quantities.ratio_with_interval(verdict.ratio, verdict.interval.low, verdict.interval.high)
    pair = " (the middle pair of turns)" if verdict.is_paired else ""
    text = f"{times} a step{pair} against {words.held.against}{words.way}: {ratio} as long"
    seen = seen_text(check.seen)
    could = "" if seen is None else f"; {seen}"
    crowd = words.sides.crowd
    match verdict.outcome:
        case Change.SLOWER | Change.FASTER if crowd is not None:
            return not_compared(check, gate, f"{text}, but {crowd}")
        case Change.SLOWER:
            more_ns = max(verdict.head_ns - verdict.base_ns, 0)
            text = f"slower: {text}, p = {verdict.p:.1g}; at most {quantities.ratio(words.factor)} may be"
            return replace(_past(check, text), ns_per_step=more_ns)
        case Change.FASTER:
            return replace(check, status=GateStatus.IMPROVED, message=f"faster: {text}, p = {verdict.p:.1g}")
        case Change.SAME:
            return replace(check, message=f"no slower: {text}{could}")
        case _:
            noise = "" if crowd is None else f", and {crowd}"
            return not_compared(check, gate, f"too noisy to tell: {text}{could}{noise}")


def _is_default(held: HeldTimes) -> bool:
    used = chosen_way(held.subject)
    return used is None or used.name == DEFAULT_PLAN


def _comparable(held: HeldTimes) -> MachineTimes | str:
    """The stored times of this machine class and torch, or why there are none."""
    times = held.baseline.times if held.baseline is not None else ()
    if held.is_accepted:
        return ACCEPTED
    if not times:
        return (
            "no times are stored yet" if held.in_turn is None else f"the run of {held.against} has none to be held to"
        )
    reasons = [entry.machine.difference(held.machine) for entry in times]
    mine = [entry for entry, reason in zip(times, reasons, strict=True) if reason is None]
    if not mine:
        # `difference` was asked of the stored one: here and there are the other way round.
        nearest = held.machine.difference(times[-1].machine)
        return f"the stored times are of another machine class, and this one has none yet ({nearest})"
    torch = held.subject.report.versions.torch
    same = [entry for entry in mine if entry.torch == torch]
    return same[-1] if same else f"the stored times are of torch {mine[-1].torch}, and this is {torch}"


def _same_way(stored: MachineTimes, held: HeldTimes) -> _Sides | None:
    """Turns of before and now of one way to run the model: the one that is used, else torch.compile's default."""
    before = {way.way: way.turns for way in stored.ways}
    now = {way.way: way.turns for way in ways_of(held.subject.report)}
    chosen = chosen_way(held.subject)
    for name in (chosen.name if chosen is not None else DEFAULT_PLAN, DEFAULT_PLAN):
        if name in before and name in now:
            return _Sides(before[name], now[name], name, held.crowd)
    return None


def _against_one_number(
    gate: Gate, check: GateCheck, setting: GateSetting, stored: MachineTimes, held: HeldTimes
) -> GateCheck:
    """Memory and the starved share: one figure a run, past its margin or not. A single compilation decides nothing."""
    before = {STARVED: stored.starved_share, "peak_memory": stored.peak_bytes}.get(gate.id)
    if gate.id == COMPILE_TIME:
        return check if setting.most is not None else not_compared(
            check, gate, "one compilation is no sample, and a warm cache hides most of it: set a max"
        )  # fmt: skip
    if gate.id == STARVED and held.subject.kind == "cpu":
        return check if setting.most is not None else not_compared(check, gate, UNSTEADY)
    measured = check.measured
    if held.in_turn is not None and not _is_default(held):
        return not_compared(check, gate, f"{held.against} was run under torch.compile's defaults, and this was not")
    if before is None or measured is None:
        return not_compared(check, gate, nothing_of_it(held.against))
    margin = gate.margin if setting.margin is None else setting.margin
    is_share = gate.unit is GateUnit.SHARE
    limit, floor = (before + margin, before - margin) if is_share else (before * (1 + margin), before * (1 - margin))
    check = replace(check, baseline=before, limit=limit if setting.most is None else min(limit, setting.most))
    text = f"{said(gate, measured)}, {gate_number(before, gate.unit)} in {held.against}"
    if measured > limit:
        if held.crowd is not None and is_share:
            return not_compared(check, gate, f"{text}, but {held.crowd}")
        return _past(check, f"{text}; at most {gate_number(limit, gate.unit)} may be")
    is_better = measured < floor and not is_share
    return replace(check, status=GateStatus.IMPROVED if is_better else GateStatus.PASSED, message=text)
