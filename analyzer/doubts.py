"""What keeps a measured run from bearing verdicts: a crowd, a machine that changed, steps that are not alike.

Pure, like the report: says so in notes, and takes verdicts back. Judges no region by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final, assert_never

from analyzer.core.budget import Budget, BudgetPart, Part
from analyzer.core.graphs import Capture, GraphKey
from analyzer.core.quantities import count, duration, ratio
from analyzer.core.samples import Samples
from analyzer.core.timing import Changing, Crowd, StepChange, Timing
from analyzer.core.verdict import Bound
from analyzer.derive.classify import verdict
from analyzer.derive.ticks import is_decisive, tick_of
from analyzer.diagnosis import Diagnosis, Judged
from analyzer.measured import Measured
from analyzer.reporting.plain_text import file_name

DRIFT: Final = 1.5
"""Between two medians of the same step in one run, beyond what a step repeats to on one machine (a few per cent): a
shared machine was then given more, or less, of its cores."""

MOST_DRIFT: Final = 2.0
"""From here on more of a step is due to the machine than to the model, whatever the budget of one pass says."""

OUTRUN: Final = (
    "the machine changed between the clean pass and the recorded one, which took less than half as long although it "
    "was profiled: measure again on an idle machine"
)
OUTRUN_BY_PROBES: Final = (
    "the machine changed within the clean pass: steps with a clock around each graph took less than half as long as "
    "those without: measure again on an idle machine"
)
TICKED: Final = (
    "the steps' times are whole ticks of the scheduler, not of the model: measure again on an idle machine, with a CPU "
    "quota of whole cores"
)
REPEATS: Final = 0.05
"""Two medians of one step are not told apart by less, whatever their spreads: a step repeats to a few per cent."""

CHANGING: Final = "a step is not the same work each time (see the notes): put what changes back in each step"
UNLIKE_PASSES: Final = (
    "the timed steps called no compiled graph, and the recorded ones did: the steps are not alike, and no part of "
    "them can be named"
)


@dataclass(frozen=True, slots=True)
class Doubts:
    """`why` no bound may be named, of the step or of any region, and `of_plan`, of one under the plan; None where one
    may. `has_drifted`: a later pass over the same code took so much longer or shorter that the machine was another one.
    `later` is the step's budget at the machine's other speed, None where that cannot be told. `is_disturbed`: other
    programs shared the machine with a pass, or it was another one at the next, so that its times may be theirs, one way
    of running the model more than another's. `notes` are every reason to take the figures with care, a sentence each.
    """

    why: str | None = None
    of_plan: str | None = None
    has_drifted: bool = False
    later: Budget | None = None
    is_disturbed: bool = False
    notes: tuple[str, ...] = ()


def doubts_of(measured: Measured) -> Doubts:
    drift, of_plan = _drift(measured), _drift_of_plan(measured)
    has_drifted = _is_drift(drift)
    crowds = (measured.timing.crowd if measured.timing else None, _compared_crowd(measured))
    is_crowded = any(crowd is not None and crowd.is_crowded for crowd in crowds)
    is_outrun = any(is_so for _, is_so in _outruns(measured))
    why = _doubt(measured, drift)
    return Doubts(
        why=why,
        of_plan=why or _doubt_of_plan(measured, of_plan),
        has_drifted=has_drifted,
        later=_at_later_speed(measured.before, drift),
        is_disturbed=is_crowded or is_outrun or has_drifted or _is_drift(of_plan),
        notes=(
            *_change_notes(measured),
            *_crowd_notes(measured),
            *_tick_notes(measured),
            *_drift_notes(measured, drift, of_plan),
        ),
    )


def doubted(measured: Measured, doubts: Doubts) -> Measured:
    """The same, its verdicts undecided where there is a doubt; those under the plan where its own steps change, or took
    far longer or shorter in turn with the default. Where the host was seen at two speeds, a verdict is as sure as it is
    at both.
    """
    first = measured.before if doubts.why is not None else _judged_again(measured.before, doubts.later)
    before, after = _undecided(first, doubts.why), _undecided(measured.after, doubts.of_plan)
    return replace(measured, before=before, after=after)


def _doubt(measured: Measured, drift: _Drift | None) -> str | None:
    if _changes(measured.timing):
        return CHANGING
    if _passes_are_unlike(measured):
        return UNLIKE_PASSES
    if _decisive_tick(measured) is not None:
        return TICKED
    return _drift_doubt(drift) or next((why for why, is_so in _outruns(measured) if is_so), None)


def _doubt_of_plan(measured: Measured, drift: _Drift | None) -> str | None:
    checked = measured.verification
    is_changing = checked is not None and bool(_changes(checked.timing))
    return CHANGING if is_changing else _drift_doubt(drift)


def _at_later_speed(before: Diagnosis | None, drift: _Drift | None) -> Budget | None:
    """The step's budget in the pass that differs most from the clean one: what the device does takes what it took, and
    all the difference is the host's. None where no pass differs by DRIFT, where the host is the device, and where the
    host alone cannot make the difference.
    """
    if before is None or drift is None or drift.factor <= DRIFT or before.attribution.is_host:
        return None
    step = before.step
    elapsed_ns = round(step.elapsed_ns * drift.second_ns / max(drift.first_ns, 1))
    rest = tuple(part for part in step.parts if part.part not in (Part.STARVED, Part.SYNC))
    host_ns = elapsed_ns - sum(part.ns for part in rest)
    if host_ns < 0:
        return None
    sync_ns = round(host_ns * step.ns(Part.SYNC) / max(_host_ns(step), 1))
    made = (BudgetPart(Part.STARVED, host_ns - sync_ns), BudgetPart(Part.SYNC, sync_ns))
    return Budget(elapsed_ns, (*made, *rest))


def _host_ns(step: Budget) -> int:
    return step.ns(Part.STARVED) + step.ns(Part.SYNC)


def _judged_again(found: Diagnosis | None, later: Budget | None) -> Diagnosis | None:
    """Its verdicts with the host as far apart as it was seen to be; as they are where it was not."""
    if found is None or later is None:
        return found
    drift = abs(math.log(max(_host_ns(later), 1) / max(_host_ns(found.step), 1)))
    return replace(found, regions=tuple(replace(one, verdict=verdict(one.budget, drift)) for one in found.regions))


def _undecided(found: Diagnosis | None, why: str | None) -> Diagnosis | None:
    if found is None or why is None:
        return found
    return replace(found, regions=tuple(_taken_back(judged, why) for judged in found.regions))


def _taken_back(judged: Judged, why: str) -> Judged:
    missing = judged.verdict.missing or why
    verdict = replace(judged.verdict, bound=Bound.UNDECIDED, confidence=None, savings=(), missing=missing)
    return replace(judged, verdict=verdict)


# -- steps that are not alike ------------------------------------------------------------------------------------------


def _changes(timing: Timing | None) -> tuple[StepChange, ...]:
    """What has a trend, or never settles: of such steps there is no average."""
    if timing is None:
        return ()
    changes = tuple(change for change in timing.changes if not change.is_varying)
    return changes or (() if timing.is_steady else (StepChange(Changing.COMPILING),))


def _passes_are_unlike(measured: Measured) -> bool:
    """Whether one pass ran compiled graphs and the other none at all. Single graphs are each region's own doubt."""
    if measured.timing is None or measured.before is None:
        return False
    timed = any(isinstance(region.region, GraphKey) for region in measured.timing.regions)
    return not timed and any(isinstance(work.region, GraphKey) for work in measured.before.attribution.regions)


def _change_notes(measured: Measured) -> tuple[str, ...]:
    changes = _changes(measured.timing)
    if not changes:
        return _varying_notes(measured)
    what = "; ".join(_change_text(change, measured.capture) for change in changes)
    notes = (
        f"a step is not the same work each time: {what}",
        "its times are an average of different steps, of which no verdict is made. Put the state back in the step, or "
        "hand in what grows as an input: inputs are put back before each step",
    )
    if measured.verification is None:
        return notes
    return (*notes, "before and after were taken in turn and grew alike: their ratio is of steps of about equal work")


def _varying_notes(measured: Measured) -> tuple[str, ...]:
    changes = measured.timing.changes if measured.timing is not None else ()
    if not changes:
        return ()
    what = "; ".join(_change_text(change, measured.capture) for change in changes)
    return (f"sizes vary from step to step, up and down: {what}; times and verdicts are of an average step",)


def _change_text(change: StepChange, capture: Capture | None) -> str:
    sizes = " and then ".join(_size_text(size, change) for size in change.sizes)
    match change.what:
        case Changing.GRAPH_INPUT if change.sizes:
            return f"{_graph_text(change.key, capture)} was given {sizes}"
        case Changing.GRAPH_INPUT:
            return f"{_graph_text(change.key, capture)} was given other inputs"
        case Changing.OUTPUT:
            return f"it returned a tensor of {sizes}"
        case Changing.STATE:
            return f"the model kept a tensor of {sizes}"
        case Changing.CALLS:
            return "it called other graphs, or in another order"
        case Changing.COMPILING:
            return "torch still compiled graphs when it was timed"
        case _:
            assert_never(change.what)


def _size_text(size: tuple[int, ...], change: StepChange) -> str:
    return f"the number {count(size[0])}" if change.is_number else str(list(size))


def _graph_text(key: GraphKey | None, capture: Capture | None) -> str:
    where = next((graph.where for graph in (capture.graphs if capture else ()) if graph.key == key), None)
    if where is not None:
        return f"the graph of {file_name(where.file)}:{where.line}"
    return "a graph" if key is None else f"graph {key.digest}"


# -- the machine -------------------------------------------------------------------------------------------------------


def _crowd_notes(measured: Measured) -> tuple[str, ...]:
    timed = measured.timing.crowd if measured.timing is not None else None
    compared = _compared_crowd(measured)
    notes = []
    if timed is not None and timed.is_crowded:
        notes.append(
            f"other programs kept {_busy(timed)} busy while this was timed: its times are too long, and its verdicts "
            "may be theirs; measure again on an idle machine"
        )
    if compared is not None and compared.is_crowded:
        notes.append(
            f"other programs kept {_busy(compared)} busy while before and after were compared: taken in turn they met "
            "the same crowd, but both are too long"
        )
    return tuple(notes)


def _compared_crowd(measured: Measured) -> Crowd | None:
    return measured.verification.crowd if measured.verification is not None else None


@dataclass(frozen=True, slots=True)
class _Drift:
    """How many times a step differs between a clean pass and another of the same code, at least 1. `timed` and
    `compared` are the two passes, as they are said.
    """

    factor: float
    first_ns: int
    second_ns: int
    timed: str
    compared: str


def _drift_between(timed: tuple[str, Samples], compared: tuple[str, Samples]) -> _Drift:
    first_ns, second_ns = timed[1].median_ns, compared[1].median_ns
    factor = max(first_ns, second_ns) / max(min(first_ns, second_ns), 1)
    return _Drift(factor, first_ns, second_ns, timed[0], compared[0])


def _drift(measured: Measured) -> _Drift | None:
    """The default's largest; None where the clean pass stands alone."""
    if measured.timing is None:
        return None
    checked, timed = measured.verification, ("the first clean pass", measured.timing.step_ns)
    later = (
        ("the comparison with the plan", checked.default.step_ns if checked is not None else None),
        ("the comparison with eager", measured.default_ns),
    )
    found = [_drift_between(timed, (compared, samples)) for compared, samples in later if samples is not None]
    return max(found, key=lambda drift: drift.factor, default=None)


def _drift_of_plan(measured: Measured) -> _Drift | None:
    """Of the clean pass that budgets under the plan are of; None where the plan has none."""
    checked = measured.verification
    if checked is None or checked.timing is None or checked.planned.step_ns is None:
        return None
    timed = "the plan's clean pass", checked.timing.step_ns
    return _drift_between(timed, ("the comparison with the default", checked.planned.step_ns))


def _is_drift(drift: _Drift | None, bound: float = DRIFT) -> bool:
    return drift is not None and drift.factor > bound


def _drift_doubt(drift: _Drift | None) -> str | None:
    if drift is None or not _is_drift(drift, MOST_DRIFT):
        return None
    return f"the machine changed between {drift.timed} and {drift.compared}: measure again on an idle machine"


def _outruns(measured: Measured) -> tuple[tuple[str, bool], ...]:
    """Whether steps that something was put around, which can only lengthen them, were far shorter than those without;
    by what is then said.
    """
    if measured.timing is None:
        return ()
    clean_ns, probed_ns = measured.timing.step_ns.median_ns, measured.timing.probed_step_ns.median_ns
    laden = ((OUTRUN, measured.profiled_step_ns), (OUTRUN_BY_PROBES, probed_ns))
    return tuple((why, ns is not None and clean_ns > MOST_DRIFT * ns) for why, ns in laden)


def _drift_notes(measured: Measured, drift: _Drift | None, of_plan: _Drift | None) -> tuple[str, ...]:
    checked, notes = measured.verification, _apart_notes(measured)
    if drift is not None and _is_drift(drift):
        notes = (_drift_note("a step", drift, measured.timing),)
    if of_plan is not None and checked is not None and _is_drift(of_plan):
        notes = (*notes, _drift_note("a step under the plan", of_plan, checked.timing))
    return notes


def _drift_note(step: str, drift: _Drift, timing: Timing | None) -> str:
    first, second = duration(drift.first_ns), duration(drift.second_ns)
    cause = "the machine changed in between" if not _changes(timing) else "the steps are not alike"
    return (
        f"{step} took {first} in {drift.timed} and {second} in {drift.compared}, {ratio(drift.factor)} apart: "
        f"{cause}; its budgets, shares and verdicts are of the first"
    )


def _apart_notes(measured: Measured) -> tuple[str, ...]:
    """That passes of the default disagree by more than their own spreads, so that totals side by side differ."""
    if _changes(measured.timing):
        return ()  # told as such
    passes = _passes(measured)
    low, high = (choose(passes, key=lambda one: one[1].median_ns, default=None) for choose in (min, max))
    if low is None or high is None or not _is_apart(low[1], high[1]):
        return ()
    told = ", ".join(f"{duration(samples.median_ns)} {where}" for where, samples in passes)
    return (
        f"a step of the default took {told}, further apart than the steps of each: the machine changed in between. "
        "Compare only what one table shows; budgets and shares are of the clean pass",
    )


def _passes(measured: Measured) -> tuple[tuple[str, Samples], ...]:
    """The passes without the profiler over the same code, in their order."""
    checked = measured.verification
    found = (
        ("in the clean pass", measured.timing.step_ns if measured.timing is not None else None),
        ("in turn with eager", measured.default_ns),
        ("in turn with the plan", checked.default.step_ns if checked is not None else None),
    )
    return tuple((where, samples) for where, samples in found if samples is not None)


def _is_apart(low: Samples, high: Samples) -> bool:
    spreads = low.spread * low.median_ns + high.spread * high.median_ns
    return high.median_ns - low.median_ns > max(2 * spreads, REPEATS * low.median_ns)


def _decisive_tick(measured: Measured) -> int | None:
    """The tick that the clean pass was counted in, where it is too long for a budget to be made of."""
    if measured.timing is None:
        return None
    tick = tick_of(measured.timing.step_ns)
    return tick if tick is not None and is_decisive(measured.timing.step_ns, tick) else None


def _tick_notes(measured: Measured) -> tuple[str, ...]:
    named = {where: tick for where, samples in _passes(measured) if (tick := tick_of(samples)) is not None}
    if not named:
        return ()
    return (
        f"the steps' times {' and '.join(named)} are whole multiples of {duration(max(named.values()))}, as a "
        "scheduler hands out its turns: they are no finer than that, whatever their spread",
    )


def _busy(crowd: Crowd) -> str:
    return f"{crowd.other_cores:.1f} of {crowd.cores} cores"
