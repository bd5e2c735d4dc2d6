"""Gates on numbers that repeat exactly: held against a limit and a stored value, and explained by new lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core import quantities
from analyzer.core.baseline import ModelBaseline, StoredPlace, StoredValue
from analyzer.core.gate import GateCheck, GateLevel, GateStatus, GateUnit
from analyzer.core.gate_number import gate_number
from analyzer.core.graphs import SourceLine
from analyzer.core.policy import GateSetting
from analyzer.gate.places import CODE, KERNELS, TIMELESS, Place, changed_graphs, moved_places, new_places
from analyzer.gate.reading import Gate, Reading, Sources
from analyzer.gate.silence import Silences

ROUNDING: Final = 1e-9
"""Two values that differ by less, as a share, are one: a share is computed in floating point."""

GRAPHS: Final = "graphs"

STOPS: Final = ("graph_break", "no_graph_captured")

ACCEPTED: Final = "--init stores it as it is"

RECOUNTED: Final = "by another Graphbound that counted it otherwise: --init stores it anew"

MAX_NAMED: Final = 3
"""Places that a message names; all of them are in `places`."""


@dataclass(frozen=True, slots=True)
class Held:
    """What one model's exact gates are held against. `baseline` None: nothing is stored. `against` names it.
    `release` is the torch of this run, `changed` are the lines that differ from the base, where that is known.
    `is_accepted`: its values are stored whatever they are, and held against written limits alone. `recounted` are the
    rules of gates that counted otherwise when the baseline was stored.
    """

    baseline: ModelBaseline | None
    against: str | None
    places: tuple[Place, ...]
    silences: Silences
    sources: Sources
    release: str
    changed: tuple[SourceLine, ...] = ()
    is_accepted: bool = False
    recounted: tuple[str, ...] = ()

    @property
    def is_same_torch(self) -> bool:
        return self.baseline is not None and release_of(self.baseline.torch) == release_of(self.release)

    @property
    def stops_more(self) -> bool:
        """Whether capture stops more often than in the baseline, or catches nothing where it caught something."""
        known = self.baseline.places if self.baseline is not None else ()
        return _stops(place.stored for place in self.places) > _stops(known)


def _stops(places: Iterable[StoredPlace]) -> int:
    return sum(place.count for place in places if place.rule in STOPS)


def check_count(gate: Gate, setting: GateSetting, reading: Reading, held: Held) -> GateCheck:
    """How this gate ended. A value from another release of torch warns at most: it may be torch that changed it. Where
    what is counted has changed since, another value holds nothing.
    """
    stored = held.baseline.value(gate.id) if held.baseline is not None else None
    recounted = stored if stored is not None and is_recounted(gate, stored) and _differs(stored, reading) else None
    stored = stored if recounted is None else None
    check = GateCheck(
        gate.id, setting.level, GateStatus.PASSED, gate.unit, "", baseline=stored.value if stored else None
    )
    if reading.value is None:
        return unknown_check(check, setting, reading, is_stored=stored is not None)
    limit = _limit(gate, setting, stored)
    check = replace(check, measured=reading.value, limit=limit, rule=gate.rules[0] if gate.rules else None)
    if limit is None and recounted is not None and not held.is_accepted:
        before = gate_number(recounted.value, gate.unit)
        return not_compared(check, gate, f"{held.against} has {before}, {RECOUNTED}")
    if limit is None:
        return not_compared(check, gate, nothing_of_it(held.against, is_accepted=held.is_accepted))
    if not _is_past(gate, reading.value, limit):
        return _passed(gate, setting, check, stored, held)
    return _past(gate, setting, check, held)


def is_recounted(gate: Gate, stored: StoredValue) -> bool:
    """Whether what the gate counts was changed between the two."""
    return gate.revision != stored.revision


def _differs(stored: StoredValue, reading: Reading) -> bool:
    return reading.value is not None and abs(reading.value - stored.value) > ROUNDING * max(abs(stored.value), 1.0)


def unknown_check(check: GateCheck, setting: GateSetting, reading: Reading, *, is_stored: bool) -> GateCheck:
    """What cannot be judged fails, unless there can be none of it and nobody asked."""
    reason = reading.reason or "it is not known"
    if reading.is_inapplicable and not setting.is_asked:
        text = f"not judged: {reason}"
        return replace(check, status=GateStatus.NOT_COMPARED, reason=reason, message=text)
    before = "; it was, in the baseline" if is_stored else ""
    return replace(check, status=GateStatus.BROKEN, reason=reason, message=f"could not be judged: {reason}{before}")


def not_compared(check: GateCheck, gate: Gate, reason: str) -> GateCheck:
    found = "" if check.measured is None else f"{said(gate, check.measured)}; "
    text = f"{found}not compared: {reason}"
    return replace(check, status=GateStatus.NOT_COMPARED, reason=reason, message=text)


def nothing_of_it(against: str | None, *, is_accepted: bool = False) -> str:
    """Why a value has nothing to be held against. `against` None: no file of values and no commit was."""
    if is_accepted:
        return ACCEPTED
    return "nothing is stored for it yet" if against is None else f"{against} has no value of it"


def past_status(level: GateLevel) -> GateStatus:
    """How a gate of this level ends where its limit is passed."""
    return GateStatus.FAILED if level is GateLevel.ERROR else GateStatus.WARNED


def said(gate: Gate, value: float | None) -> str:
    """`3 graph breaks`, `92 % of the graphs in the plan`."""
    return f"{gate_number(value, gate.unit)} {gate.one if value == 1 else gate.many}"


def _limit(gate: Gate, setting: GateSetting, stored: StoredValue | None) -> float | None:
    """The written limit stands for the stored value: whoever writes `max = 3` has accepted three."""
    written = setting.least if gate.is_more_better else setting.most
    if written is not None:
        return written
    if gate.unit is GateUnit.ERROR_SIZE:
        return 1.0  # what is allowed is in the value already
    if stored is None:
        return None
    margin = _margin(gate, setting, stored)
    return stored.value * (1 - margin if gate.is_more_better else 1 + margin)


def _margin(gate: Gate, setting: GateSetting, stored: StoredValue) -> float:
    return setting.margin if setting.margin is not None else max(stored.margin, gate.margin)


def _is_past(gate: Gate, value: float, limit: float) -> bool:
    slack = ROUNDING * max(abs(limit), 1.0)
    return value < limit - slack if gate.is_more_better else value > limit + slack


def _passed(gate: Gate, setting: GateSetting, check: GateCheck, stored: StoredValue | None, held: Held) -> GateCheck:
    """Passed, or better than stored by more than its margin on the other side. Fewer graphs and less code are no
    better where capture stops more often: less of the model may be compiled.
    """
    measured = check.measured
    assert measured is not None
    if stored is not None and gate.unit is not GateUnit.ERROR_SIZE:
        margin = _margin(gate, setting, stored)
        bound = stored.value * (1 + margin if gate.is_more_better else 1 - margin)
        if _is_past(gate, bound, measured):
            text = f"{said(gate, measured)}, {gate_number(stored.value, gate.unit)} before"
            if gate.id in (GRAPHS, CODE) and held.stops_more:
                return replace(check, message=f"{text}; no gain where capture stops more often")
            return replace(check, status=GateStatus.IMPROVED, message=text)
    return replace(check, message=said(gate, measured))


def _past(gate: Gate, setting: GateSetting, check: GateCheck, held: Held) -> GateCheck:
    blamed = _blamed(gate, held)
    silenced = sum(place.stored.count for place in blamed if _is_silenced(place, held))
    loud = [place for place in blamed if not _is_silenced(place, held)]
    assert check.measured is not None
    assert check.limit is not None
    is_theirs = gate.id in (KERNELS, CODE) and not loud
    if silenced and (is_theirs or not _is_past(gate, check.measured - silenced, check.limit)):
        what = "past its limit for breaks" if is_theirs else f"of which {silenced}"
        text = f"{said(gate, check.measured)}, {what} silenced by comments"
        return replace(check, status=GateStatus.SILENCED, message=text)
    is_old_torch = check.baseline is not None and not held.is_same_torch and setting.most is None
    level = GateLevel.WARN if is_old_torch else setting.level
    wheres = tuple(place.where for place in loud if place.where is not None)
    first = next((place.finding for place in loud if place.finding is not None), None)
    cost_ns = _cost(loud)
    check = replace(
        check,
        level=level,
        status=past_status(level),
        where=wheres[0] if wheres else None,
        places=wheres,
        ns_per_step=cost_ns,
        remedy=first.remedy if first is not None else _divided(gate, held),
        rule=first.rule if first is not None else check.rule,
        cause=first.message if first is not None else None,
        confidence=first.confidence if first is not None else None,
    )
    return replace(check, message=_message(gate, check, loud, held, is_old_torch))


def _blamed(gate: Gate, held: Held) -> tuple[Place, ...]:
    """The lines that explain a number past its limit: findings that are new, else graphs that grew. Without a baseline
    every finding of the gate's rules.
    """
    known = held.baseline.places if held.baseline is not None else ()
    fresh = new_places(held.places, known, gate.rules)
    what = CODE if gate.id == GRAPHS else gate.id
    if fresh or what not in (KERNELS, CODE) or held.baseline is None:
        return fresh
    broken = new_places(held.places, known, ("graph_break",))
    grown = changed_graphs(held.places, known, what)
    return broken or _new_in(grown, held, known) or tuple(place.among(held.changed) for place in grown)


def _divided(gate: Gate, held: Held) -> str | None:
    """Of graphs that no new finding explains: that a break which is no new one is met in another function now."""
    if gate.id != GRAPHS or held.baseline is None:
        return None
    moved = moved_places(held.places, held.baseline.places, "graph_break")
    if not moved:
        return None
    at = _at(moved[0].where, held.sources)
    return f"the break{at} was elsewhere before: one in a called function divides its callers too"


def _new_in(grown: Sequence[Place], held: Held, known: Sequence[StoredPlace]) -> tuple[Place, ...]:
    """New findings of any timeless rule on a line of the graphs that grew."""
    lines = {(line.file, line.line) for graph in grown for line in graph.lines}
    fresh = new_places(held.places, known, TIMELESS)
    return tuple(place for place in fresh if place.where and (place.where.file, place.where.line) in lines)


def new_finding_checks(
    gate: Gate, setting: GateSetting, held: Held, told: Sequence[SourceLine]
) -> tuple[GateCheck, ...]:
    """One check a finding that the baseline does not have; `told` are lines that another gate has named already.

    A rule that could not judge then, or of what is counted otherwise now, says nothing: what it finds may be as old as
    the model.
    """
    check = GateCheck(gate.id, setting.level, GateStatus.PASSED, GateUnit.COUNT, "no new findings", measured=0, limit=0)
    if held.baseline is None:
        reason = nothing_of_it(held.against, is_accepted=held.is_accepted)
        return (not_compared(replace(check, measured=None), gate, reason),)
    rules = [rule for rule in TIMELESS if rule not in (*held.baseline.unjudged, *held.recounted)]
    fresh = new_places(held.places, held.baseline.places, rules)
    loud = [place for place in fresh if not _is_silenced(place, held) and not (place.where and place.where in told)]
    if not loud:
        return (check,)
    return tuple(_new_finding(check, place, held) for place in loud)


def _new_finding(check: GateCheck, place: Place, held: Held) -> GateCheck:
    finding = place.finding
    assert finding is not None
    return replace(
        check,
        status=past_status(check.level),
        measured=place.stored.count,
        rule=finding.rule,
        where=place.where,
        places=(place.where,) if place.where is not None else (),
        ns_per_step=finding.ns_per_step,
        remedy=finding.remedy,
        message=f"new {finding.rule}{_at(place.where, held.sources)}: {finding.message}",
        cause=finding.message,
        confidence=finding.confidence,
    )


def _is_silenced(place: Place, held: Held) -> bool:
    return held.silences.holds(place.stored.rule, place.where)


def _cost(places: Sequence[Place]) -> int | None:
    """What they cost together: the costs of findings overlap, so that it is the dearest one's."""
    costs = [place.finding.ns_per_step for place in places if place.finding is not None]
    known = [cost for cost in costs if cost is not None]
    return max(known) if known else None


def _message(gate: Gate, check: GateCheck, blamed: Sequence[Place], held: Held, is_old_torch: bool) -> str:
    assert check.measured is not None
    base = f", {gate_number(check.baseline, gate.unit)} in {held.against}" if check.baseline is not None else ""
    limit = "at least" if gate.is_more_better else "at most"
    text = f"{said(gate, check.measured)}{base}; {limit} {gate_number(check.limit, gate.unit)} may be"
    if blamed:
        named = ", ".join(_named(place, held) for place in blamed[:MAX_NAMED])
        more = f" and {len(blamed) - MAX_NAMED} more" if len(blamed) > MAX_NAMED else ""
        text = f"{text}: {named}{more}"
    if is_old_torch and held.baseline is not None:
        text += (
            f"; stored with torch {held.baseline.torch}, and this is {held.release}: torch itself may have changed it"
        )
    return text


def _named(place: Place, held: Held) -> str:
    if place.where is None:
        return place.finding.message if place.finding is not None else "a graph of no known line"
    at = f"{held.sources.path(place.where.file)}:{place.where.line}"
    if place.finding is None:
        return f"the graph that {'holds the changed line' if _is_changed(place.where, held) else 'begins at'} {at}"
    cost = place.finding.ns_per_step
    return at if cost is None else f"{at} (up to {quantities.duration(cost)} a step)"


def _is_changed(where: SourceLine, held: Held) -> bool:
    return any((line.file, line.line) == (where.file, where.line) for line in held.changed)


def _at(where: SourceLine | None, sources: Sources) -> str:
    return "" if where is None else f" at {sources.path(where.file)}:{where.line}"


def release_of(version: str) -> str:
    """`2.13` of `2.13.0+cpu`."""
    return ".".join(version.partition("+")[0].split(".")[:2])
