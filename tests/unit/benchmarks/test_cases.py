"""Cases: what a header expects, what a report says, and what the difference counts as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from analyzer.core.settings import WorkloadSpec
from analyzer.core.verdict import Bound
from analyzer.rules import RULES
from benchmarks.verdicts.case_header import RULES_OF_TAG, CaseHeader, causes, read_header
from benchmarks.verdicts.case_report import CASE_LIMIT_S, STOPPED, CaseRecording, CaseRun, observed, trimmed
from benchmarks.verdicts.evaluate_cases import evaluate_cases, hold
from benchmarks.verdicts.measured_cases import MeasuredCase, read_measured
from benchmarks.verdicts.record_cases import target, tried
from benchmarks.verdicts.result import Meets
from collectors.loading import load_workload

HEADER = CaseHeader("07_print", "both", "cpu-bound", ("graph-break", "print"), False, False)


def report(part: str = "starved", bound: str = "cpu", confidence: float | None = 0.9, **more: Any) -> dict[str, Any]:
    budget = {"elapsed_ns": 100, "parts": [{"name": part, "ns": 80}, {"name": "other", "ns": 20}]}
    graph = {"key": "a.inference", "verdict": {"bound": bound, "confidence": confidence}, "budget": budget}
    return {"headline": "x", "step_budget": budget, "graphs": [graph], "eager_gaps": [], "findings": [], **more}


def run(found: dict[str, Any] | None) -> CaseRun:
    return CaseRun("07_print", "inference", 0, 1.0, report=found, error=None if found else "boom")


def test_a_header_is_read_past_sentences_that_go_on(tmp_path: Path) -> None:
    case = tmp_path / "31_adam.py"
    case.write_text(
        "# id: 31_adam\n# cause: one\n#   and more: of it\n# device: both | grad: on (training step inside forward)\n"
        "# expected_class: memory-bound when cloned, otherwise cpu-bound\n# expected_tags: optimizer, host-sync (GPU)\n"
        "import torch\n# expected_class: compute-bound\n"
    )
    header = read_header(case)
    assert header.is_training
    assert header.expected("cpu") == (Bound.MEMORY, Bound.CPU)
    assert header.tags == ("optimizer", "host-sync (GPU)")


def test_gradients_on_in_inference_is_no_training(tmp_path: Path) -> None:
    case = tmp_path / "15.py"
    case.write_text(
        "# device: both | grad: on\n# expected_class: compute-bound\n# expected_tags: grad-mode-on-inference\n"
    )
    assert not read_header(case).is_training


def test_a_file_without_a_class_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("import torch\n")
    with pytest.raises(ValueError, match="expected_class"):
        read_header(tmp_path / "x.py")


@pytest.mark.parametrize(
    ("device", "cpu", "cuda"),
    [
        ("both", True, True),
        ("gpu (cpu: graph breaks)", False, True),
        ("cpu (slow only)", True, False),
        ("cpu", True, False),
    ],
)
def test_a_case_runs_where_its_effect_shows(device: str, cpu: bool, cuda: bool) -> None:
    header = CaseHeader("x", device, "cpu-bound", (), False, False)
    assert (header.runs_on("cpu"), header.runs_on("cuda")) == (cpu, cuda)


def test_a_tag_for_a_gpu_is_not_asked_of_a_cpu() -> None:
    header = CaseHeader(
        "x", "both", "cpu-bound", ("graph-break", "host-sync (GPU)", "cudagraph-rerecord"), False, False
    )
    assert [tag for tag, _ in causes(header, "cpu")] == ["graph-break"]
    assert [tag for tag, _ in causes(header, "cuda")] == ["graph-break", "host-sync", "cudagraph-rerecord"]


def test_every_shared_case_has_a_header_and_most_name_a_cause(shared_cases: Path) -> None:
    headers = [read_header(path) for path in sorted(shared_cases.glob("*.py"))]
    assert all(h.expected("cuda") for h in headers)
    without = [h.id for h in headers if not causes(h, "cuda") and not causes(h, "cpu")]
    # A control, and what no rule is asked to find: a split reduction, a scatter, a queue.
    assert {name[:2] for name in without} <= {"24", "38", "47", "54"}, without


def test_every_rule_that_stands_for_a_tag_is_one_of_ours() -> None:
    named = {rule for rules in RULES_OF_TAG.values() for rule in rules}
    assert named <= {rule.id for rule in RULES}


def test_cuda_graphs_are_tried_only_where_the_case_is_about_them() -> None:
    header = CaseHeader("x", "gpu", "cpu-bound", ("cudagraph-rerecord",), False, False)
    assert tried(header, "cuda") == ("--candidates", "cuda_graphs")
    assert tried(header, "cpu") == tried(HEADER, "cuda") == ("--no-optimize",)


def test_the_class_is_the_largest_part_of_the_step() -> None:
    seen = observed(report())
    assert (seen.bound, seen.part, seen.share, seen.confidence) == (Bound.CPU, "starved", 0.8, 0.9)
    assert observed(report("unknown kernels")).bound is Bound.UNDECIDED
    assert observed(report(step_budget=None)).bound is Bound.UNDECIDED


def test_confidence_is_that_of_a_region_with_the_same_bound() -> None:
    assert observed(report("memory", "cpu")).confidence is None


def test_a_wrong_verdict_counts_when_it_was_sure() -> None:
    sure = hold(run(report("memory", "memory", 0.85)), HEADER, "cpu")
    doubtful = hold(run(report("memory", "memory", 0.7)), HEADER, "cpu")
    undecided = hold(run(report("unknown kernels", "undecided", None)), HEADER, "cpu")
    assert (sure.has_class, len(sure.sure_and_wrong)) == (False, 1)
    assert (doubtful.has_class, doubtful.sure_and_wrong) == (False, ())
    assert (undecided.has_class, undecided.sure_and_wrong) == (False, ())


def test_a_cause_is_found_when_any_rule_of_its_tags_did() -> None:
    found = hold(run(report(findings=[{"rule": "graph_break"}])), HEADER, "cpu")
    lost = hold(run(report(findings=[{"rule": "tf32_off"}])), HEADER, "cpu")
    assert (found.has_cause, found.missing) == (True, ())
    assert lost.has_cause is False
    assert lost.missing == (("graph-break", ("graph_break",)), ("print", ("graph_break",)))


def test_a_case_that_depends_on_hardware_is_not_tested() -> None:
    header = CaseHeader("07_print", "cpu", "compute-bound", ("graph-break",), False, True)
    case = hold(run(report("memory", "memory", 0.95)), header, "cpu")
    assert (case.has_class, case.has_cause, case.sure_and_wrong) == (None, None, ())


def test_a_run_without_a_report_is_a_miss_with_its_reason() -> None:
    section = evaluate_cases([CaseRecording("cpu", "2026-01-01", (run(None),))], (HEADER,), "Cases (cpu)")
    assert [c.meets for c in section.checks[:2]] == [Meets.NO, Meets.NO]
    assert "no report: boom" in section.tables[1].rows[0][-1]


@pytest.mark.parametrize("wall_s", [0.0, 139.0])
def test_a_case_that_the_recordings_own_time_cut_short_is_neither_right_nor_wrong(wall_s: float) -> None:
    cut = CaseRun("07_print", "inference", STOPPED, wall_s, error="the budget was spent")
    section = evaluate_cases([CaseRecording("cpu", "2026-01-01", (cut,))], (HEADER,), "Cases (cpu)")
    assert [c.meets for c in section.checks] == [Meets.UNKNOWN] * 4 + [Meets.NO]
    assert section.tables[1].rows[0][5:] == ("not tested", "none", "—", "not recorded to its end: the budget was spent")


def test_a_case_that_had_its_whole_time_is_a_miss() -> None:
    late = CaseRun("07_print", "inference", STOPPED, CASE_LIMIT_S + 0.1, error="stopped after 300 s")
    section = evaluate_cases([CaseRecording("cpu", "2026-01-01", (late,))], (HEADER,), "Cases (cpu)")
    assert [c.found for c in section.checks[:2]] == [0.0, 0.0]


def test_of_a_case_recorded_twice_the_later_report_counts() -> None:
    good = CaseRecording("cpu", "2026-01-01", (run(report(findings=[{"rule": "graph_break"}])),))
    bad = CaseRecording("cpu", "2026-01-02", (run(None),))
    section = evaluate_cases([good, bad], (HEADER,), "Cases (cpu)")
    assert [c.found for c in section.checks] == [1.0, 1.0, 1.0, 0.0, 1.0]
    assert section.stated[0].is_right


def test_what_is_kept_of_a_report_is_enough_to_judge_it() -> None:
    whole = report(findings=[{"rule": "graph_break"}], plans=[1, 2, 3], capture={"graphs": [1], "breaks": []})
    assert observed(trimmed(whole)) == observed(whole)
    assert "plans" not in trimmed(whole)


def test_what_became_of_a_candidate_and_why_is_kept() -> None:
    whole = report()
    tried = {"candidate": "cuda_graphs", "outcome": "refused", "reason": "cpu device (arg1)", "step_samples": [1, 2]}
    whole["graphs"][0]["candidates"] = [tried]
    (kept,) = trimmed(whole)["graphs"][0]["candidates"]
    assert (kept["outcome"], kept["reason"], kept["measured_ns"]) == ("refused", "cpu device (arg1)", None)
    assert "step_samples" not in kept


def test_a_cause_whose_rule_lacked_its_data_is_marked() -> None:
    found = report(rule_failures=[{"rule": "graph_break", "reason": "no capture"}])
    section = evaluate_cases([CaseRecording("cpu", "2026-01-01", (run(found),))], (HEADER,), "Cases (cpu)")
    assert "print (graph_break*)" in section.tables[1].rows[0][-2]


def test_a_miss_on_a_crowded_machine_says_so() -> None:
    note = "other programs kept 1.9 of 2 cores busy while this was timed: its times are too long"
    found = report("unknown kernels", "undecided", None, notes=[note])
    section = evaluate_cases([CaseRecording("cpu", "2026-01-01", (run(found),))], (HEADER,), "Cases (cpu)")
    assert "1.9 of 2 cores" in section.tables[1].rows[0][-1]


def test_an_inference_that_was_reported_with_gradients_on_is_called_so(tmp_path: Path) -> None:
    case = tmp_path / "15.py"
    case.write_text(
        "# device: both | grad: on\n# expected_class: compute-bound\n# expected_tags: grad-mode-on-inference\n"
        "import torch\ndef get_model(): return torch.nn.Linear(2, 2)\n"
        "def get_inputs(device): return (torch.ones(1, 2, device=device),)\n"
    )
    folder = tmp_path / "run"
    folder.mkdir()
    written, _, entry = target(case, read_header(case), folder)
    made = load_workload(WorkloadSpec(written, entry=entry, device="cpu"))
    with torch.no_grad():
        assert made.step is not None
        assert made.step(made.model, *made.args).requires_grad
    assert target(case, HEADER, folder) == (str(case),)


MEASURED = MeasuredCase("07_print", "cpu", "1 ms", "as it is", "2026-01-01", "2.13", (Bound.COMPUTE,), ("print",))


def test_a_measurement_stands_against_the_header_on_its_device_alone() -> None:
    held = hold(run(report("compute", "compute")), HEADER, "cpu", (MEASURED,))
    assert held.has_class is True
    assert [tag for tag, _ in held.causes] == ["graph-break"]
    assert hold(run(report("compute", "compute")), HEADER, "cuda", (MEASURED,)).has_class is False


def test_the_corrections_on_record_are_of_shared_cases_and_change_something(shared_cases: Path) -> None:
    headers = {h.id: h for h in map(read_header, shared_cases.glob("*.py"))}
    for measured in read_measured():
        header = headers[measured.case]
        assert measured.classes or measured.absent
        assert set(measured.absent) <= set(header.tags)
        assert not set(measured.classes) & set(header.expected(measured.device))
        assert any(letter.isdigit() for letter in measured.measured)
