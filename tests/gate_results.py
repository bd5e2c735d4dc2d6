"""Builds what `analyze check` found, for tests of those who show it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from analyzer.core.gate import GateCheck, GateLevel, GateResult, GateStatus, GateUnit, ModelGate, SilencedFinding
from tests.reports import MS, a_finding, a_report, at


def a_check(gate: str = "graph_breaks", status: GateStatus = GateStatus.FAILED, **changes: Any) -> GateCheck:
    check = GateCheck(
        gate=gate,
        level=GateLevel.ERROR,
        status=status,
        unit=GateUnit.COUNT,
        message="2 graph breaks, at most 1 is let pass",
        measured=2.0,
        baseline=1.0,
        limit=1.0,
    )
    return replace(check, **changes)


def a_failed_check(**changes: Any) -> GateCheck:
    """One that the finding of `a_report` explains."""
    return a_check(rule="graph_break", where=at("/home/ada/gptlite.py:57"), ns_per_step=MS, **changes)


def a_model_gate(name: str = "gptlite", **changes: Any) -> ModelGate:
    checks = (a_failed_check(), a_check("recompiles", GateStatus.PASSED, message="1 recompile"))
    return replace(ModelGate(name=name, report=a_report(), checks=checks), **changes)


def a_gate(*models: ModelGate, **changes: Any) -> GateResult:
    gate = GateResult(
        headline="1 new graph break: +1.0 ms a step, gptlite.py:57",
        models=models or (a_model_gate(),),
        against="main",
        command="analyze check gptlite.py --against main",
    )
    return replace(gate, **changes)


def a_quiet_gate() -> GateResult:
    """A change that did nothing: the findings are those that were there before."""
    checks = (a_check(status=GateStatus.PASSED, message="1 graph break, as before"),)
    return a_gate(a_model_gate(checks=checks), headline="nothing changed: 1 gate passed")


def a_hostile_gate(name: str) -> GateResult:
    """Every text that comes from the user's program is `name`."""
    where = at("model.py:3")
    where = replace(where, file=f"/home/{name}/{name}.py", function=name)
    report = a_report(
        headline=name,
        findings=(a_finding(name, where=where, message=name, remedy=name), a_finding(name, where=None, message=name)),
        partial=name,
        honesty=(name,),
    )
    said = {"message": name, "reason": name, "remedy": name, "rule": name, "where": where, "places": (where, where)}
    checks = (
        a_check(name, **said),
        a_check(name, GateStatus.BROKEN, **said),
        a_check(name, GateStatus.WARNED, **said),
        a_check(name, GateStatus.NOT_COMPARED, message=name, reason=name),
        a_check(name, message=name),
    )
    ran = ModelGate(name, report, checks, (SilencedFinding(name, where),), notes=(name,), folder=name)
    lost = ModelGate(name, None, (), error=name, notes=(name,))
    return a_gate(ran, lost, headline=name, against=name, accept=f"{name}\n~~~~\n", accept_file=name, notes=(name,))
