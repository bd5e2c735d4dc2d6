"""What a report says in sentences, the same on every page that has them. Lays out nothing and escapes nothing."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from analyzer.core import quantities
from analyzer.core.finding import RUN_THE_MODEL, RuleFailure
from analyzer.core.report import Attributed, CandidateReport, PlanTrial, Report
from analyzer.core.samples import median_ratio
from analyzer.core.settings import MEANING_CHANGES
from analyzer.core.trial import Accuracy, Change, Comparison
from analyzer.core.verdict import Verdict
from analyzer.reporting.plain_text import plain
from analyzer.reporting.rows import RegionRow, bound_word

MAX_EVIDENCE: Final = 3
"""Sentences for each region: what bounds it, what the host did meanwhile or which bound is near, and the next part."""

SENTENCE_LIMIT: Final = 300
"""Characters of a sentence of ours or of torch's: torch's longest hints are paragraphs."""

MANY_RULES: Final = 4
"""Rules that could not judge for want of one thing, from which on their names come after the reason."""

ENDED_BEFORE: Final = "the run ended before it"

REPEATS_WITHIN: Final = 0.9
"""A step repeats within a few per cent (design, measuring); the profiler adds to it and takes nothing away."""

SILENT_EAGER: Final = (
    "NO GRAPH WAS CAPTURED: everything runs eager. The reasons are under Findings, where torch gave any."
)
LEFT_ALONE: Final = "the model runs as it is, its results are its own"
HONESTY_TITLE: Final = "What this trace cannot show"
NOT_COMPARED: Final = "the results were not compared"


WRONG_RESULT: Final = "WRONG RESULT: what is compared here does not compute what the model does."


def warnings_text(report: Report) -> list[str]:
    """Every reason not to take a report at its word but those of a recording, which are `report.honesty`."""
    found = [] if report.partial is None else [f"Partial report: {report.partial}"]
    found += [SILENT_EAGER] if is_silently_eager(report) else []
    comparison = report.comparison
    if comparison is not None:
        is_wrong = comparison.accuracy is not None and not comparison.accuracy.is_right
        found += [WRONG_RESULT] if is_wrong or comparison.outcome is Change.WRONG_RESULT else []
    return found


def outcome_text(report: Report) -> str | None:
    """`FASTER: …` with what it rests on; None where nothing was compared."""
    comparison = report.comparison
    if comparison is None:
        return None
    if report.is_left_alone:
        return f"LEFT ALONE: {LEFT_ALONE}"
    return f"{comparison.outcome.value.replace('_', ' ')}: {outcome_phrase(report, comparison)}"


def is_silently_eager(report: Report) -> bool:
    return report.capture is not None and not report.graphs


def counted_in(report: Report) -> str:
    """What the calls and kernels of a graph are counted in: a step, or the recording where no step is marked in it."""
    return "in the recording" if report.is_recorded and report.step_ns is None else "a step"


def reasons(row: RegionRow, most: int = MAX_EVIDENCE) -> list[str]:
    """Why a region is bound as it is: its evidence, what is missing, what would be saved at most, and the plan's."""
    verdict = row.verdict
    found = [plain(evidence, SENTENCE_LIMIT) for evidence in verdict.evidence[:most]]
    if verdict.missing is not None:
        found.append(f"missing: {plain(verdict.missing, SENTENCE_LIMIT)}")
    if verdict.savings:
        best = max(verdict.savings, key=lambda saving: saving.at_most_ns)
        found.append(
            f"without “{best.part.value}” a step would be at most {quantities.duration(best.at_most_ns)} shorter"
        )
    if row.verdict_after is not None:
        found.append(f"under the plan it is {bound_phrase(row.verdict_after)}")
    return found


def bound_phrase(verdict: Verdict) -> str:
    if verdict.confidence is None:
        return bound_word(verdict.bound)
    return f"{bound_word(verdict.bound)}-bound (confidence {quantities.share(verdict.confidence)})"


def results_text(comparison: Comparison) -> str:
    """Whether the results are right, with how far they are from the reference."""
    return NOT_COMPARED if comparison.accuracy is None else accuracy_text(comparison.accuracy)


def accuracy_text(accuracy: Accuracy) -> str:
    word = "results are right" if accuracy.is_right else "RESULTS ARE WRONG"
    sizes = (
        f"{word}, {quantities.error_size(accuracy.error)} from {accuracy.reference.value} "
        f"(eager {quantities.error_size(accuracy.eager_error)}, allowed {quantities.error_size(accuracy.allowed)})"
    )
    worst = f", worst at {plain(accuracy.worst, 60)}" if accuracy.worst else ""
    random = "; outputs are random: two draws of the model are the measure" if accuracy.is_random else ""
    return sizes + worst + random


def change_text(comparison: Comparison) -> str:
    """`4.34 → 1.78 ms a step, 2.43× (95 % 2.40–2.48)`"""
    times = quantities.durations((comparison.before_ns, comparison.after_ns))
    low, high = comparison.interval.low, comparison.interval.high
    return f"{times} a step, {quantities.ratio_with_interval(comparison.ratio, low, high)}"


def outcome_phrase(report: Report, comparison: Comparison) -> str:
    """What follows the word of an outcome: the times, where the headline has not said them, and the results."""
    said = change_text(comparison)
    is_said = said.partition(" a step")[0] in report.headline
    return results_text(comparison) if is_said else f"{said}; {results_text(comparison)}"


def attribution_text(attributed: Attributed, *, is_recorded: bool) -> str:
    if attributed.kernel_ns == 0:
        return "no kernel was recorded"
    graphs, gaps, unlinked = (
        quantities.share(part / attributed.kernel_ns)
        for part in (attributed.linked_ns, attributed.gap_ns, attributed.unlinked_ns)
    )
    lost = f"{quantities.count(attributed.unlinked_kernels)} of {quantities.count(attributed.kernels)} kernels"
    where = "regions" if is_recorded else "graphs"
    return f"{graphs} in {where}, {gaps} in eager gaps, {unlinked} not linked ({lost})"


def notes_text(report: Report) -> list[str]:
    """Every note, what could not be judged, what the profiler cost and what was warm-up."""
    failures = report.rule_failures if report.partial is None else [_cut_short(one) for one in report.rule_failures]
    notes = [*report.workload.notes, *report.notes, *unjudged(failures)]
    if report.profiler_slowdown is not None:
        notes.append(_profiler_note(report.profiler_slowdown))
    if report.warmup_ns:
        notes.append(
            f"the first call took {quantities.clock(report.warmup_ns[0])}, compilation included; "
            f"{len(report.warmup_ns)} warm-up steps are not in any figure"
        )
    return notes


def _cut_short(failure: RuleFailure) -> RuleFailure:
    """The same of a run that ended early: it was of the model itself, and did not get that far."""
    missing, _, remedy = failure.reason.rpartition(": ")
    return replace(failure, reason=f"{missing}: {ENDED_BEFORE}") if remedy.startswith(RUN_THE_MODEL) else failure


def _profiler_note(slowdown: float) -> str:
    if slowdown < REPEATS_WITHIN:
        return "under the profiler a step was shorter than without, which it cannot be: the machine changed in between"
    return f"under the profiler a step took {quantities.ratio(slowdown)} as long as without"


def unjudged(failures: Sequence[RuleFailure]) -> list[str]:
    """The rules that could not judge, those that want the same done together: what they lack, and what to record."""
    by_remedy: dict[str, list[RuleFailure]] = {}
    for failure in failures:
        missing, _, remedy = failure.reason.rpartition(": ")
        # What is said without a remedy stands for itself.
        by_remedy.setdefault(remedy if missing else failure.reason, []).append(failure)
    return [line for remedy, own in by_remedy.items() for line in _unjudged_lines(remedy, own)]


def _unjudged_lines(remedy: str, failures: Sequence[RuleFailure]) -> list[str]:
    names = ", ".join(failure.rule for failure in failures)
    reasons = dict.fromkeys(failure.reason.removesuffix(remedy).removesuffix(": ") for failure in failures)
    asked = f"{'; '.join(reasons)}: {remedy}" if any(reasons) else remedy
    if len(failures) < MANY_RULES:
        return [f"{'rule' if len(failures) == 1 else 'rules'} {names} could not judge: {asked}"]
    # A list of names is not cut like a sentence: whoever misses a rule looks for it there.
    return [
        f"{quantities.count(len(failures))} rules could not judge: {asked}; they are",
        *textwrap.wrap(names, SENTENCE_LIMIT // 2),
    ]


def plan_speed(plan: PlanTrial, default: PlanTrial | None) -> str:
    """How many times as fast as torch.compile's default, of steps taken in turn; empty for the default itself."""
    against = plan.against_ns or (default.step_ns if default is not None else None)
    if plan.step_ns is None or against is None or plan is default or not plan.step_ns.median_ns:
        return ""
    return quantities.ratio(median_ratio(against, plan.step_ns))


def plan_error(plan: PlanTrial) -> str:
    """Its error, with a word where that is too much; empty where it was not compared."""
    return error_text(plan.accuracy)


def error_text(accuracy: Accuracy | None) -> str:
    """As of a plan, of any trial. Two random results lie far apart and are both right: no size tells of it."""
    if accuracy is None:
        return ""
    if accuracy.is_random and accuracy.is_right:
        return "random"
    return ("" if accuracy.is_right else "WRONG ") + quantities.error_size(accuracy.error)


def changes_meaning(candidate: CandidateReport) -> bool:
    """Whether it is one, or made with one, that may change the model's results."""
    parts = re.split(r"\W", candidate.candidate)
    return any(change in parts for change in MEANING_CHANGES)


def plan_memory(plan: PlanTrial) -> str:
    """`1.50 GiB`, or with what CUDA graphs keep `1.50 GiB +200 MiB`."""
    if plan.peak_bytes is None:
        return ""
    pools = f" +{quantities.byte_count(plan.pool_bytes)}" if plan.pool_bytes else ""
    return quantities.byte_count(plan.peak_bytes) + pools


def off_text(predicted_ns: int | None, measured_ns: int | None) -> str:
    """By how much a prediction was off: `+4 %`."""
    if not predicted_ns or not measured_ns:
        return "?"
    return f"{predicted_ns / measured_ns - 1:+.0%}".replace("%", " %")
