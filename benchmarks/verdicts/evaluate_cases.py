"""The reports on cases with a known cause, against what their headers say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from analyzer.core.verdict import Bound
from benchmarks.verdicts.case_header import CaseHeader, causes
from benchmarks.verdicts.case_report import CaseRecording, CaseRun, Observed, observed, sure_verdicts
from benchmarks.verdicts.measured_cases import MeasuredCase, correction, read_measured
from benchmarks.verdicts.result import Check, Section, Stated, Table

ASKED_CLASS: Final = 0.90
ASKED_CAUSE: Final = 0.85
SURE: Final = 0.8
"""A wrong verdict of this confidence and more is one too many: issue 3."""
CROWDED: Final = re.compile(r"other programs kept .* busy while this was timed")
"""How a report says that its times are too long (analyzer/assemble.py)."""

MAIN_SHARE: Final = 0.5
"""A region speaks for the whole case where it takes half of the step or more."""


@dataclass(frozen=True, slots=True)
class HeldCase:
    """One case: what its header expects on this device, and what its report says.

    `missing` are the causes (tags) for which no rule found anything, each with the rules that may stand for it.
    `corrected` is the measurement that stands against the header here, None where there is none: `expected` and
    `causes` are then as measured.
    """

    run: CaseRun
    header: CaseHeader
    expected: tuple[Bound, ...]
    seen: Observed
    causes: tuple[tuple[str, tuple[str, ...]], ...]
    sure_and_wrong: tuple[tuple[str, Bound, float, float], ...]
    corrected: MeasuredCase | None = None

    @property
    def has_class(self) -> bool | None:
        """None where the header's effect depends on hardware that is not here, or names no class, or the recording
        ended before the case did.
        """
        return self.seen.bound in self.expected if self.is_tested and self.expected else None

    @property
    def is_tested(self) -> bool:
        return not (self.header.is_hardware_dependent or self.run.is_cut_short)

    @property
    def missing(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((tag, rules) for tag, rules in self.causes if not set(rules) & set(self.seen.rules))

    @property
    def has_cause(self) -> bool | None:
        """Whether any of its causes is among the findings. None where it has none that a rule is to find."""
        if not self.causes or not self.is_tested:
            return None
        return len(self.missing) < len(self.causes)


def hold(run: CaseRun, header: CaseHeader, device: str, measured: tuple[MeasuredCase, ...] | None = None) -> HeldCase:
    report = run.report or {}
    corrected = correction(header.id, device, read_measured() if measured is None else measured)
    expected = corrected.classes if corrected and corrected.classes else header.expected(device)
    absent = corrected.absent if corrected else ()
    sure = sure_verdicts(report, SURE) if report else ()
    wrong = tuple(v for v in sure if v[1] is not Bound.UNDECIDED and v[1] not in expected and v[3] >= MAIN_SHARE)
    return HeldCase(
        run=run,
        header=header,
        expected=expected,
        seen=observed(report),
        causes=tuple((tag, rules) for tag, rules in causes(header, device) if tag not in absent),
        sure_and_wrong=wrong if expected and not header.is_hardware_dependent else (),
        corrected=corrected,
    )


def evaluate_cases(recordings: Sequence[CaseRecording], headers: Sequence[CaseHeader], title: str) -> Section:
    """The section on the cases of one device; of a case recorded twice the last run that gave a report counts."""
    device = recordings[0].device
    runs: dict[str, CaseRun] = {}
    for recording in recordings:
        dated = [replace(r, date=r.date or recording.date) for r in recording.runs]
        runs |= {r.case: r for r in dated if r.report is not None or r.case not in runs}
    by_id = {header.id: header for header in headers}
    held = [hold(run, by_id[case], device) for case, run in sorted(runs.items()) if case in by_id]
    return Section(
        title=title,
        where=_where(device, tuple(runs.values())),
        checks=_checks(held),
        tables=(_confusion(held), _all(held), _corrected(held, device), _tags(held), _sure(held)),
        stated=tuple(_stated(held)),
        notes=tuple(note for recording in recordings for note in recording.notes),
    )


def _where(device: str, runs: Sequence[CaseRun]) -> str:
    """Every device and torch that a case ran on, once, and the first and the last day."""
    reports = [run.report for run in runs if run.report is not None]
    names = [(report.get("device") or {}).get("name", device) for report in reports]
    torches = [(report.get("versions") or {}).get("torch", "unknown") for report in reports]
    places = dict.fromkeys(f"{name}, torch {torch}" for name, torch in zip(names, torches, strict=True))
    days = sorted({run.date for run in runs if run.date is not None})
    when = " to ".join(dict.fromkeys((days[0], days[-1]))) if days else ""
    return ", ".join(filter(None, ("; ".join(places) or device, when)))


def _checks(held: Sequence[HeldCase]) -> tuple[Check, ...]:
    classes = [h.has_class for h in held if h.has_class is not None]
    found = [h.has_cause for h in held if h.has_cause is not None]
    tags = [(tag, h) for h in held if h.is_tested for tag, _ in h.causes]
    lost = sum(len(h.missing) for h in held if h.is_tested)
    run = [h for h in held if not h.run.is_cut_short]
    return (
        Check("cases with the expected class", ASKED_CLASS, _share(classes), len(classes)),
        Check("cases with an expected cause among the findings", ASKED_CAUSE, _share(found), len(found)),
        Check("expected causes (tags) found", ASKED_CAUSE, 1 - lost / len(tags) if tags else None, len(tags)),
        Check(
            f"verdicts wrong with confidence {SURE} or more",
            0.0,
            float(sum(len(h.sure_and_wrong) for h in held)) if run else None,
            len(run),
            is_at_most=True,
        ),
        Check("cases that show on this device and were recorded to their end", 1.0, _share_of(run, held), len(held)),
    )


def _share(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _share_of(some: Sequence[HeldCase], held: Sequence[HeldCase]) -> float | None:
    return len(some) / len(held) if held else None


def _stated(held: Sequence[HeldCase]) -> list[Stated]:
    return [
        Stated(f"{h.run.case}: {h.seen.bound.value}-bound", h.seen.confidence, h.has_class)
        for h in held
        if h.seen.confidence is not None and h.has_class is not None
    ]


def _confusion(held: Sequence[HeldCase]) -> Table:
    count = Counter((h.expected[0], h.seen.bound) for h in held if h.expected and not h.run.is_cut_short)
    rows = tuple((e.value, *(str(count[e, s]) for s in Bound)) for e in Bound if any(count[e, s] for s in Bound))
    return Table("Confusion", ("the header says", *(f"we say {b.value}" for b in Bound)), rows)


def _all(held: Sequence[HeldCase]) -> Table:
    rows = tuple(
        (
            h.run.case,
            "/".join(b.value for b in h.expected),
            h.seen.bound.value,
            "—" if h.seen.share is None else f"{h.seen.part} {h.seen.share:.0%}",
            "—" if h.seen.confidence is None else f"{h.seen.confidence:.2f}",
            _word(h),
            ", ".join(h.seen.rules) or "none",
            "; ".join(f"{tag} ({_rules(rules, h)})" for tag, rules in h.missing if not h.run.is_cut_short) or "—",
            _reason(h),
        )
        for h in held
    )
    columns = (
        "case",
        "expected",
        "observed",
        "largest part",
        "confidence",
        "class",
        "findings",
        "causes not found",
        "reason",
    )
    return Table("Every case", columns, rows, "A rule marked * lacked its data in that run.")


def _rules(rules: Sequence[str], h: HeldCase) -> str:
    failed = {f["rule"] for f in (h.run.report or {}).get("rule_failures") or ()}
    return " or ".join(f"{rule}*" if rule in failed else rule for rule in rules)


def _word(h: HeldCase) -> str:
    match h.has_class:
        case None:
            return "not tested"
        case True:
            return "right"
        case _:
            return "undecided" if h.seen.bound is Bound.UNDECIDED else "wrong"


def _reason(h: HeldCase) -> str:
    report = h.run.report
    if h.run.is_cut_short:
        return f"not recorded to its end: {h.run.error}"[:120]
    if report is None:
        return f"no report: {(h.run.error or '').strip().splitlines()[-1] if h.run.error else 'no word of why'}"[:120]
    if h.header.is_hardware_dependent:
        return "its effect needs other hardware"
    if h.has_class or h.has_class is None:
        return ""
    failed = [f["rule"] for f in report.get("rule_failures") or ()]
    partial = report.get("partial")
    if partial:
        return f"ended early: {partial}"[:120]
    crowd = next((note for note in report.get("notes") or () if CROWDED.match(note)), None)
    if crowd is not None:
        return f"measured beside other programs: {crowd}"[:120]
    if h.seen.bound is Bound.UNDECIDED:
        return f"nothing claimed: {h.seen.part or 'no budget'}" + (
            f"; rules without data: {', '.join(failed)}" if failed else ""
        )
    return f"header: {h.header.says}"[:120]


def _corrected(held: Sequence[HeldCase], device: str) -> Table:
    rows = tuple(
        (
            h.run.case,
            h.header.says[:80],
            "/".join(b.value for b in h.corrected.classes) or "as the header",
            ", ".join(h.corrected.absent) or "—",
            f"{h.corrected.measured} ({h.corrected.how})",
            f"torch {h.corrected.torch}, {h.corrected.date}",
        )
        for h in held
        if h.corrected is not None
    )
    tested = [h for h in held if h.is_tested and h.header.expected(device)]
    right = sum(h.seen.bound in h.header.expected(device) for h in tested)
    columns = ("case", "the header says", "class as measured", "causes that do not show", "measured", "on")
    note = f"A measurement beats the header. By the headers alone {right} of {len(tested)} classes are right."
    return Table("Expectations that a measurement corrects", columns, rows, note)


def _tags(held: Sequence[HeldCase]) -> Table:
    run = [h for h in held if not h.run.is_cut_short]
    lost = Counter(rule for h in run for _, rules in h.missing for rule in rules)
    found = Counter(rule for h in run for _, rules in h.causes for rule in rules if rule in h.seen.rules)
    rows = tuple((rule, str(found[rule]), str(lost[rule])) for rule in sorted({*lost, *found}))
    columns = ("rule", "tags it found", "tags it, or another of theirs, did not")
    return Table("By rule", columns, rows)


def _sure(held: Sequence[HeldCase]) -> Table:
    rows = tuple(
        (h.run.case, key, bound.value, f"{confidence:.2f}", f"{share:.0%}", h.header.says[:80])
        for h in held
        for key, bound, confidence, share in h.sure_and_wrong
    )
    columns = ("case", "region", "verdict", "confidence", "of the step", "header")
    return Table(f"Verdicts against the header with confidence {SURE} or more", columns, rows)
