"""One model's gates, all of them, and what to store of it. Reads no file and runs nothing."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Final

from analyzer.core.baseline import MachineClass, MachineTimes, ModelBaseline, StoredValue
from analyzer.core.device import Device
from analyzer.core.gate import GateCheck, GateLevel, GateStatus, ModelGate
from analyzer.core.graphs import SourceLine
from analyzer.core.plan import Plan
from analyzer.core.policy import GateSetting, Policy
from analyzer.core.report import Report
from analyzer.gate.counts import Held, check_count, is_recounted, new_finding_checks, past_status
from analyzer.gate.gates import GATES, level_of
from analyzer.gate.places import Place, places_of, stored_places
from analyzer.gate.plan_notes import plan_notes
from analyzer.gate.reading import Gate, Needs, Sources, Subject
from analyzer.gate.silence import Silences
from analyzer.gate.times import COMPILE_TIME, HeldTimes, InTurn, check_time, ways_of

NEW_FINDINGS: Final = "new_findings"
RENAMED: Final = "renamed_model"
WITHOUT_VALUE: Final = (NEW_FINDINGS, RENAMED)
"""Gates that hold no number of the report."""
STORED: Final = tuple(
    gate for gate in GATES if gate.needs < Needs.CLOCK and gate.id not in (*WITHOUT_VALUE, "accuracy")
)

_ARCHITECTURES: Final = ("x86_64", "AMD64", "aarch64", "arm64", "ppc64le", "s390x", "riscv64")

_WORST_FIRST: Final = (
    GateStatus.FAILED,
    GateStatus.BROKEN,
    GateStatus.WARNED,
    GateStatus.IMPROVED,
    GateStatus.NOT_COMPARED,
    GateStatus.SILENCED,
    GateStatus.PASSED,
)


@dataclass(frozen=True, slots=True)
class Case:
    """One model to be judged. `name` is what the policy and the baseline call it, `against` names the baseline.

    `reach` is how much was run: gates that need more are left out. `in_turn` None: the base was not run beside it.
    `changed` are lines of this run's files that the base does not have, where that is known. `gone` are models of
    `stored_in` whose file is not there any more, where nothing is stored for this one. `is_accepted` as in `Held`.
    """

    name: str
    report: Report
    policy: Policy
    sources: Sources
    silences: Silences = field(default_factory=Silences)
    baseline: ModelBaseline | None = None
    against: str | None = None
    plan: Plan | None = None
    reach: Needs = Needs.CLOCK
    in_turn: InTurn | None = None
    crowd: str | None = None
    folder: str | None = None
    changed: tuple[SourceLine, ...] = ()
    gone: tuple[str, ...] = ()
    is_accepted: bool = False
    stored_in: str = "the baseline"


def judge(case: Case) -> ModelGate:
    """Every gate that is on and within reach, the worst first. A run that ended early fails, whatever it measured."""
    report = case.report
    subject = Subject(report, case.plan)
    held = _held(case)
    times = HeldTimes(
        subject, machine_of(report), case.baseline, case.against, case.in_turn, case.crowd, case.is_accepted
    )
    checks: list[GateCheck] = []
    for gate in GATES:
        setting = setting_of(gate, case.policy, case.name)
        if setting.level is GateLevel.OFF or gate.needs > case.reach or gate.id in WITHOUT_VALUE:
            continue
        reading = gate.read(subject)
        judged = check_time(gate, setting, reading, times) if gate.needs is Needs.CLOCK else check_count(
            gate, setting, reading, held
        )  # fmt: skip
        checks.append(judged)
    checks += _new_findings(case, held, checks)
    checks += _renamed(case)
    return ModelGate(
        name=case.name,
        report=report,
        checks=tuple(sorted(checks, key=_worst)),
        silenced=case.silences.of(report),
        error=None if report.partial is None else f"the run ended early: {report.partial}",
        error_at=report.partial_at,
        notes=(*case.silences.notes, *plan_notes(case.plan, report), *_torch_notes(held)),
        folder=case.folder,
    )


def _torch_notes(held: Held) -> tuple[str, ...]:
    """That gates are disarmed by a torch that was updated since, which a pass does not show."""
    if held.baseline is None or held.is_same_torch or held.is_accepted:
        return ()
    return (
        f"{held.against} was stored with torch {held.baseline.torch}, and this is {held.release}: what changed warns, "
        "and fails only past a written limit, until --init stores the values anew",
    )


def setting_of(gate: Gate, policy: Policy, model: str) -> GateSetting:
    return policy.named(gate.id, model) or GateSetting(level_of(gate, policy.preset))


def baseline_of(case: Case, known: ModelBaseline | None = None) -> ModelBaseline:
    """What to store of a run: its exact values, its places, and its times beside those of other machine classes.

    A value that this run does not know stays as `known` has it.
    """
    report = case.report
    subject = Subject(report, case.plan)
    margins = {stored.gate: stored.margin for stored in known.values} if known is not None else {}
    values: list[StoredValue] = []
    for gate in STORED:
        value = gate.read(subject).value if gate.needs <= case.reach else None
        if value is not None:
            values.append(StoredValue(gate.id, value, margins.get(gate.id, gate.margin), gate.revision))
        elif known is not None and (old := known.value(gate.id)) is not None:
            values.append(old)
    times = known.times if known is not None else ()
    if case.reach is Needs.CLOCK and case.crowd is None and (mine := times_of(subject)).ways:
        times = (*(one for one in times if one.machine.difference(mine.machine) is not None), mine)
    return ModelBaseline(
        model=case.name,
        kind=report.workload.device,
        torch=report.versions.torch,
        values=tuple(values),
        places=stored_places(places_of(report, case.sources)),
        times=times,
        unjudged=tuple(sorted({failure.rule for failure in report.rule_failures})),
    )


def times_of(subject: Subject) -> MachineTimes:
    report = subject.report
    read = {gate.id: gate.read(subject).value for gate in GATES if gate.needs is Needs.CLOCK}
    peak, compile_ns = read["peak_memory"], read[COMPILE_TIME]
    return MachineTimes(
        machine=machine_of(report),
        torch=report.versions.torch,
        ways=() if report.is_recorded else ways_of(report),
        starved_share=read["starved_share"],
        peak_bytes=None if peak is None else int(peak),
        compile_ns=() if compile_ns is None else (int(compile_ns),),
    )


def machine_of(report: Report) -> MachineClass:
    """Of a run of this moment: a report that does not name its system is taken to be of this one."""
    return machine_class(report.device, report.versions.platform or platform.platform())


def machine_class(device: Device, named: str) -> MachineClass:
    """`system` is the operating system and the processor's kind, without the kernel's version: of `named`, as
    `platform.platform()` gives it.
    """
    architecture = next((word for word in named.split("-") if word in _ARCHITECTURES), "unknown")
    return MachineClass(
        kind=device.kind,
        device=device.name,
        threads=device.threads,
        system=f"{named.partition('-')[0]} {architecture}",
        launch_ns=device.launch_ns,
        empty_op_ns=device.empty_op_ns,
    )


def _held(case: Case) -> Held:
    places: tuple[Place, ...] = places_of(case.report, case.sources)
    return Held(
        baseline=case.baseline,
        against=case.against,
        places=places,
        silences=case.silences,
        sources=case.sources,
        release=case.report.versions.torch,
        changed=case.changed,
        is_accepted=case.is_accepted,
        recounted=_recounted(case.baseline),
    )


def _recounted(baseline: ModelBaseline | None) -> tuple[str, ...]:
    stored = {gate: baseline.value(gate.id) for gate in GATES} if baseline is not None else {}
    return tuple(
        rule for gate, one in stored.items() if one is not None and is_recounted(gate, one) for rule in gate.rules
    )


def _new_findings(case: Case, held: Held, checks: list[GateCheck]) -> tuple[GateCheck, ...]:
    gate = next(one for one in GATES if one.id == NEW_FINDINGS)
    setting = setting_of(gate, case.policy, case.name)
    if setting.level is GateLevel.OFF:
        return ()
    # A number that any finding may move, as the size of the code, says less of the line than the finding does.
    own = {gate.id: gate.rules for gate in GATES}
    told = [check for check in checks if (check.is_failure or check.is_warning) and check.rule in own[check.gate]]
    named = [where for check in told if check.cause is not None for where in check.places]
    return new_finding_checks(gate, setting, held, named)


def _renamed(case: Case) -> tuple[GateCheck, ...]:
    """That it may be a stored model under another name: as a new one it would be held against nothing, and pass."""
    gate = next(one for one in GATES if one.id == RENAMED)
    setting = setting_of(gate, case.policy, case.name)
    if setting.level is GateLevel.OFF or not case.gone:
        return ()
    old, others = case.gone[0], len(case.gone) - 1
    more = f" (or {others} more that are gone)" if others else ""
    message = f"nothing is stored for {case.name}, and {case.stored_in} has {old}, which is gone: is it a rename?{more}"
    remedy = (
        f"of a rename, write {case.name} in place of {old} in {case.stored_in}, which then holds it; else accept what "
        "is there with --init"
    )
    check = GateCheck(gate.id, setting.level, past_status(setting.level), gate.unit, message, remedy=remedy)
    return (check,)


def _worst(check: GateCheck) -> tuple[int, int, int, float, int]:
    """Among equals, what names a line and costs most first."""
    level = 0 if check.level is GateLevel.ERROR else 1
    place = [gate.id for gate in GATES].index(check.gate)
    return _WORST_FIRST.index(check.status), level, 0 if check.where else 1, -(check.ns_per_step or 0), place
