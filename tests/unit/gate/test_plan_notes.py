"""What a check says of a plan that production would refuse."""

from __future__ import annotations

from dataclasses import replace

from analyzer.core.plan import Choice, Plan
from analyzer.gate.judge import judge
from analyzer.gate.plan_notes import plan_notes
from tests.gates import a_case, a_model_report

REPORT = a_model_report()
PLAN = Plan((Choice(REPORT.graphs[0].key, "cuda_graphs"),), REPORT.device.name, REPORT.versions)


def test_of_a_plan_that_is_for_this_run_nothing_is_said() -> None:
    patched = replace(REPORT.versions, torch=f"{REPORT.versions.torch.partition('+')[0]}+other")
    for plan in (None, PLAN, replace(PLAN, versions=patched), replace(PLAN, model="0" * 16)):
        report = replace(REPORT, workload=replace(REPORT.workload, parameters_digest=None))
        assert plan_notes(plan, report) == ()


def test_another_device_torch_or_model_is_each_said_beside_the_gates() -> None:
    report = replace(REPORT, workload=replace(REPORT.workload, parameters_digest="1" * 16))
    other = replace(PLAN, device="NVIDIA T4", versions=replace(REPORT.versions, torch="1.0.1"), model="0" * 16)
    notes = judge(a_case(report, plan=other)).notes
    assert len(notes) == 3
    assert all(note.endswith(": analyzer.optimize refuses it here") for note in notes)
    assert notes[0].startswith(f"the plan was made on NVIDIA T4, and this is {REPORT.device.name}")
    assert notes[1].startswith("the plan was made with torch 1.0, and this is ")
    assert "parameters have other shapes or types" in notes[2]
