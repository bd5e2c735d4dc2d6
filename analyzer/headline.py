"""One sentence of the report: what bounds this model, and what the plan did."""

from __future__ import annotations

from typing import Final, assert_never

from analyzer.core.budget import Budget, Part
from analyzer.core.graphs import GraphKey
from analyzer.core.quantities import durations, ratio_with_interval, share
from analyzer.core.trial import Change, Comparison, TrialOutcome
from analyzer.derive.compare import compare
from analyzer.doubts import Doubts
from analyzer.measured import Measured
from analyzer.session_words import wrong_reason

NO_GRAPH_RUNS: Final = "No compiled graph runs any more: torch gave up on those it captured, and the model runs eager"
NO_GRAPH: Final = "torch.compile changes nothing here: there is no graph to judge or to plan for"

_BOUND_BY: Final = {
    Part.STARVED: "CPU-bound: the device waits for the host",
    Part.COMPUTE: "compute-bound: arithmetic takes",
    Part.MEMORY: "memory-bound: moving data takes",
    Part.LATENCY: "latency-bound: small kernels take",
}
_UNBOUND: Final = {
    Part.UNKNOWN_KERNELS: "undecided: kernels that no roof could be named for take",
    Part.COPIES: "undecided: copies between memories take",
    Part.OTHER: "undecided: no part could be named for",
}
LEAST_TOLD: Final = 0.005
"""Of a step: less of it is `<1 %` in its budget's bar, and told as no part of another figure."""

_CHANGED: Final = "the machine changed between two passes"
_STARVED_ON_CPU: Final = "CPU-bound: the host's own work takes"


def headline(measured: Measured, comparison: Comparison | None, doubts: Doubts) -> str:
    """What bounds the step, then what was done about it; honest where either is missing or in doubt."""
    if measured.capture is not None and not measured.capture.graphs:
        return NO_GRAPH
    if _runs_no_graph(measured):
        return NO_GRAPH_RUNS
    bound = _bound(measured, doubts) if doubts.why is None else f"Undecided: {doubts.why}"
    changed = _changed(measured)
    if comparison is None:
        return bound if changed is None else f"{bound}; {changed}"
    also = "" if changed is None or not _is_compiled(measured) else f"; {changed}"
    return f"{bound}. {_outcome(measured, comparison)}{also}"


def _runs_no_graph(measured: Measured) -> bool:
    """Whether neither pass saw a graph run. Where the recorded one did, the passes differ, which is a doubt."""
    if measured.timing is None:
        return False
    recorded = measured.before.attribution.regions if measured.before is not None else ()
    seen = (*(timed.region for timed in measured.timing.regions), *(work.region for work in recorded))
    return not any(isinstance(region, GraphKey) for region in seen)


def _changed(measured: Measured) -> str | None:
    """That the default's results were not found to be the model's own; None where they were, or were not compared."""
    accuracy = measured.accuracy_of_default
    if accuracy is None or accuracy.is_right:
        return None
    return f"torch.compile's default does not give this model's results: {wrong_reason(accuracy)}"


def _is_compiled(measured: Measured) -> bool:
    return measured.plan is None or measured.plan.is_compiled


def _bound(measured: Measured, doubts: Doubts) -> str:
    """Where the machine changed, what is so at both its speeds; where those cannot be told, that it is of the first."""
    if measured.before is None:
        if measured.partial is None:
            return "No verdict: the model was compiled and called, and no step of it was timed or profiled"
        return "No verdict: the run ended before the model was timed and profiled"
    step, later = measured.before.step, doubts.later
    words, part = _largest(step, is_host=measured.before.attribution.is_host)
    if later is None:
        of_first = f", in the first clean pass: {_CHANGED}" if doubts.has_drifted else ""
        beside = tuple(text for text in (_waits(step, part), _second(step, part)) if text)
        return f"{_capital(words)} {_share(step, part)} of a step{_in_brackets('; '.join(beside))}{of_first}"
    other, other_part = _largest(later, is_host=False)
    if other_part is not part:
        waits = _in_brackets(_waits(step, part))
        first = f"{_what(words)} {_share(step, part)} of a step{waits} in the first clean pass"
        return f"Undecided, as {_CHANGED}: {first}, and {_what(other)} {_share(later, other_part)} in a later one"
    low, high = sorted((step, later), key=lambda one: _ns(one, part) / max(one.elapsed_ns, 1))
    waits = _waits(step, part)
    of_first = _in_brackets(f"{waits} in the first clean pass" if waits else "")
    return f"{_capital(words)} {_share(low, part)} to {_share(high, part)} of a step{of_first}, as {_CHANGED}"


def _largest(step: Budget, *, is_host: bool) -> tuple[str, Part]:
    """What takes most of the step, and the words for it, which its share follows."""
    part = max(Part, key=lambda part: _ns(step, part))
    if part in _UNBOUND:
        return _UNBOUND[part], part
    return _STARVED_ON_CPU if part is Part.STARVED and is_host else _BOUND_BY[part], part


def _what(words: str) -> str:
    """`moving data takes`, without the verdict before it."""
    return words.partition(": ")[2]


def _share(step: Budget, part: Part) -> str:
    """As the budget's bar says it; of what is starved with the waits, where `_waits` tells the bar's two."""
    return share(_ns(step, part) / max(step.elapsed_ns, 1) if _has_waits(step, part) else step.share(part))


def _has_waits(step: Budget, part: Part) -> bool:
    return part is Part.STARVED and step.share(Part.SYNC) >= LEAST_TOLD


def _waits(step: Budget, part: Part) -> str:
    """`starved 30 %, sync 31 %`: the bar's parts of what is told as one figure; empty where it is one of the bar's."""
    parts = (Part.STARVED, Part.SYNC) if _has_waits(step, part) else ()
    return ", ".join(f"{one.value} {share(step.share(one))}" for one in parts if step.ns(one))


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""


def _ns(step: Budget, part: Part) -> int:
    """What a part counts for: a device that the host leaves idle by waiting is starved by it too, as in a verdict."""
    return step.ns(part) + (step.ns(Part.SYNC) if part is Part.STARVED else 0)


def _second(step: Budget, first: Part) -> str:
    """The runner-up where it is near: a verdict by a nose is said to be one."""
    if first in _UNBOUND:
        return ""
    others = [part for part in _BOUND_BY if part is not first]
    second = max(others, key=lambda part: _ns(step, part))
    if _ns(step, second) < _ns(step, first) / 2 or not _ns(step, second):
        return ""
    return _waits(step, second) or f"{second.value} {_share(step, second)}"


def _outcome(measured: Measured, comparison: Comparison) -> str:
    times = f"{durations((comparison.before_ns, comparison.after_ns))} a step"
    factor = ratio_with_interval(comparison.ratio, comparison.interval.low, comparison.interval.high)
    if not _is_compiled(measured):
        return _left_alone(measured, comparison.outcome, f"{times} for default against eager, {factor}")
    match comparison.outcome:
        case Change.SAME if measured.holds_plan:
            return f"The plan is no faster than torch.compile default: {times}, {factor}"
        case Change.SAME | Change.NOISY if _is_eager_faster(measured) and not measured.holds_plan:
            # Such a plan stands for one reason alone (see fallback.better_plan).
            return f"torch.compile default stays, as eager is faster but over the memory limit: {times}, {factor}"
        case Change.FASTER:
            return f"The plan: {times}, {factor}"
        case Change.SAME:
            return f"Nothing beats torch.compile default: {times}, {factor}"
        case Change.NOISY:
            return f"No difference beyond noise: {times}, {factor}"
        case Change.SLOWER:
            return f"The plan lost: {times}, {factor}"
        case Change.WRONG_RESULT:
            return f"The plan {'gives wrong results' if measured.holds_plan else 'gave wrong results and was dropped'}"
        case _:
            assert_never(comparison.outcome)


def _is_eager_faster(measured: Measured) -> bool:
    checked = measured.verification
    if checked is None or checked.eager.step_ns is None or checked.planned.step_ns is None:
        return False
    return compare(checked.planned.step_ns, checked.eager.step_ns).outcome is Change.FASTER


def _left_alone(measured: Measured, outcome: Change, figures: str) -> str:
    changed = _changed(measured)
    checked = measured.verification
    if changed is not None:
        return f"Leave it alone: {changed}"
    if checked is not None and checked.default.outcome is TrialOutcome.WRONG_RESULT:
        return "Leave it alone: torch.compile's default gives wrong results"
    match outcome:
        case Change.FASTER:
            return f"Leave it alone: torch.compile does not help ({figures})"
        case Change.SAME:
            return f"Leave it alone: the last round told no difference between torch.compile and eager ({figures})"
        case Change.NOISY:
            # Eager won the round that chose it; here and below the machine, not the model, decides between the two.
            last = "no difference beyond noise was measured in the last round"
        case Change.SLOWER:
            last = "yet the default won the last round"
        case Change.WRONG_RESULT:
            return "Leave it alone: torch.compile's default gives wrong results"
        case _:
            assert_never(outcome)
    return f"Undecided whether to compile: the plan leaves it alone, {last} ({figures})"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
